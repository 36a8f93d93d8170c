"""Models of the files in a search evaluation's out folder, and their comparison.

Names follow spec 6.1; further fields are additions. Offsets are half-open ranges of UTF-16 code units in
the note's file. A figure that was not measured is null, never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, computed_field, model_validator

from gigamind.choices import FreeJudge
from gigamind.formats import between, share
from gigamind.i18n import Message, Text, _, joined
from gigamind.interop.ranking import Oddity
from gigamind.judges.spec import Chosen
from gigamind.judges.unanswerable import FreeVerdict, UnanswerableJudge
from gigamind.metrics.answerability import Confusion, verdict_terms
from gigamind.metrics.table import is_mean
from gigamind.records import schema
from gigamind.records.judged import Count, Finite, JudgementReport, LlmReport, Report, Share
from gigamind.records.schema import RunReport, SpeedReport
from gigamind.release import model
from gigamind.release.comparison import SnapshotHit, Speed
from gigamind.stats.intervals import Interval
from gigamind.systems.dialect import SystemHealth

SearchJudge = Chosen[UnanswerableJudge]
_SHOWN = 10  # reports show this cut-off, or the largest below it
_NDCG = "ndcg_at_"


def _ndcg_cutoffs(figures: Iterable[str]) -> list[int]:
    """Return the cut-offs of the nDCG metrics among figure names."""
    cutoffs = (name.removeprefix(_NDCG) for name in figures if name.startswith(_NDCG))
    return [int(cutoff) for cutoff in cutoffs if cutoff.isascii() and cutoff.isdecimal()]


class HitReport(Report):
    """One note of a ranking: its scores, its best chunk, and the sentence of it that best matches the query.

    Attributes:
        base_score, final_score: Equal, and on its own scale, for another system; null if it returned none.
        chunk, evidence: Null without the note's text.
        text: Text of another system that is not in the note, or whose note is unknown; absent otherwise.
        written: The name as the system wrote it, if it differs in more than separators and Unicode form; else absent.
        highlights: Ascending ranges `[start, end)` of the query's words in the evidence.
        centrality: Centrality in the link graph, used or not; null for another system.
    """

    note: str
    base_score: Finite | None
    final_score: Finite | None
    semantic_score: Share | None
    keyword_score: Share | None
    chunk: schema.PassageReport | None
    evidence: schema.PassageReport | None
    text: str = Field(default="", exclude_if=lambda text: not text)
    written: str = Field(default="", exclude_if=lambda written: not written)
    title: str = ""
    highlights: tuple[tuple[Count, Count], ...] = ()
    centrality: Share | None = None


class ItemReport(Report):
    """One line of per_item.jsonl.

    Attributes:
        gains: Human relevance grade by note; empty if the dataset has only `expected_notes`.
        judged_unanswerable: Null if the judge gave no verdict.
        judged_across_languages: Whether the nearest note is in another language, so the verdict is weak; null for a
            judge that does not check.
        answerable_score: Score that is compared with the judge's threshold; null without a threshold or a hit.
        metrics: By name, as in the summary; empty for an unanswerable query, null if not measured.
        latency_ms: Wall time of its retrieval; null for a run file.
        oddities: Data-quality problems of another system's ranking, with counts.
        gone_spans: Number of expected spans whose text is no longer in its note; nothing can match them.
    """

    id: str
    query: str
    language: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    cross_lingual: bool
    answerable: bool
    expected_notes: tuple[str, ...]
    expected_spans: tuple[schema.PassageReport, ...]
    ranking: tuple[HitReport, ...]
    judged_unanswerable: bool | None
    top_base_score: Finite | None
    answerable_score: Finite | None = None
    judged_across_languages: bool | None = None
    judges: dict[str, FreeVerdict] = Field(default_factory=dict[str, FreeVerdict])
    judgement: JudgementReport | None = None
    metrics: dict[str, float | None]
    latency_ms: schema.Milliseconds | None
    oddities: dict[Oddity, Count] = Field(default={}, exclude_if=lambda odd: not odd)
    gains: dict[str, int] = Field(default={}, exclude_if=lambda gains: not gains)
    gone_spans: Count = Field(default=0, exclude_if=lambda count: not count)


class SliceCounts(Report):
    """Number of evaluated queries in a slice."""

    queries: Count
    answerable: Count
    unanswerable: Count


class SliceReport(Report):
    """Figures of a set of queries.

    Attributes:
        search: Means over answerable queries, and latency percentiles over all, in milliseconds.
        unanswerable: precision, recall, f1, far, false_refusals; unanswerable is the positive class.
        intervals: By "search.<metric>" and "unanswerable.<metric>".
    """

    counts: SliceCounts
    search: dict[str, float | None]
    unanswerable: dict[str, float | None]
    intervals: dict[str, schema.IntervalReport]

    @property
    def deepest(self) -> int:
        """The cut-off that reports show: the largest measured one, at most 10."""
        cutoffs = _ndcg_cutoffs(self.search)
        return max((k for k in cutoffs if k <= _SHOWN), default=min(cutoffs, default=_SHOWN))


class Performance(Report):
    """Times of a run in milliseconds.

    Attributes:
        cold_start_ms: From the first read of dataset and vault until the retriever is ready, without any cache; null
            in a run that could use a cache.
        indexing_ms: The same time, with or without a cache.
        latency_method: Definition of a latency and of its percentiles.
        passes: Speed measurement for gates; null if it was not measured (`--speed-passes 0`).
    """

    cold_start_ms: schema.Milliseconds | None
    indexing_ms: schema.Milliseconds
    eval_runtime_ms: schema.Milliseconds
    latency_method: Text
    passes: schema.SpeedReport | None = None

    @computed_field
    @property
    def latency_method_parts(self) -> dict[str, Any] | None:
        """The text's id and values, from which other languages are made."""
        text = self.latency_method
        return text.as_json() if isinstance(text, Message) else None

    @model_validator(mode="before")
    @classmethod
    def _restore(cls, data: object) -> object:
        return schema.restored(data, "latency_method", "latency_method_parts")


