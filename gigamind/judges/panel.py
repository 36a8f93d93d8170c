"""Several verdicts on one item become one: by majority when they are yes or no, by median when they are graded.

The seats of a panel are models, or repetitions of one model.  A panel that lost a member is unscored, for the verdict
of those who are left is that of another panel; a judge file may have it count, while they are more than half.  How
far the seats agree is Krippendorff's alpha.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import Annotated, Generic, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gigamind.errors import LlmCode, LlmError
from gigamind.judges.asking import PanelMember
from gigamind.judges.spec import LlmJudgeFile
from gigamind.stats.estimate import Estimate
from gigamind.stats.krippendorff import Level, krippendorff_alpha

Tie = Literal["unscored", "positive", "negative"]
MissingSeat = Literal["unscored", "majority_of_rest"]
Code = Literal["panel_incomplete", "panel_tied"]
Value = TypeVar("Value", bool, float)

_EDGE = 1e-9  # 0.8 - 0.1 and 0.7 are the same distance to a person


class PanelFields(BaseModel):
    """What a judge file says about its panel; the models of judge files inherit it.

    Attributes:
        panel: models, each of which votes once; none for the one model that the run names.
        repeats: votes of that one model.
        adaptive: ask only the first seat, and the others where its verdict is near a threshold or its quotes failed.
        near: how close to a threshold a graded verdict is near, in its unit.
        tie: what a yes/no panel that is split in halves decides.
        missing_seat: what a panel decides where a seat that was asked gave no vote: nothing, or what those decide who
            gave one, as long as they are more than half of those asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    panel: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    repeats: Annotated[int, Field(ge=1, le=99)] = 1
    adaptive: bool = False
    near: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1
    tie: Tie = "unscored"
    missing_seat: MissingSeat = "unscored"

    @property
    def is_panel(self) -> bool:
        """Whether more than one vote may be asked for."""
        return bool(self.panel) or self.repeats > 1

    @model_validator(mode="after")
    def _check_panel(self) -> Self:
        if self.panel and self.repeats > 1:
            raise ValueError("a panel of models votes once each: give `panel` or `repeats`")
        if len(set(self.panel)) < len(self.panel) or len(self.panel) == 1:
            raise ValueError("a panel is of two or more different models")
        if self.adaptive and not self.is_panel:
            raise ValueError("`adaptive` needs a `panel` or `repeats`: there is nobody else to ask")
        return self


class PanelJudgeFile(LlmJudgeFile, PanelFields):
    """A judge file that may name a panel."""


@dataclass(frozen=True, slots=True)
class Vote(Generic[Value]):
    """What one seat decided.

    Attributes:
        proven: False when a quote that the verdict rests on failed.
    """

    value: Value
    proven: bool = True


@dataclass(frozen=True, slots=True)
class PanelVerdict(Generic[Value]):
    """What a panel decided on one item.

    Attributes:
        value: None when it is unscored.
        code: why it is.
        votes: of every seat that gave one, kept also when the panel is unscored.
        missing: seats that were asked and gave none.
        disagreement: mean difference between two votes, in [0, 1] for yes/no; None with fewer than two votes.
    """

    value: Value | None
    code: Code | None
    votes: Mapping[PanelMember, Vote[Value]]
    missing: tuple[PanelMember, ...]
    disagreement: float | None


def panel_members(fields: PanelFields, model: str) -> tuple[PanelMember, ...]:
    """The seats of a panel, the first to be asked first; `model` is that of the run."""
    if fields.panel:
        return tuple(PanelMember(name) for name in fields.panel)
    return tuple(PanelMember(model, repeat) for repeat in range(fields.repeats))


def first_members(fields: PanelFields, model: str) -> tuple[PanelMember, ...]:
    """The seats that vote on every item."""
    every = panel_members(fields, model)
    return every[:1] if fields.adaptive else every


def further_members(
    fields: PanelFields,
    model: str,
    first: float,
    thresholds: Sequence[float] = (),
    *,
    proven: bool = True,
) -> tuple[PanelMember, ...]:
    """The seats that an adaptive panel asks besides, given its first vote; none where that vote is enough.

    Args:
        fields: of the judge file.
        model: that of the run.
        first: verdict of the first seat, a bool or a grade.
        thresholds: values at which a grade changes what follows from it; a yes or no has none.
        proven: False when a quote that the verdict rests on failed.
    """
    if not fields.adaptive:
        return ()
    near = not isinstance(first, bool) and is_near(first, thresholds, fields.near)
    return panel_members(fields, model)[1:] if near or not proven else ()


