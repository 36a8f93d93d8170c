"""What a comparison must know of a search evaluation: its items are queries."""

from collections.abc import Mapping, Sequence

from gigamind.metrics.answerability import confusion
from gigamind.reports.release.model import EvalSnapshot, Finite, SnapshotHit, SnapshotItem
from gigamind.reports.release.task import (
    Change,
    ComparedTask,
    Shown,
    Speed,
    Terms,
    Values,
)
from gigamind.reports.schema import ItemReport, RunReport, SummaryReport


class SearchItem(SnapshotItem):
    """One query.

    Attributes:
        metrics: as in per_item.jsonl.
    """

    query: str
    answerable: bool
    judged_unanswerable: bool | None
    expected_notes: tuple[str, ...]
    ranking: tuple[SnapshotHit, ...]
    metrics: dict[str, Finite | None]


SearchSnapshot = EvalSnapshot[SummaryReport, SearchItem]
Pair = tuple[SearchItem, SearchItem]


class SearchTask(ComparedTask[SummaryReport, ItemReport, SearchItem]):
    """See the module."""

    name = "search"
    unit = "query"
    units = "queries"
    subject = "questions"
    maker = "the search"
    blocks = ("search", "unanswerable")
    settings = ("mode", "alpha", "topk", "graph_rerank")
    setting = "retrieval"
    summary = SummaryReport
    line = ItemReport
    snapshot = SearchSnapshot

    def judge_fingerprint(self, run: RunReport) -> str:
        return run.judge.fingerprint if run.judge else ""

    def item(self, line: ItemReport) -> SearchItem:
        return SearchItem(
            id=line.id,
            query=line.query,
            answerable=line.answerable,
            judged_unanswerable=line.judged_unanswerable,
            expected_notes=line.expected_notes,
            ranking=tuple(
                SnapshotHit(note=hit.note, base_score=hit.base_score, final_score=hit.final_score)
                for hit in line.ranking
            ),
            metrics=line.metrics,
        )

    def shown(self, item: SearchItem) -> Shown:
        return Shown(item.query, item.expected_notes, item.ranking)

    def values(self, pairs: Sequence[Pair]) -> Values:
        """Ranking first.  FAR and recall of the verdicts are means over unanswerable items; see `terms`."""
        found: Values = {}
        for name in sorted({name for pair in pairs for item in pair for name in item.metrics}):
            both = ((a.metrics.get(name), b.metrics.get(name)) for a, b in pairs)
            found[f"search.{name}"] = [(a, b) for a, b in both if a is not None and b is not None]
        missed = [
            (not a.judged_unanswerable, not b.judged_unanswerable)
            for a, b in _judged(pairs)
            if not b.answerable
        ]
        found["unanswerable.recall"] = [(float(not a), float(not b)) for a, b in missed]
        found["unanswerable.far"] = [(float(a), float(b)) for a, b in missed]
        return found

    def terms(self, pairs: Sequence[Pair]) -> Terms:
        """Precision and F1 of the verdicts: what each item adds to their counts."""
        counts = [tuple(confusion([_truth_and_verdict(one)]) for one in p) for p in _judged(pairs)]
        return {
            "unanswerable.precision": [
                ((a.tp, a.tp + a.fp), (b.tp, b.tp + b.fp)) for a, b in counts
            ],
            "unanswerable.f1": [
                ((2 * a.tp, 2 * a.tp + a.fp + a.fn), (2 * b.tp, 2 * b.tp + b.fp + b.fn))
                for a, b in counts
            ],
        }

    def has_verdict(self, item: SearchItem) -> bool:
        return item.judged_unanswerable is not None

    def speed(self, summary: SummaryReport) -> Mapping[Speed, float | None]:
        return {
            "search_p95": summary.overall.search.get("latency_p95_ms"),
            "cold_start": summary.performance.cold_start_ms,
        }

    def change(self, before: SearchItem, after: SearchItem) -> Change | None:
        """The rank of the first right note decides, then the verdict, then nDCG over the whole ranking."""
        ranks = (before.metrics.get("mrr") or 0.0), (after.metrics.get("mrr") or 0.0)
        rights = _verdicts_right(before, after)
        gains = (
            ranks[1] - ranks[0],
            float(rights[1]) - float(rights[0]),
            _ndcg(after) - _ndcg(before),
        )
        first = next((gain for gain in gains if gain), 0.0)
        return Change(first, _what(ranks, rights)) if first else None


def _truth_and_verdict(item: SearchItem) -> tuple[bool, bool]:
    return not item.answerable, bool(item.judged_unanswerable)


def _judged(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with a verdict on both sides."""
    return [pair for pair in pairs if all(item.judged_unanswerable is not None for item in pair)]


def _verdicts_right(before: SearchItem, after: SearchItem) -> tuple[bool, bool]:
    """Whether each verdict is right; alike where one of them is missing, for then nothing can be said."""
    if not _judged([(before, after)]):
        return True, True
    return (
        before.judged_unanswerable is (not before.answerable),
        after.judged_unanswerable is (not after.answerable),
    )


def _ndcg(item: SearchItem) -> float:
    cutoffs = [name for name in item.metrics if name.startswith("ndcg_at_")]
    deepest = max(cutoffs, key=lambda name: int(name.removeprefix("ndcg_at_")), default=None)
    return (item.metrics.get(deepest) if deepest else None) or 0.0


def _what(ranks: tuple[float, float], rights: tuple[bool, bool]) -> str:
    parts: list[str] = []
    if ranks[0] != ranks[1]:
        parts.append(f"{_rank(ranks[0])} -> {_rank(ranks[1])}")
    if rights[0] != rights[1]:
        parts.append("verdict now right" if rights[1] else "verdict now wrong")
    return ", ".join(parts) or "the order of the notes behind the first changed"


def _rank(reciprocal: float) -> str:
    return f"rank {round(1 / reciprocal)}" if reciprocal else "not found"
