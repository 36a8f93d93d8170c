"""Models of the files in a link evaluation's out folder, and their comparison; names follow spec 6.1.

Offsets are half-open ranges of UTF-16 code units in the note's file. A figure that was not measured is null, never 0.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from gigamind.i18n import _, joined
from gigamind.interop.ranking import Oddity
from gigamind.metrics.links import CEILING
from gigamind.records.judged import Count, Finite, Report, Share
from gigamind.records.schema import (
    IntervalReport,
    Milliseconds,
    PassageReport,
    Record,
    RunReport,
    TaskSummary,
)
from gigamind.release import model
from gigamind.release.comparison import SnapshotHit
from gigamind.systems.dialect import SystemHealth


class ExpectedLinkReport(Report):
    """One row of the dataset.

    Attributes:
        passage: Range of its anchor; null if the row's range does not match the note.
    """

    id: str
    anchor: str
    targets: tuple[str, ...]
    passage: PassageReport | None
    label: Literal["accept", "reject"] | None

    @property
    def wanted(self) -> bool:
        """Whether the link should be suggested: no human labelled it as rejected."""
        return self.label != "reject"


class SuggestionReport(Report):
    """One suggested link with the features of its confidence.

    Attributes:
        anchor: Null if another tool gave no position.
        confidence: Null if another tool gave none.
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
    """A suggestion, shown or not, with its rank (from 1) among all suggestions for the note."""

    place: Annotated[int, Field(ge=1)]
    anchor: str
    target: str
    confidence: Share | None
    reason: str
    features: dict[str, float | int | str]


class MissReport(Report):
    """Why an expected link was not suggested.

    Attributes:
        cause: no_candidate: no suggestion has the target. ranked_too_low: its rank is below `topk`. below_confidence:
            its confidence is below `min_confidence`. namesake: the anchor was linked to another note.
            already_linked: `exclude_linked` excluded it.
        own: The suggestion of the target that was not shown.
        instead: The preferred suggestion: another note for the same anchor, else the last one shown.
    """

    id: str
    cause: MissCause
    own: RankedReport | None
    instead: RankedReport | None


