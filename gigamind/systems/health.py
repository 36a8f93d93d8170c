"""How a system that was asked has fared: how often it told nothing, and what was odd about what it told."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Self

from gigamind.interop.ranking import Oddity
from gigamind.records.judged import Count, Report, Share

MOST_FAILED = 0.2  # of the items; the others say too little of the dataset


class SystemHealth(Report):
    """How another system fared.

    Attributes:
        failed: items that it told nothing of; of a search's run file, answerable ones that it lacks.
        share: of all items that were asked about.
        oddities: of how many items what it told was odd, by what.
    """

    failed: Count
    share: Share
    oddities: dict[Oddity, Count]

    @classmethod
    def of(cls, failed: int, asked: int, odd: Iterable[Mapping[Oddity, int]]) -> Self:
        """That of so many items; `odd`: of each that something was told of."""
        oddities: Counter[Oddity] = Counter(name for counts in odd for name in counts)
        return cls(failed=failed, share=failed / asked if asked else 0.0, oddities=dict(oddities))

    def shortfall(self, what: str, why: str) -> str | None:
        """Why the figures are none of the dataset; None where enough was told.

        Args:
            what: it did not give, of which items, with a place for their number.
            why: not, in the first case.
        """
        if self.share <= MOST_FAILED:
            return None
        return f"the system gave no {what.format(self.failed)} ({self.share:.0%}): {why}"