def is_near(grade: float, thresholds: Sequence[float], near: float) -> bool:
    """Whether a grade is at most so far from a value at which something else follows from it."""
    return any(abs(grade - limit) <= near + _EDGE for limit in thresholds)


def decide_binary(
    votes: Mapping[PanelMember, Vote[bool]], members: Sequence[PanelMember], fields: PanelFields
) -> PanelVerdict[bool]:
    """The majority of all seats that were asked; a split in halves decides as `tie` says.

    Raises:
        ValueError: nobody was asked.
    """

    def majority(given: list[bool]) -> tuple[bool | None, Code | None]:
        yes = sum(given)
        if 2 * yes != len(given):
            return 2 * yes > len(given), None
        if fields.tie == "unscored":
            return None, "panel_tied"
        return fields.tie == "positive", None

    return _decided(votes, members, fields, majority)


def decide_graded(
    votes: Mapping[PanelMember, Vote[float]], members: Sequence[PanelMember], fields: PanelFields
) -> PanelVerdict[float]:
    """The median of all seats that were asked, of an even number the mean of the middle two.

    Raises:
        ValueError: nobody was asked.
    """
    return _decided(votes, members, fields, lambda given: (float(median(given)), None))


def _decided(
    votes: Mapping[PanelMember, Vote[Value]],
    members: Sequence[PanelMember],
    fields: PanelFields,
    together: Callable[[list[Value]], tuple[Value | None, Code | None]],
) -> PanelVerdict[Value]:
    missing = _missing(votes, members)
    value, code = None, "panel_incomplete"
    if not _is_incomplete(votes, members, fields):
        value, code = together([vote.value for vote in votes.values()])
    return PanelVerdict(value, code, votes, missing, _disagreement(votes))


def _is_incomplete(
    votes: Mapping[PanelMember, object], members: Sequence[PanelMember], fields: PanelFields
) -> bool:
    if fields.missing_seat == "majority_of_rest":
        return 2 * len(votes) <= len(members)
    return len(votes) < len(members)


def _missing(
    votes: Mapping[PanelMember, object], members: Sequence[PanelMember]
) -> tuple[PanelMember, ...]:
    if not members or set(votes) - set(members):
        raise ValueError("a panel decides by the votes of the seats that were asked, at least one")
    return tuple(member for member in members if member not in votes)


def _disagreement(votes: Mapping[PanelMember, Vote[Value]]) -> float | None:
    values = [float(vote.value) for vote in votes.values()]
    pairs = [abs(a - b) for a, b in combinations(values, 2)]
    return fmean(pairs) if pairs else None


# They say nothing of the item: the next one would meet them too.
_OF_NO_ITEM: frozenset[LlmCode] = frozenset({"budget_exceeded", "auth_failed", "quota_exhausted"})


@dataclass(frozen=True, slots=True)
class Ballot(Generic[Value]):
    """The votes on one item.

    Attributes:
        asked: every seat that was asked; `decide_binary` and `decide_graded` hold the votes against them.
        errors: why a seat that was asked gave no vote.
    """

    members: tuple[PanelMember, ...]
    votes: dict[PanelMember, Vote[Value]]
    errors: dict[PanelMember, LlmError]


async def collect_votes(
    fields: PanelFields,
    model: str,
    ask: Callable[[PanelMember], Awaitable[Vote[Value]]],
    *,
    thresholds: Sequence[float] = (),
) -> Ballot[Value]:
    """Ask the seats of a panel, side by side.

    Once the one that an adaptive panel asks first has failed no others are asked, for the panel can no longer be whole;
    all of them are where the rest may decide.

    Args:
        fields: of the judge file.
        model: that of the run.
        ask: gives the vote of a seat, or an LlmError.
        thresholds: see `further_members`.

    Raises:
        LlmError: the budget or the quota is used up or a key refused, which says nothing of the item.
    """
    first = await _collect(first_members(fields, model), ask)
    if not fields.adaptive:
        return first
    if first.errors:
        needed = () if fields.missing_seat == "unscored" else panel_members(fields, model)[1:]
    else:
        (vote,) = first.votes.values()
        needed = further_members(fields, model, vote.value, thresholds, proven=vote.proven)
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
) -> Estimate:
    """Krippendorff's alpha of the seats over items.

    Of an adaptive panel it speaks for the items on which more seats were asked, which are the hard ones.
    """
    columns = sorted({member for verdict in verdicts for member in verdict.votes})
    ratings = np.array(
        [
            [float(v.votes[member].value) if member in v.votes else np.nan for member in columns]
            for v in verdicts
        ],
        dtype=np.float64,
    ).reshape(len(verdicts), len(columns))
    return krippendorff_alpha(ratings, level, seed=seed, label="panel")
