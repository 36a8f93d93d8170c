"""Combines several verdicts on one item: yes/no by majority, grades by the median.

The members of a panel are models, or repetitions of one. Agreement is measured by Krippendorff's alpha.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean, median
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from gigamind.errors import LlmCode, LlmError
from gigamind.i18n import Text, _, joined
from gigamind.judges.asking import PanelMember
from gigamind.judges.spec import LlmJudgeFile
from gigamind.stats.agreement import Level, krippendorff_alpha
from gigamind.stats.intervals import Clusters, Estimate

Tie = Literal["unscored", "positive", "negative"]
MissingSeat = Literal["unscored", "majority_of_rest"]
Code = Literal["panel_incomplete", "panel_tied"]
Value = TypeVar("Value", bool, float)
Judgement_co = TypeVar("Judgement_co", covariant=True)

_EDGE = 1e-9  # tolerance for rounding, so that 0.8 - 0.1 equals 0.7


class PanelJudgeFile(LlmJudgeFile):
    """A judge file that may define a panel; its fields are described in judges/README.md."""

    panel: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    repeats: Annotated[int, Field(ge=1, le=99)] = 1
    adaptive: bool = False
    near: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1
    tie: Tie = "unscored"
    missing_seat: MissingSeat = "unscored"

    @property
    def is_panel(self) -> bool:
        return bool(self.panel) or self.repeats > 1

    @model_validator(mode="after")
    def _check_panel(self) -> Self:
        if self.panel and self.repeats > 1:
            raise ValueError(
                _("each model in `panel` votes once, so use either `panel` or `repeats`, not both")
            )
        if len(set(self.panel)) < len(self.panel) or len(self.panel) == 1:
            raise ValueError(_("`panel` must name two or more models, each only once"))
        if self.adaptive and not self.is_panel:
            raise ValueError(
                _("`adaptive` requires several votes: set `panel`, or `repeats` to 2 or more")
            )
        return self


@dataclass(frozen=True, slots=True)
class Vote(Generic[Value]):
    """The vote of one panel member; not `proven` if a quote that the verdict depends on failed."""

    value: Value
    proven: bool = True


@dataclass(frozen=True, slots=True)
class PanelVerdict(Generic[Value]):
    """The verdict of a panel on one item; None if it is unscored, and `code` says why.

    `disagreement` is the mean difference between two votes, in [0, 1] for yes/no; None with fewer than two votes.
    """

    value: Value | None
    code: Code | None
    votes: Mapping[PanelMember, Vote[Value]]
    missing: tuple[PanelMember, ...]
    disagreement: float | None


@dataclass(frozen=True)
class ByPanel(Generic[Judgement_co, Value]):
    """The judgements of the members on one item, and why a member gave none.

    Attributes:
        judgement: the combined one; None if there is nothing to judge, or the panel is incomplete or tied.
        panel: the votes; None with one model or none.
    """

    judgement: Judgement_co | None
    panel: PanelVerdict[Value] | None
    by_member: Mapping[PanelMember, Judgement_co] = field(
        default_factory=dict[PanelMember, Judgement_co]
    )
    errors: Mapping[PanelMember, LlmError] = field(default_factory=dict[PanelMember, LlmError])


def why_no_verdict(panel: PanelVerdict[Any] | None, errors: Mapping[PanelMember, LlmError]) -> Text:
    """Return why a panel gave no verdict, in a sentence; "" if it gave one or there is none."""
    if panel is None or panel.code is None:
        return ""
    if panel.code == "panel_tied":
        return _(
            "The votes of the judge panel are tied. The judge file gives no verdict for ties (`tie` is"
            " unscored)."
        )
    votes = joined(
        _("{model}: {reason} ({code})", model=member.name, reason=error.message, code=error.code)
        for member, error in errors.items()
    )
    return _(
        "{failed} of {n} models of the judge panel gave no vote: {votes}",
        failed=len(errors),
        n=len(panel.votes) + len(errors),
        votes=votes,
    )


def panel_members(fields: PanelJudgeFile, model: str) -> tuple[PanelMember, ...]:
    """Return the members of a panel in order; `model` is that of the run."""
    if fields.panel:
        return tuple(PanelMember(name) for name in fields.panel)
    return tuple(PanelMember(model, repeat) for repeat in range(fields.repeats))


def first_members(fields: PanelJudgeFile, model: str) -> tuple[PanelMember, ...]:
    """Return the members that vote on every item."""
    every = panel_members(fields, model)
    return every[:1] if fields.adaptive else every


def is_near(grade: float, thresholds: Sequence[float], near: float) -> bool:
    """Return whether a grade is within `near` of a threshold."""
    return any(abs(grade - limit) <= near + _EDGE for limit in thresholds)


def decide_binary(
    votes: Mapping[PanelMember, Vote[bool]], members: Sequence[PanelMember], fields: PanelJudgeFile
) -> PanelVerdict[bool]:
    """Return the majority of all members' votes; `tie` decides if they are tied. There must be a member."""
    verdict = _decided(votes, members, fields, lambda given: 2 * sum(given) > len(given))
    if verdict.value is None or 2 * sum(vote.value for vote in votes.values()) != len(votes):
        return verdict
    if fields.tie == "unscored":
        return replace(verdict, value=None, code="panel_tied")
    return replace(verdict, value=fields.tie == "positive")