class LinkItemReport(Report):
    """One line of per_item.jsonl: a note.

    Attributes:
        text: The whole note; passages of anchors are ranges of it.
        terms: Its part of the numerator and denominator of each figure; `metrics` holds the quotients.
        oddities: Data-quality problems of another tool's suggestions, with counts.
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
        """The expected links that were not suggested."""
        shown = {suggestion.target for suggestion in self.suggestions}
        return tuple(row for row in self.expected if row.wanted and shown.isdisjoint(row.targets))

    @property
    def explained(self) -> list[tuple[ExpectedLinkReport, MissReport]]:
        """The missed links with their causes."""
        rows = {row.id: row for row in self.expected}
        return [(rows[miss.id], miss) for miss in self.misses if miss.id in rows]


class LinkSliceReport(Report):
    """Figures of a set of notes: micro averages, and intervals by "links.<metric>"."""

    notes: Count
    misses: dict[MissCause, Count]
    links: dict[str, float | None]
    intervals: dict[str, IntervalReport]


class LinkCounts(Report):
    """Counts of dataset rows and notes.

    Attributes:
        ranges_misfit: Rows whose range does not contain their anchor.
    """

    links_total: Count
    source_notes: Count
    rows_rejected: Count
    notes_not_sampled: Count
    notes_not_run: Count
    ranges_misfit: Count
    notes: Count


class LinkPerformance(Report):
    """Times in milliseconds: `indexing_ms` for reading and indexing, `eval_runtime_ms` for all suggestions."""

    indexing_ms: Milliseconds
    eval_runtime_ms: Milliseconds


class SweepPointReport(Report):
    """Precision and recall at one confidence threshold.

    Attributes:
        low: Lower bound of the 95 % interval of the precision; null in runs of older versions.
    """

    min_confidence: Share
    suggested: Count
    precision: Share | None
    low: Share | None = None
    high: Share | None = None
    recall: Share | None


class ReliabilityBinReport(Report):
    """Suggestions of similar confidence, and the share of them that is correct."""

    low: Share
    high: Share
    n: Count
    mean_confidence: Share
    precision: Share


class LinkSummaryReport(TaskSummary[LinkCounts, LinkSliceReport]):
    """summary.json of a link evaluation.

    Attributes:
        calibration_error: Expected calibration error over the bins of `reliability`. Only removed links count as
            correct, so a good suggestion without a removed link counts as wrong.
        system: Health of the other tool that made the suggestions; null for gigamind.
    """

    task: Literal["links"] = "links"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    sweep: tuple[SweepPointReport, ...]
    reliability: tuple[ReliabilityBinReport, ...]
    calibration_error: Share | None
    performance: LinkPerformance
    system: SystemHealth | None = Field(default=None, exclude_if=lambda health: health is None)


LinkRunRecord: TypeAlias = Record[LinkSummaryReport, LinkItemReport]


class SnapshotSuggestion(Report):
    """One suggested link; `hit` is true if its target was expected."""

    anchor: str
    target: str
    confidence: Finite | None
    hit: bool


class LinkItem(model.SnapshotItem):
    """One note; its id is its path.

    Attributes:
        terms: Numerator and denominator of each figure, as in per_item.jsonl.
    """

    expected: tuple[str, ...]
    suggestions: tuple[SnapshotSuggestion, ...]
    terms: dict[str, tuple[int, int]]


LinkSnapshot = model.EvalSnapshot[LinkSummaryReport, LinkItem]


class LinkComparison(model.ComparedTask[LinkSummaryReport, LinkItemReport, LinkItem]):
    """Compares the link evaluations of two runs."""

    settings = ("topk", "min_confidence", "exclude_linked", "context_chars", "semantic")

    def judge_fingerprint(self, run: RunReport) -> str:
        """Return a constant: only removed links are the ground truth, and no judge is involved."""
        del run
        return "removed-links"

    def item(self, line: LinkItemReport) -> LinkItem:
        expected = (target for row in line.expected if row.wanted for target in row.targets)
        return LinkItem(
            id=line.note,
            language=line.language,
            expected=tuple(dict.fromkeys(expected)),
            suggestions=tuple(
                SnapshotSuggestion.like(s, anchor=s.anchor.text if s.anchor else "")
                for s in line.suggestions
            ),
            terms=line.terms,
        )

    def shown(self, item: LinkItem) -> model.Shown:
        ranking = tuple(
            SnapshotHit(note=s.target, base_score=s.confidence, final_score=s.confidence)
            for s in item.suggestions
        )
        return model.Shown(item.id, item.expected, ranking)

    def terms(self, pairs: model.Pairs[LinkItem]) -> model.Terms:
        """Return the paired terms of all figures except the ceilings, which depend only on the dataset."""
        names = [name for name in pairs[0][1].terms if not name.endswith(CEILING)] if pairs else []
        both = [(a.terms, b.terms) for a, b in pairs]
        return {
            f"links.{name}": [(a[name], b[name]) for a, b in both if name in a and name in b]
            for name in names
        }

    def change(self, before: LinkItem, after: LinkItem) -> model.Change | None:
        """Compare by the number of expected links found, then by the number of wrong suggestions."""
        (old, old_wrong), (new, new_wrong) = _targets(before), _targets(after)
        gained, lost, wrong = new - old, old - new, (old_wrong, new_wrong)
        gain = len(gained) - len(lost) or (wrong[0] - wrong[1]) / 1_000
        parts = [_("links lost: {notes}", notes=sorted(lost))] if lost else []
        parts += [_("links found: {notes}", notes=sorted(gained))] if gained else []
        moved = _("{before} → {after} wrong suggestions", before=wrong[0], after=wrong[1])
        parts += [moved] if wrong[0] != wrong[1] else []
        return model.Change(gain, joined(parts)) if gain else None


def _targets(item: LinkItem) -> tuple[set[str], int]:
    """Return the expected targets that were suggested, and the number of wrong suggestions."""
    right = [suggestion.target for suggestion in item.suggestions if suggestion.hit]
    return set(right), len(item.suggestions) - len(right)
