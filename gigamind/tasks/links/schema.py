"""The files of a link evaluation's out folder as models; names are the seed's (section 6.1).

Offsets are UTF-16 code units, half-open, in the note's file.  A figure that could not be measured is null, never 0.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from gigamind.interop.ranking import Oddity
from gigamind.records.judged import Count, Report, Share
from gigamind.records.schema import (
    IntervalReport,
    Milliseconds,
    PassageReport,
    Record,
    TaskSummary,
)
from gigamind.systems.health import SystemHealth


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
    """One suggested link, with what its confidence is made of.

    Attributes:
        anchor: null where another tool does not tell where it stands.
        confidence: null where it tells none.
    """

    anchor: PassageReport | None
    target: str
    confidence: Share | None
    reason: str
    context: str
    features: dict[str, float | int | str]
    hit: bool
    span_exact: bool | None
    novel: bool


MissCause = Literal[
    "no_candidate", "ranked_too_low", "below_confidence", "namesake", "already_linked"
]


class RankedReport(Report):
    """A suggestion, shown or not, by its place in the list of all that the suggester has for the note, from 1."""

    place: Annotated[int, Field(ge=1)]
    anchor: str
    target: str
    confidence: Share | None
    reason: str
    features: dict[str, float | int | str]


class MissReport(Report):
    """Why a wanted row was not found.

    Attributes:
        id: of the row.
        cause: nothing leads to its target at any place; its target stands below `topk`; or above, but is less sure than
            `min_confidence`; its words are taken for another note; `exclude_linked` left it out.
        own: the suggestion of its target that was not shown.
        instead: what was preferred: another note for its words, else the last one shown.
    """

    id: str
    cause: MissCause
    own: RankedReport | None
    instead: RankedReport | None


class LinkItemReport(Report):
    """One line of per_item.jsonl: a note.

    Attributes:
        text: the whole note, in which the passages of anchors stand.
        misses: one for each of `missed`.
        terms: what it adds to numerator and denominator of each figure; `metrics` are their quotients.
        oddities: what was odd about another tool's suggestions, and how often.
    """

    note: str
    language: str
    text: str
    expected: tuple[ExpectedLinkReport, ...]
    suggestions: tuple[SuggestionReport, ...]
    misses: tuple[MissReport, ...]
    terms: dict[str, tuple[Count, Count]]
    metrics: dict[str, float | None]
    oddities: dict[Oddity, Count] = Field(default={}, exclude_if=lambda odd: not odd)

    @property
    def missed(self) -> tuple[ExpectedLinkReport, ...]:
        """The wanted links that nothing shown leads to."""
        shown = {suggestion.target for suggestion in self.suggestions}
        return tuple(row for row in self.expected if row.wanted and shown.isdisjoint(row.targets))

    @property
    def explained(self) -> list[tuple[ExpectedLinkReport, MissReport]]:
        """The same with why each was missed."""
        rows = {row.id: row for row in self.expected}
        return [(rows[miss.id], miss) for miss in self.misses if miss.id in rows]


class LinkSliceReport(Report):
    """The figures of some notes: micro values over notes, intervals by "links.<metric>".

    Attributes:
        misses: rows that were not found, by cause.
    """

    notes: Count
    misses: dict[MissCause, Count]
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
    """Precision and recall for one floor of the confidence.

    Attributes:
        low: where the 95 % interval of the precision begins; null in runs of versions that did not tell it.
        high: where it ends.
    """

    min_confidence: Share
    suggested: Count
    precision: Share | None
    low: Share | None = None
    high: Share | None = None
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
        system: how the other tool that suggested has fared; null for gigamind.
    """

    task: Literal["links"] = "links"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    sweep: tuple[SweepPointReport, ...]
    reliability: tuple[ReliabilityBinReport, ...]
    calibration_error: Share | None
    performance: LinkPerformance
    system: SystemHealth | None = Field(default=None, exclude_if=lambda health: health is None)


LinkRunRecord: TypeAlias = Record[LinkSummaryReport, LinkItemReport]
