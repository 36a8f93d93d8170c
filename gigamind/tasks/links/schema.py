"""The files of a link evaluation's out folder as models; names are the seed's (section 6.1).

Offsets are UTF-16 code units, half-open, in the note's file.  A figure that could not be measured is null, never 0.
"""

from typing import Literal, TypeAlias

from gigamind.records.judged import Count, Report, Share
from gigamind.records.schema import (
    IntervalReport,
    Milliseconds,
    PassageReport,
    Record,
    TaskSummary,
)


class ExpectedLinkReport(Report):
    """One row of the dataset.

    Attributes:
        passage: where its anchor stands; null where the row's range does not fit.
    """

    id: str
    anchor: str
    targets: tuple[str, ...]
    passage: PassageReport | None
    label: Literal["accept", "reject"] | None

    @property
    def wanted(self) -> bool:
        """Whether it ought to be suggested: no person rejected it."""
        return self.label != "reject"


class SuggestionReport(Report):
    """One suggested link, with what its confidence is made of."""

    anchor: PassageReport
    target: str
    confidence: Share
    reason: str
    context: str
    features: dict[str, float | int | str]
    hit: bool
    span_exact: bool | None
    novel: bool


class LinkItemReport(Report):
    """One line of per_item.jsonl: a note.

    Attributes:
        text: the whole note, in which the passages of anchors stand.
        terms: what it adds to numerator and denominator of each figure; `metrics` are their quotients.
    """

    note: str
    language: str
    text: str
    expected: tuple[ExpectedLinkReport, ...]
    suggestions: tuple[SuggestionReport, ...]
    terms: dict[str, tuple[Count, Count]]
    metrics: dict[str, float | None]

    @property
    def missed(self) -> tuple[ExpectedLinkReport, ...]:
        """The wanted links that nothing shown leads to."""
        shown = {one.target for one in self.suggestions}
        return tuple(row for row in self.expected if row.wanted and shown.isdisjoint(row.targets))


class LinkSliceReport(Report):
    """The figures of some notes: micro values over notes, intervals by "links.<metric>"."""

    notes: Count
    links: dict[str, float | None]
    intervals: dict[str, IntervalReport]


class LinkCounts(Report):
    """What became of the dataset's rows.

    Attributes:
        links_total: rows that were evaluated.
        source_notes: notes that were evaluated.
        notes_not_run: notes that an interrupted run did not come to.
        ranges_misfit: rows whose range does not cut out their anchor.
    """

    links_total: Count
    source_notes: Count
    rows_rejected: Count
    notes_not_sampled: Count
    notes_not_run: Count
    ranges_misfit: Count
    notes: Count


class LinkPerformance(Report):
    """Times in milliseconds: of reading, checking and building the dictionary; of all suggestions."""

    indexing_ms: Milliseconds
    eval_runtime_ms: Milliseconds


class SweepPointReport(Report):
    """Precision and recall for one floor of the confidence."""

    min_confidence: Share
    suggested: Count
    precision: Share | None
    recall: Share | None


class ReliabilityBinReport(Report):
    """Suggestions of about one confidence, and how many of them were right."""

    low: Share
    high: Share
    n: Count
    mean_confidence: Share
    precision: Share


class LinkSummaryReport(TaskSummary[LinkCounts, LinkSliceReport]):
    """summary.json of a link evaluation.

    Attributes:
        calibration_error: expected calibration error over the bins of `reliability`; the truth are removed links only,
            so good suggestions that nobody had linked count as wrong.
    """

    task: Literal["links"] = "links"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    sweep: tuple[SweepPointReport, ...]
    reliability: tuple[ReliabilityBinReport, ...]
    calibration_error: Share | None
    performance: LinkPerformance


LinkRunRecord: TypeAlias = Record[LinkSummaryReport, LinkItemReport]
