"""The files of an out folder as models: what is written is what can be read back.

Names are the seed's (section 6.1), snake_case; what it has not is added beside its fields.  Offsets are UTF-16 code
units, half-open, in the note's file.  A figure that could not be measured is null, never 0.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from pydantic import Field

from gigamind.choices import FreeJudge
from gigamind.interop.ranking import Oddity
from gigamind.records.judged import Count, Finite, JudgementReport, LlmReport, Report, Share
from gigamind.records.schema import (
    ErrorReport,
    IntervalReport,
    Milliseconds,
    PassageReport,
    Record,
    SpeedReport,
    TaskSummary,
)
from gigamind.systems.health import SystemHealth

_SHOWN = 10  # the cut-off that reports show, or the largest below it
_NDCG = "ndcg_at_"


def ndcg_cutoffs(figures: Iterable[str]) -> list[int]:
    """The cut-offs at which nDCG stands among figures, by their names; a name of another form is none."""
    cutoffs = (name.removeprefix(_NDCG) for name in figures if name.startswith(_NDCG))
    return [int(cutoff) for cutoff in cutoffs if cutoff.isascii() and cutoff.isdecimal()]


class HitReport(Report):
    """One note of a ranking: its scores, its best chunk, and the sentence in it that speaks to the query.

    Attributes:
        base_score, final_score: of another system on its own scale, one and the same; null where it tells none.
        chunk, evidence: null without the note's text.
        text: that another system shows, where it stands nowhere in the note, being evidence by its words, or where the
            note is not at hand; absent otherwise.
        highlights: `[start, end)` of the query's words in the evidence, rising.
        centrality: in the link graph, whether it was used or not; null of another system.
    """

    note: str
    base_score: Finite | None
    final_score: Finite | None
    semantic_score: Share | None
    keyword_score: Share | None
    chunk: PassageReport | None
    evidence: PassageReport | None
    text: str = Field(default="", exclude_if=lambda text: not text)
    title: str = ""
    highlights: tuple[tuple[Count, Count], ...] = ()
    centrality: Share | None = None


class FreeVerdict(Report):
    """What a judge that costs nothing says of a query.

    Attributes:
        score: what it holds against its setting; null without a hit.
        across_languages: the note nearest to the query is in another language, where the verdict is weak; null for a
            judge that does not look.
    """

    unanswerable: bool
    score: Finite | None
    across_languages: bool | None = None


class ItemReport(Report):
    """One line of per_item.jsonl.

    Attributes:
        gains: grade of each note that people judged, where they did; empty where `expected_notes` says it all.
        judged_unanswerable: null where the judge gave no verdict.
        judged_across_languages: whether the note nearest to the query is in another language, which makes the verdict
            weak; null for a judge that does not look.
        answerable_score: what the judge holds against its setting; null for a judge without one, or without a hit.
        judges: what the judges that cost nothing say, by kind.
        judgement: what a model told, where one was asked.
        metrics: by name, as in the summary; empty for an unanswerable query, null where not measured.
        latency_ms: wall time of its retrieval; null for a run file.
        oddities: what was odd about another system's ranking, and how often.
        gone_spans: expected spans whose text is no longer in its note; nothing can match them.
    """

    id: str
    query: str
    language: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    cross_lingual: bool
    answerable: bool
    expected_notes: tuple[str, ...]
    expected_spans: tuple[PassageReport, ...]
    ranking: tuple[HitReport, ...]
    judged_unanswerable: bool | None
    top_base_score: Finite | None
    answerable_score: Finite | None = None
    judged_across_languages: bool | None = None
    judges: dict[str, FreeVerdict] = Field(default_factory=dict[str, FreeVerdict])
    judgement: JudgementReport | None = None
    metrics: dict[str, float | None]
    latency_ms: Milliseconds | None
    oddities: dict[Oddity, Count] = Field(default={}, exclude_if=lambda odd: not odd)
    gains: dict[str, int] = Field(default={}, exclude_if=lambda gains: not gains)
    gone_spans: Count = Field(default=0, exclude_if=lambda count: not count)


class SliceCounts(Report):
    """How many evaluated queries a slice holds."""

    queries: Count
    answerable: Count
    unanswerable: Count


class SliceReport(Report):
    """The figures of some queries.

    Attributes:
        search: means over answerable queries, and latency percentiles over all, in milliseconds.
        unanswerable: precision, recall, f1, far, false_refusals; unanswerable is the positive class.
        intervals: by "search.<metric>" and "unanswerable.<metric>".
    """

    counts: SliceCounts
    search: dict[str, float | None]
    unanswerable: dict[str, float | None]
    intervals: dict[str, IntervalReport]

    @property
    def deepest(self) -> int:
        """The cut-off that reports show: the largest that was measured, up to 10."""
        cutoffs = ndcg_cutoffs(self.search)
        return max((k for k in cutoffs if k <= _SHOWN), default=min(cutoffs, default=_SHOWN))


class Performance(Report):
    """Times of a run in milliseconds.

    Attributes:
        cold_start_ms: from the first read of dataset and vault to a retriever that is ready, without any cache; null in
            a run that could use one.
        indexing_ms: the same, whatever the cache gave.
        eval_runtime_ms: wall time of all queries, warm-up apart.
        latency_method: what a latency is and how its percentiles are taken.
        passes: what a gate holds of speed; null where it was not measured (`--speed-passes 0`).
    """

    cold_start_ms: Milliseconds | None
    indexing_ms: Milliseconds
    eval_runtime_ms: Milliseconds
    latency_method: str
    passes: SpeedReport | None = None


class RunCounts(Report):
    """What became of the dataset's rows and of the vault.

    Attributes:
        queries_total: evaluated queries, answerable and unanswerable together.
        rows_rejected: rows of the dataset that could not be used (errors.jsonl).
        rows_not_sampled: usable rows that `--sample` left out.
        queries_failed: queries whose evaluation failed (errors.jsonl).
        queries_not_run: queries that an interrupted run did not come to.
        notes: null without a vault.
        queries_generated: evaluated queries that were made of the notes, which are easier than those of people.
    """

    queries_total: Count
    queries_answerable: Count
    queries_unanswerable: Count
    rows_rejected: Count
    rows_not_sampled: Count
    queries_failed: Count
    queries_not_run: Count
    notes: Count | None
    queries_generated: Count = 0


class WeakVerdicts(Report):
    """Queries whose verdict by search alone says little.

    Attributes:
        across_languages: the note nearest to them is in another language.
        near_misses: unanswerable ones that score no lower than half of the answerable ones, because a note comes near
            them and does not answer; null without answerable ones to compare them with.
        unanswerable: how many unanswerable ones were judged.
    """

    across_languages: Count
    near_misses: Count | None
    unanswerable: Count


class JudgeRates(Report):
    """How right a judge that costs nothing is on the queries of a run.

    Attributes:
        chosen: it is the judge of the run.
        setting: the score below which a query is unanswerable.
        missed: of so many unanswerable queries, those that it takes for answerable.
        refused: of so many answerable ones, those that it takes for unanswerable.
        far: missed / unanswerable; `false_refusals`: refused / answerable; null where there are none.
    """

    kind: FreeJudge
    chosen: bool
    setting: Finite
    missed: Count
    unanswerable: Count
    refused: Count
    answerable: Count
    precision: Share | None
    recall: Share | None
    f1: Share | None
    far: Share | None
    false_refusals: Share | None

    @property
    def both_rates(self) -> float | None:
        """FAR and false refusals together, in [0, 2]; 1 for a judge that knows nothing."""
        if self.far is None or self.false_refusals is None:
            return None
        return self.far + self.false_refusals


class OutOfReachReport(Report):
    """How many of the labelled spans no evidence can match by the seed's rule, and median lengths in characters.

    Attributes:
        label_chars, piece_chars: of those spans, and of the sentences nearest to them.
    """

    labels: Count
    count: Count
    label_chars: float
    piece_chars: float


class UnjudgedHit(Report):
    """A hit that nobody judged, as a row to label: a line of unjudged.jsonl.

    Attributes:
        ndcg_change: what nDCG at the cut-off of reports would change by if it were relevant with the highest gain of
            its query.
        text: the sentence that speaks to the query; empty without the note's text.
        gain: for a person to fill in: 0 is irrelevant.
    """

    id: str
    query: str
    note: str
    rank: Count
    ndcg_change: Finite
    text: str
    gain: int | None = None


class HolesReport(Report):
    """Hits of judged queries that nobody judged, among the first `k`.

    Attributes:
        hits: all hits among the first `k` of answerable queries with judgements.
        worst: those that would matter most, the first ones of unjudged.jsonl.
    """

    k: Count
    hits: Count
    unjudged: Count
    worst: tuple[UnjudgedHit, ...]


class SummaryReport(TaskSummary[RunCounts, SliceReport]):
    """summary.json.

    Attributes:
        judges: those that cost nothing, side by side.
        weak_verdicts: null for judges other than the calibrated one.
        out_of_reach: null where every labelled span can be matched, or none is there.
        llm: what asking a model cost; null where none was asked.
        system: null for gigamind's own engine.
        holes: null where no dataset row has judgements (`gains`).
    """

    task: Literal["search"] = "search"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    cross_lingual: SliceReport | None
    by_tag: dict[str, SliceReport]
    by_difficulty: dict[str, SliceReport]
    performance: Performance
    judges: tuple[JudgeRates, ...] = ()
    weak_verdicts: WeakVerdicts | None = None
    out_of_reach: OutOfReachReport | None = None
    llm: LlmReport | None = None
    system: SystemHealth | None = Field(default=None, exclude_if=lambda health: health is None)
    holes: HolesReport | None = Field(default=None, exclude_if=lambda holes: holes is None)


RunRecord: TypeAlias = Record[SummaryReport, ItemReport]
ItemResult: TypeAlias = ItemReport | ErrorReport
"""What scoring a query gave: its line of per_item.jsonl, or of errors.jsonl."""
