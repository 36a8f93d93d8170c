"""Draw the units to label: strata, a pilot in proportion to them, then Neyman allocation; looks are planned."""

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel, Field

from gigamind.stats.stratified import PILOT, neyman, proportional

LOOKS = 5
"""Planned looks at a decision, which share the error of 5 %; a look after every label would be wrong in 35 %."""
_THIRDS = 3
_SMALLEST, _MOST = 8, 12  # units of a stratum; strata

_Key = tuple[int, ...]


class LabelPlan(BaseModel, frozen=True, extra="forbid"):
    """How the labels of a file are drawn, written down before the first label.

    Attributes:
        runs: Run ids; with two, each unit is labelled in both and the figure is their difference.
        budget: Units to label.
        floor: Value that the figure must not fall below, decided at the looks; None if nothing is decided.
        strata: Stratum by unit id.  Other judges of the same items need it, as their verdicts give other strata.
    """

    task: str
    dataset_hash: str
    runs: tuple[str, ...]
    budget: int = Field(ge=1)
    seed: int
    random: bool = False
    floor: float | None = None
    strata: dict[str, int]

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of labelled units at which a decision is shown, in rising order."""
        return tuple(sorted({-(-self.budget * look // LOOKS) for look in range(1, LOOKS + 1)}))


def strata(rows: Sequence[tuple[str, int, float]]) -> list[int]:
    """Return the stratum of each unit: language x verdict x third of the doubt.

    There are at most 12 strata, and none has fewer than 8 units if it can join another.

    Args:
        rows: Language, number of the verdict and doubt of each unit.
    """
    languages = sorted({language for language, _verdict, _doubt in rows})
    doubts = np.array([doubt for _language, _verdict, doubt in rows])
    edges = np.quantile(doubts, [1 / _THIRDS, 2 / _THIRDS]) if rows else doubts
    thirds = np.searchsorted(edges, doubts, side="left")
    keys = [
        (languages.index(language), verdict, int(third))
        for (language, verdict, _doubt), third in zip(rows, thirds, strict=True)
    ]
    return merge_small(keys)


def merge_small(keys: Sequence[_Key], least: int = _SMALLEST, most: int = _MOST) -> list[int]:
    """Return the stratum of each key.  Small strata join the nearest: the last part of a key is given up first."""
    groups: dict[_Key, list[int]] = {}
    for at, key in enumerate(keys):
        groups.setdefault(key, []).append(at)
    while len(groups) > 1:
        smallest = min(sorted(groups), key=lambda one: len(groups[one]))
        if len(groups[smallest]) >= least and len(groups) <= most:
            break
        moved = groups.pop(smallest)
        nearest = min(groups, key=lambda other: (_distance(smallest, other), len(groups[other])))
        groups[nearest] += moved
    numbers = {at: number for number, key in enumerate(sorted(groups)) for at in groups[key]}
    return [numbers[at] for at in range(len(keys))]


def _distance(one: _Key, other: _Key) -> tuple[int, int]:
    first = next(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    return len(one) - first, abs(one[first] - other[first])


def drawn(
    plan: LabelPlan, strata_of: Sequence[int], errors: Mapping[int, float | None]
) -> list[int]:
    """Return the units to label by index, in their order: the pilot, then the rest once the pilot is done.

    The units of a stratum are spread over the whole part, so that no stratum is shown after another.

    Args:
        errors: |label - verdict| of the units that are done; None if it is unknown, as for a skipped unit.
    """
    order = np.random.default_rng(plan.seed).permutation(len(strata_of))
    budget = min(plan.budget, len(strata_of))
    if plan.random:
        return [int(at) for at in order[:budget]]
    names = sorted(set(strata_of))
    own = [[int(at) for at in order if strata_of[at] == name] for name in names]
    sizes = [len(one) for one in own]
    first = proportional(sizes, max(1, round(PILOT * budget)))
    pilots = [one[:n] for one, n in zip(own, first, strict=True)]
    pilot = _spread(pilots)
    if any(at not in errors for at in pilot):
        return pilot
    known = [[error for at in one if (error := errors[at]) is not None] for one in pilots]
    total = neyman(sizes, [len(one) for one in known], [sum(one) for one in known], budget)
    rest = [one[n:m] for one, n, m in zip(own, first, total, strict=True)]
    return pilot + _spread(rest)


def _spread(parts: Sequence[Sequence[int]]) -> list[int]:
    turns = [
        ((turn + 0.5) / len(part), number, at)
        for number, part in enumerate(parts)
        for turn, at in enumerate(part)
    ]
    return [at for _turn, _number, at in sorted(turns)]


def looks_passed(plan: LabelPlan, labelled: int) -> int | None:
    """Return the number of units at the last planned look; None before the first."""
    return max((look for look in plan.looks if look <= labelled), default=None)