class RunCounts(Report):
    """Counts of dataset rows and notes.

    Attributes:
        notes: Null without a vault.
        queries_generated: Evaluated queries that were generated from the notes; they are easier than human ones.
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
    """Number of queries whose verdict is weak because no model read the notes.

    Attributes:
        across_languages: Their nearest note is in another language.
        near_misses: Unanswerable queries that score at or above the median answerable one, because a note is similar
            but does not answer; null without answerable queries.
    """

    across_languages: Count
    near_misses: Count | None
    unanswerable: Count


class JudgeRates(Report):
    """Accuracy of a free judge on the queries of a run.

    Attributes:
        setting: Threshold; a query that scores below it is judged unanswerable.
        missed: Unanswerable queries that were judged answerable, out of `unanswerable`.
        refused: Answerable queries that were judged unanswerable, out of `answerable`.
        far: missed / unanswerable; null without unanswerable queries.
        false_refusals: refused / answerable; null without answerable queries.
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
    def counts(self) -> Confusion:
        """The confusion matrix of its verdicts."""
        right = self.unanswerable - self.missed, self.answerable - self.refused
        return Confusion(tp=right[0], fp=self.refused, fn=self.missed, tn=right[1])

    @property
    def both_rates(self) -> float | None:
        """Sum of FAR and false-refusal rate, in [0, 2]; 1 for a judge that guesses."""
        if self.far is None or self.false_refusals is None:
            return None
        return self.far + self.false_refusals


class RateReport(Report):
    """A share of questions, with its 95 % Wilson interval."""

    count: Count
    n: Count
    low: Share
    high: Share

    @classmethod
    def of(cls, count: int, n: int) -> Self:
        """Return `count` of `n` questions; raises ValueError if there are none."""
        return cls.like(Interval.wilson(count, n), count=count, n=n)

    def describe(self) -> str:
        """Return the share with its interval."""
        return f"{share(self.count / self.n)} ({between(self)})"


class JudgeForecast(Report):
    """Expected errors of a free judge on a vault.

    Attributes:
        near_misses, strangers: Accepted questions about notes that were left out, alone or with their folder.
        refused: Refused questions about notes of the vault.
    """

    kind: FreeJudge
    near_misses: RateReport
    strangers: RateReport | None
    refused: RateReport | None

    @property
    def rates(self) -> tuple[RateReport | None, ...]:
        """The three shares; those that are unknown are None."""
        return self.near_misses, self.strangers, self.refused

    @property
    def accepts(self) -> float:
        """Share of left-out questions that it accepts, half of them strangers if these are known."""
        rates = [rate.count / rate.n for rate in (self.near_misses, self.strangers) if rate]
        return sum(rates) / len(rates)


