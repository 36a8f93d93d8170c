"""Report how reliable an evaluated system was: failed requests and anomalies of its responses."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Self

from gigamind.interop.ranking import Oddity
from gigamind.records.judged import Count, Report, Share

MOST_FAILED = 0.2  # share of items; above it, the rest no longer represents the dataset


class SystemHealth(Report):
    """How reliable another system was.

    Attributes:
        failed: items without a response; for a run file of rankings, answerable queries that it lacks.
        share: failed items / all requested items, in [0, 1].
        oddities: number of items per anomaly.
    """

    failed: Count
    share: Share
    oddities: dict[Oddity, Count]

    @classmethod
    def of(cls, failed: int, total: int, odd: Iterable[Mapping[Oddity, int]]) -> Self:
        """Return the health over `total` items; `odd` holds the anomalies of each response."""
        oddities: Counter[Oddity] = Counter(name for counts in odd for name in counts)
        return cls(failed=failed, share=failed / total if total else 0.0, oddities=dict(oddities))

    @property
    def is_unreliable(self) -> bool:
        """Whether too many items failed for the rest to represent the dataset."""
        return self.share > MOST_FAILED
