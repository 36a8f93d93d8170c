"""How well a judge tells unanswerable queries from answerable ones.

The positive class is *unanswerable*.  Every figure lies in [0, 1], or is None where it is undefined (0 of 0): a judge
that never said "unanswerable" has no precision, rather than a perfect or a worthless one.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of judged items.

    Attributes:
        tp: unanswerable, judged unanswerable.
        fp: answerable, judged unanswerable.
        fn: unanswerable, judged answerable.
        tn: answerable, judged answerable.
    """

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def precision(self) -> float | None:
        """Share of the items judged unanswerable that are."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """Share of the unanswerable items that were judged so."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, from the counts: 0.0 when every unanswerable item was missed."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def far(self) -> float | None:
        """False answerable rate: share of the unanswerable items that were judged answerable."""
        return _share(self.fn, self.tp + self.fn)


def confusion(judged: Iterable[tuple[bool, bool]]) -> Confusion:
    """Count pairs of (is unanswerable, was judged unanswerable)."""
    counts = Counter(judged)
    return Confusion(
        tp=counts[True, True],
        fp=counts[False, True],
        fn=counts[True, False],
        tn=counts[False, False],
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
