"""What snapshots, comparisons and gates must know of a task; all else about them is the same for every task."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from gigamind.reports.release.model import EvalSnapshot, Item, SnapshotHit, Summary
from gigamind.reports.schema import RunReport

Line = TypeVar("Line", bound=BaseModel)
Speed = Literal["search_p95", "cold_start"]
Values = dict[str, list[tuple[float, float]]]
"""Metric with its block -> baseline and current value of each item that both runs measured."""
Terms = dict[str, list[tuple[tuple[float, float], tuple[float, float]]]]
"""Metric with its block -> what each item adds to numerator and denominator, in the baseline and in the current run."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How an item stands in a comparison.

    Attributes:
        text: what it is to people: the query, the question, the note.
        expected_notes: empty where none was expected.
        ranking: what came, best first; None for a task that ranks nothing.
    """

    text: str
    expected_notes: tuple[str, ...]
    ranking: tuple[SnapshotHit, ...] | None


@dataclass(frozen=True, slots=True)
class Change:
    """How an item ended otherwise: `gain` is never 0, negative for the worse; `what` says it in a few words."""

    gain: float
    what: str


@dataclass(frozen=True, slots=True)
class Untested:
    """A figure that is compared, but not item by item."""

    metric: str
    baseline: float | None
    current: float | None


class ComparedTask(ABC, Generic[Summary, Line, Item]):
    """One task.

    Attributes:
        name: as in run.json.
        unit, units: what its items are called.
        subject: what its dataset is made of, and `maker` what is measured, in words for people.
        blocks: of its metrics, as in summary.json; gates on others do not concern it, but for those on checks.
        settings: options that are no fault but change the figures; `setting` is what they set.
        summary: summary.json.
        line: a line of per_item.jsonl.
        snapshot: snapshot.json.
    """

    name: str
    unit: str
    units: str
    subject: str
    maker: str
    blocks: tuple[str, ...]
    settings: tuple[str, ...]
    setting: str
    summary: type[Summary]
    line: type[Line]
    snapshot: type[EvalSnapshot[Summary, Item]]

    @abstractmethod
    def judge_fingerprint(self, run: RunReport) -> str:
        """Changes with anything that may change a verdict on the same output."""

    @abstractmethod
    def item(self, line: Line) -> Item:
        """What the snapshot keeps of a line of per_item.jsonl."""

    @abstractmethod
    def shown(self, item: Item) -> Shown:
        """How the item stands in a comparison."""

    @abstractmethod
    def change(self, before: Item, after: Item) -> Change | None:
        """How an item changed; None when it ended alike."""

    def has_verdict(self, item: Item) -> bool:
        """Whether its judge decided about the item; always, for a task whose figures need no judge."""
        del item
        return True

    def checklist(self, snapshot: EvalSnapshot[Summary, Item]) -> str:
        """Fingerprint of the checklist that its items were checked by besides; "" where they were not."""
        del snapshot
        return ""

    def is_checked(self, item: Item) -> bool:
        """Whether the checklist decided about the item."""
        del item
        return False

    def without_checks(self, item: Item) -> Item:
        """The item, for a comparison with one that was checked otherwise."""
        return item

    def values(self, pairs: Sequence[tuple[Item, Item]]) -> Values:
        """The metrics that are means over items."""
        del pairs
        return {}

    def terms(self, pairs: Sequence[tuple[Item, Item]]) -> Terms:
        """The metrics that are sums over items, divided."""
        del pairs
        return {}

    def untested(self, pairs: Sequence[tuple[Item, Item]]) -> Sequence[Untested]:
        """The figures that are neither."""
        del pairs
        return ()

    def speed(self, summary: Summary) -> Mapping[Speed, float | None]:
        """Times in milliseconds that gates hold; None where the run did not measure it."""
        del summary
        return {}
