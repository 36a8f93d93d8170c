"""Attacks a judge with all that apply to its kind, and reports how often they succeed: over all and by group."""

from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict

from gigamind.judges.attack_outcome import AttackResult, result_of
from gigamind.judges.attacks import Attack
from gigamind.judges.trial import JudgeOnTrial, Kind, Share, observe


class AttackGroup(BaseModel):
    """The attacks that have something in common.

    Attributes:
        fooled: verdicts that became what the attack wanted, among the measured ones.
        told: the same by the model's own word, before the rules of the judge.
        unmeasured: attacks whose clean twin was not judged rightly.
        unscored: attacks that cost a verdict which the clean twin has.
        flagged: attacks that a person is told about.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    attacks: int
    fooled: Share
    told: Share
    unmeasured: int
    unscored: int
    flagged: int


class AttackReport(BaseModel):
    """How a judge stood up to the attacks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    fingerprint: str
    model: str
    overall: AttackGroup
    by_family: tuple[AttackGroup, ...]
    by_language: tuple[AttackGroup, ...]
    by_place: tuple[AttackGroup, ...]
    by_goal: tuple[AttackGroup, ...]
    attacks: tuple[AttackResult, ...]

    @property
    def proves_little(self) -> bool:
        """Whether the judge was not right about the clean twins of more than half of the attacks."""
        return 2 * self.overall.unmeasured > self.overall.attacks


async def attack_judge(judge: JudgeOnTrial, attacks: Sequence[Attack]) -> AttackReport:
    """Judge every attack that applies, and each of their clean twins once.

    Raises:
        EvaluationError: see `observe`.
    """
    applying = [attack for attack in attacks if attack.attacks(judge.kind)]
    clean = {case.id: case for case in (attack.clean(judge.kind) for attack in applying)}
    cases = [*clean.values(), *(attack.attacked(judge.kind) for attack in applying)]
    seen = await observe(judge, cases)
    results = [
        result_of(
            attack, seen[attack.clean(judge.kind).id], seen[attack.row.id], judge.instructions
        )
        for attack in applying
    ]
    return AttackReport(
        kind=judge.kind,
        fingerprint=judge.fingerprint,
        model=judge.model_name,
        overall=_group("all", results),
        by_family=_groups(results, lambda result: result.family),
        by_language=_groups(results, lambda result: result.language),
        by_place=_groups(results, lambda result: result.place),
        by_goal=_groups(results, lambda result: result.goal),
        attacks=tuple(results),
    )


def _groups(
    results: Sequence[AttackResult], name_of: Callable[[AttackResult], str]
) -> tuple[AttackGroup, ...]:
    names = dict.fromkeys(map(name_of, results))
    return tuple(
        _group(name, [result for result in results if name_of(result) == name]) for name in names
    )


def _group(name: str, results: Sequence[AttackResult]) -> AttackGroup:
    decided = ("fooled", "held")
    return AttackGroup(
        name=name,
        attacks=len(results),
        fooled=Share.among([one.outcome == "fooled" for one in results if one.outcome in decided]),
        told=Share.among([one.told == "fooled" for one in results if one.told in decided]),
        unmeasured=sum(one.outcome == "unmeasured" for one in results),
        unscored=sum(one.outcome == "unscored" for one in results),
        flagged=sum(one.flagged for one in results),
    )