class ForecastReport(Report):
    """Expected errors of the free judges on a vault, measured with its `probes` (see `forecast`)."""

    probes: Literal["headings", "sentences"]
    runtime_ms: schema.Milliseconds
    judges: tuple[JudgeForecast, ...]


class OutOfReachReport(Report):
    """Labelled spans that no evidence can match by the specification's rule, and median lengths in characters.

    Attributes:
        label_chars: Median length of those spans.
        piece_chars: Median length of the sentences nearest to them.
    """

    labels: Count
    count: Count
    label_chars: float
    piece_chars: float


class UnjudgedHit(Report):
    """An unjudged hit.

    Attributes:
        ndcg_change: Change of nDCG at the reports' cut-off if it had the highest gain of its query.
        text: The sentence that best matches the query; empty without the note's text.
    """

    id: str
    query: str
    note: str
    rank: Count
    ndcg_change: Finite
    text: str


class UnjudgedReport(Report):
    """Unjudged hits among the first `k` of queries with relevance judgements.

    Attributes:
        hits: All hits among the first `k` of answerable queries with judgements.
        worst: The unjudged hits with the largest possible effect.
    """

    k: Count
    hits: Count
    unjudged: Count
    worst: tuple[UnjudgedHit, ...]


class SummaryReport(schema.TaskSummary[RunCounts, SliceReport]):
    """summary.json.

    Attributes:
        forecast: Null if it was neither computed nor cached.
        weak_verdicts: Null for judges other than the calibrated one.
        out_of_reach: Null if every labelled span can be matched, or there are none.
        system: Null for gigamind's own engine.
        holes: Unjudged hits; null if no dataset row has judgements (`gains`).
    """

    task: Literal["search"] = "search"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    cross_lingual: SliceReport | None
    by_tag: dict[str, SliceReport]
    by_difficulty: dict[str, SliceReport]
    performance: Performance
    judges: tuple[JudgeRates, ...] = ()
    forecast: ForecastReport | None = Field(default=None, exclude_if=lambda made: made is None)
    weak_verdicts: WeakVerdicts | None = None
    out_of_reach: OutOfReachReport | None = None
    llm: LlmReport | None = None
    system: SystemHealth | None = Field(default=None, exclude_if=lambda health: health is None)
    holes: UnjudgedReport | None = Field(default=None, exclude_if=lambda holes: holes is None)


RunRecord: TypeAlias = schema.Record[SummaryReport, ItemReport]
ItemResult: TypeAlias = ItemReport | schema.ErrorReport
"""Result of a query: its line of per_item.jsonl, or of errors.jsonl."""


class SearchItem(model.SnapshotItem):
    """One query.

    Attributes:
        metrics, gone_spans: As in per_item.jsonl.
    """

    query: str
    answerable: bool
    judged_unanswerable: bool | None
    expected_notes: tuple[str, ...]
    ranking: tuple[SnapshotHit, ...]
    metrics: dict[str, Finite | None]
    gone_spans: int = Field(default=0, exclude_if=lambda count: not count)


SearchSnapshot = model.EvalSnapshot[SummaryReport, SearchItem]


