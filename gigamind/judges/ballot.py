"""Holds the vote of a panel on one item: asks its seats, more of them where an adaptive panel needs more."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from gigamind.errors import LlmCode, LlmError
from gigamind.judges.panel import PanelFields, Seat, Value, Vote, first_asked, more_asked

# They say nothing of the item: the next one would meet them too.
_OF_NO_ITEM: frozenset[LlmCode] = frozenset({"budget_exceeded", "auth_failed", "quota_exhausted"})


@dataclass(frozen=True, slots=True)
class Ballot(Generic[Value]):
    """The votes on one item.

    Attributes:
        asked: every seat that was asked; `decide_binary` and `decide_graded` hold the votes against them.
        errors: why a seat that was asked gave no vote.
    """

    asked: tuple[Seat, ...]
    votes: dict[Seat, Vote[Value]]
    errors: dict[Seat, LlmError]


async def hold_ballot(
    fields: PanelFields,
    model: str,
    ask: Callable[[Seat], Awaitable[Vote[Value]]],
    *,
    thresholds: Sequence[float] = (),
) -> Ballot[Value]:
    """Ask the seats of a panel, side by side.

    Once one of the first has failed no others are asked, for the panel can no longer be whole.

    Args:
        fields: of the judge file.
        model: that of the run.
        ask: gives the vote of a seat, or an LlmError.
        thresholds: see `more_asked`.

    Raises:
        LlmError: the budget or the quota is used up or a key refused, which says nothing of the item.
    """
    first = await _asked(first_asked(fields, model), ask)
    if first.errors or not fields.adaptive:
        return first
    (vote,) = first.votes.values()
    needed = more_asked(fields, model, vote.value, thresholds, proven=vote.proven)
    more = await _asked(needed, ask)
    return Ballot(first.asked + more.asked, first.votes | more.votes, more.errors)


async def _asked(
    seats: tuple[Seat, ...], ask: Callable[[Seat], Awaitable[Vote[Value]]]
) -> Ballot[Value]:
    async def one(seat: Seat) -> Vote[Value] | LlmError:
        try:
            return await ask(seat)
        except LlmError as error:
            return error

    found = dict(zip(seats, await asyncio.gather(*map(one, seats)), strict=True))
    errors = {seat: vote for seat, vote in found.items() if isinstance(vote, LlmError)}
    for error in errors.values():
        if error.code in _OF_NO_ITEM:
            raise error
    votes = {seat: vote for seat, vote in found.items() if not isinstance(vote, LlmError)}
    return Ballot(seats, votes, errors)
