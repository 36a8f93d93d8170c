"""How well quotes align: the rates that stand in a summary wherever quotes appear."""

from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.evidence.result import Aligned, Alignment, Failed


@dataclass(frozen=True, slots=True)
class AlignmentQuality:
    """Shares of all quotes, each in [0, 1].  Exact, normalized, fuzzy and failed add up to 1.

    Attributes:
        quotes: how many there were; 1 or more.
        near_miss: failed, but a passage came close.
        ambiguous: aligned at one of several places, with no context to tell them apart.
        critical: aligned, but a number, a negation or an opposite differs.
    """

    quotes: int
    exact: float
    normalized: float
    fuzzy: float
    failed: float
    near_miss: float
    ambiguous: float
    critical: float


def quality(outcomes: Sequence[Alignment]) -> AlignmentQuality | None:
    """The rates over `outcomes`; `None` when there are none, for which no rate is true."""
    if not outcomes:
        return None
    aligned = [one for one in outcomes if isinstance(one, Aligned)]
    failed = [one for one in outcomes if isinstance(one, Failed)]

    def share(among: Sequence[object]) -> float:
        return len(among) / len(outcomes)

    return AlignmentQuality(
        quotes=len(outcomes),
        exact=share([one for one in aligned if one.method == "exact"]),
        normalized=share([one for one in aligned if one.method == "normalized"]),
        fuzzy=share([one for one in aligned if one.method == "fuzzy"]),
        failed=share(failed),
        near_miss=share([one for one in failed if one.near_miss]),
        ambiguous=share([one for one in aligned if one.ambiguous]),
        critical=share([one for one in aligned if one.critical]),
    )
