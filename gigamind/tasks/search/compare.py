"""Comparison of search evaluations. Items are queries."""

from collections.abc import Mapping

from pydantic import Field

from gigamind.i18n import Message, _, joined
from gigamind.metrics.answerability import confusion, measure_verdicts, verdict_terms
from gigamind.metrics.table import is_mean
from gigamind.records.judged import Finite
from gigamind.records.schema import RunReport, SpeedReport
from gigamind.release import model
from gigamind.tasks.search.schema import ItemReport, SummaryReport, ndcg_cutoffs


class SearchItem(model.SnapshotItem):
    """One query.

    Attributes:
        metrics, gone_spans: As in per_item.jsonl.
    """

    query: str
    answerable: bool
    judged_unanswerable: bool | None
    expected_notes: tuple[str, ...]
    ranking: tuple[model.SnapshotHit, ...]
    metrics: dict[str, Finite | None]
    gone_spans: int = Field(default=0, exclude_if=lambda count: not count)


SearchSnapshot = model.EvalSnapshot[SummaryReport, SearchItem]


class SearchComparison(model.ComparedTask[SummaryReport, ItemReport, SearchItem]):
    """Compares the search evaluations of two runs."""

    settings = (
        *("mode", "fusion", "alpha", "title_weight", "chunk_chars", "graph_rerank", "rerank"),
        *("topk", "evidence_notes"),
        *("context_notes", "context_chars"),
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

    def speed(self, summary: SummaryReport) -> Mapping[model.Speed, float | None]:
        return {
            "search_p95": summary.overall.search.get("latency_p95_ms"),
            "cold_start": summary.performance.cold_start_ms,
        }

    def passes(self, summary: SummaryReport) -> SpeedReport | None:
        return summary.performance.passes

    def models(self, summary: SummaryReport) -> Mapping[str, tuple[str, ...]]:
        return summary.llm.models if summary.llm else {}

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
        rights = was_right, is_right
        passage, verdict = (float(is_ok[1]) - float(is_ok[0]) for is_ok in (answers, rights))
        missed = -1 - ranks[0] if ranks[0] and not ranks[1] else 0.0  # worse than any other rank
        losses = min(passage, 0.0), missed, min(verdict, 0.0)
        gains = (*losses, passage, verdict, ranks[1] - ranks[0], _ndcg(after) - _ndcg(before))
        first = next((gain for gain in gains if gain), 0.0)
        return model.Change(first, _what(answers, ranks, rights)) if first else None


def _verdict_terms(pairs: model.Pairs[SearchItem]) -> model.Terms:
    judged = [
        [(not item.answerable, bool(item.judged_unanswerable)) for item in pair]
        for pair in pairs
        if _have_verdicts(*pair)
    ]
    counts = [verdict_terms([pair[place] for pair in judged]) for place in (0, 1)]
    return {
        f"unanswerable.{name}": [
            (before[name], after[name]) for before, after in zip(*counts, strict=True)
        ]
        for name in measure_verdicts(confusion([]))
    }


def _have_verdicts(*items: SearchItem) -> bool:
    return all(item.judged_unanswerable is not None for item in items)


def _ndcg(item: SearchItem) -> float:
    deepest = max(ndcg_cutoffs(item.metrics), default=None)
    return item.metrics.get(f"ndcg_at_{deepest}") or 0.0


def _what(
    answers: tuple[bool, bool], ranks: tuple[float, float], rights: tuple[bool, bool]
) -> Message:
    parts: list[Message] = []
    if ranks[0] != ranks[1]:
        parts.append(_("{before} -> {after}", before=_rank(ranks[0]), after=_rank(ranks[1])))
    if rights[0] != rights[1]:
        parts.append(
            _("verdict: wrong -> correct") if rights[1] else _("verdict: correct -> wrong")
        )
    rest = joined(parts, ", ") if parts else _("order of the notes changed below rank 1")
    if answers[0] == answers[1]:
        return rest
    passage = (
        _("expected passage is in its note again")
        if answers[1]
        else _("expected passage is no longer in its note")
    )
    return joined([passage, rest]) if parts else passage


def _rank(reciprocal: float) -> Message:
    return (
        _("rank {rank}", rank=round(1 / reciprocal)) if reciprocal else _("expected note not found")
    )