def decide_graded(
    votes: Mapping[PanelMember, Vote[float]], members: Sequence[PanelMember], fields: PanelJudgeFile
) -> PanelVerdict[float]:
    """Return the median of all members' votes, for an even number of the middle two. There must be a member."""
    return _decided(votes, members, fields, lambda given: float(median(given)))


def _decided(
    votes: Mapping[PanelMember, Vote[Value]],
    members: Sequence[PanelMember],
    fields: PanelJudgeFile,
    combine: Callable[[list[Value]], Value],
) -> PanelVerdict[Value]:
    if not members or set(votes) - set(members):
        raise ValueError("every vote must be of a panel member, and there must be a member")
    missing = tuple(member for member in members if member not in votes)
    values = [vote.value for vote in votes.values()]
    has_majority = fields.missing_seat == "majority_of_rest" and 2 * len(votes) > len(members)
    is_enough = not missing or has_majority
    pairs = [abs(float(a) - float(b)) for a, b in combinations(values, 2)]
    value, code = (combine(values), None) if is_enough else (None, "panel_incomplete")
    return PanelVerdict(value, code, votes, missing, fmean(pairs) if pairs else None)


# Errors that are not caused by the item: the next item would fail, too.
_OF_NO_ITEM: frozenset[LlmCode] = frozenset({"budget_exceeded", "auth_failed", "quota_exhausted"})


@dataclass(frozen=True, slots=True)
class Ballot(Generic[Value]):
    """The votes on one item; `members` are all that were requested, `errors` say why a member gave no vote."""

    members: tuple[PanelMember, ...]
    votes: dict[PanelMember, Vote[Value]]
    errors: dict[PanelMember, LlmError]


async def collect_votes(
    fields: PanelJudgeFile,
    model: str,
    ask: Callable[[PanelMember], Awaitable[Vote[Value]]],
    *,
    thresholds: Sequence[float] = (),
) -> Ballot[Value]:
    """Request the votes of a panel's members concurrently; `ask` returns a vote or raises LlmError.

    All members of an adaptive panel vote if the first vote is near one of the `thresholds` or not proven; if it failed,
    only if incomplete panels are accepted. Raises LlmError for errors that no item causes, such as a used up budget.
    """
    first = await _collect(first_members(fields, model), ask)
    if first.errors:
        goes_on = fields.missing_seat != "unscored"
    else:
        vote = next(iter(first.votes.values()))
        near = not isinstance(vote.value, bool) and is_near(vote.value, thresholds, fields.near)
        goes_on = near or not vote.proven
    needed = panel_members(fields, model)[len(first.members) :] if goes_on else ()
    more = await _collect(needed, ask)
    return Ballot(
        first.members + more.members, first.votes | more.votes, first.errors | more.errors
    )


async def _collect(
    members: tuple[PanelMember, ...], ask: Callable[[PanelMember], Awaitable[Vote[Value]]]
) -> Ballot[Value]:
    async def vote_of(member: PanelMember) -> Vote[Value] | LlmError:
        try:
            return await ask(member)
        except LlmError as error:
            return error

    by_member = dict(zip(members, await asyncio.gather(*map(vote_of, members)), strict=True))
    errors = {member: vote for member, vote in by_member.items() if isinstance(vote, LlmError)}
    for error in errors.values():
        if error.code in _OF_NO_ITEM:
            raise error
    votes = {member: vote for member, vote in by_member.items() if not isinstance(vote, LlmError)}
    return Ballot(members, votes, errors)


def panel_alpha(
    verdicts: Sequence[PanelVerdict[bool]] | Sequence[PanelVerdict[float]],
    level: Level,
    *,
    seed: int,
    clusters: Clusters | None = None,
) -> Estimate:
    """Return Krippendorff's alpha of the members; of an adaptive panel, only over items with several votes."""
    columns = sorted({member for verdict in verdicts for member in verdict.votes})
    ratings = np.array(
        [
            [float(v.votes[member].value) if member in v.votes else np.nan for member in columns]
            for v in verdicts
        ],
        dtype=np.float64,
    ).reshape(len(verdicts), len(columns))
    return krippendorff_alpha(ratings, level, seed=seed, label="panel", clusters=clusters)