class SearchComparison(model.ComparedTask[SummaryReport, ItemReport, SearchItem]):
    """Compares the search evaluations of two runs."""

    settings = (
        *("mode", "fusion", "alpha", "title_weight", "chunk_chars", "graph_rerank", "rerank"),
        *("topk", "evidence_notes", "context_notes", "context_chars"),
    )

    def config(self, run: RunReport) -> dict[str, object]:
        """Return the settings with the judge's Top-1 score threshold; null for a judge without one."""
        judge = run.judge
        by_score = judge is not None and judge.kind in {"threshold", "answer_score"}
        return {**super().config(run), "min_score": judge.setting if judge and by_score else None}

    def item(self, line: ItemReport) -> SearchItem:
        return SearchItem.model_validate(line, from_attributes=True)

    def shown(self, item: SearchItem) -> model.Shown:
        return model.Shown(item.query, item.expected_notes, item.ranking)

    def values(self, pairs: model.Pairs[SearchItem]) -> model.Values:
        """Return the paired values, ranking first. FAR and recall of verdicts are means; see `terms` for the others."""
        names = sorted({name for pair in pairs for item in pair for name in item.metrics})
        values = model.paired_values("search", names, [(a.metrics, b.metrics) for a, b in pairs])
        for name, both in _verdict_terms(pairs).items():
            if is_mean(name):
                values[name] = [(before[0], after[0]) for before, after in both if before[1]]
        return values

    def terms(self, pairs: model.Pairs[SearchItem]) -> model.Terms:
        """Return each item's part of the counts behind precision and F1 of the verdicts."""
        return {name: both for name, both in _verdict_terms(pairs).items() if not is_mean(name)}

    def has_verdict(self, item: SearchItem) -> bool:
        return item.judged_unanswerable is not None

    def has_answer(self, item: SearchItem) -> bool:
        return not item.gone_spans

    def speed(self, summary: SummaryReport) -> Mapping[Speed, float | None]:
        return {
            "search_p95": summary.overall.search.get("latency_p95_ms"),
            "cold_start": summary.performance.cold_start_ms,
        }

    def passes(self, summary: SummaryReport) -> SpeedReport | None:
        return summary.performance.passes

    def change(self, before: SearchItem, after: SearchItem) -> model.Change | None:
        """Compare two results of one query.

        Losses decide first: passage, note, verdict. Then gains of passage and verdict, the first rank, and nDCG.
        """
        answers = self.has_answer(before), self.has_answer(after)
        ranks = (before.metrics.get("mrr") or 0.0), (after.metrics.get("mrr") or 0.0)
        # Without both verdicts, they are not comparable.
        is_judged = _have_verdicts(before, after)
        was_right, is_right = (
            not is_judged or item.judged_unanswerable is not item.answerable
            for item in (before, after)
        )
        passage = float(answers[1]) - float(answers[0])
        verdict = float(is_right) - float(was_right)
        missed = -1 - ranks[0] if ranks[0] and not ranks[1] else 0.0  # worse than any other rank
        losses = min(passage, 0.0), missed, min(verdict, 0.0)
        gains = (*losses, passage, verdict, ranks[1] - ranks[0], _ndcg(after) - _ndcg(before))
        first = next((gain for gain in gains if gain), 0.0)
        told = [_VERDICTS[after.answerable][is_right]] if verdict else []
        return model.Change(first, _what(answers, ranks, told)) if first else None


def _verdict_terms(pairs: model.Pairs[SearchItem]) -> model.Terms:
    judged = [
        [(not item.answerable, bool(item.judged_unanswerable)) for item in pair]
        for pair in pairs
        if _have_verdicts(*pair)
    ]
    counts = [verdict_terms([pair[place] for pair in judged]) for place in (0, 1)]
    both = list(zip(*counts, strict=True))
    names = Confusion.of([]).measure()
    return {f"unanswerable.{name}": [(a[name], b[name]) for a, b in both] for name in names}


def _have_verdicts(*items: SearchItem) -> bool:
    return all(item.judged_unanswerable is not None for item in items)


def _ndcg(item: SearchItem) -> float:
    deepest = max(_ndcg_cutoffs(item.metrics), default=None)
    return item.metrics.get(f"ndcg_at_{deepest}") or 0.0


_VERDICTS = (  # by whether the query is answerable, then by whether the verdict is right
    (_("unanswerable, now judged answerable"), _("unanswerable, no longer judged answerable")),
    (_("answerable, now judged unanswerable"), _("answerable, no longer judged unanswerable")),
)


def _what(
    answers: tuple[bool, bool], ranks: tuple[float, float], verdict: Sequence[Message]
) -> Message:
    moved = _("{before} → {after}", before=_rank(ranks[0]), after=_rank(ranks[1]))
    parts = [moved, *verdict] if ranks[0] != ranks[1] else verdict
    if answers[0] != answers[1]:
        gone = _("expected passage is no longer in its note")
        parts = [_("expected passage is in its note again") if answers[1] else gone, *parts]
    return joined(parts or [_("order of the notes changed below rank 1")])


def _rank(reciprocal: float) -> Message:
    if not reciprocal:
        return _("expected note not found")
    return _("rank {rank}", rank=round(1 / reciprocal))
