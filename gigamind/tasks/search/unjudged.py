"""Unjudged hits: how many there are, and which ones to label first."""

from collections.abc import Sequence

from gigamind.metrics.ranking import ndcg_changes
from gigamind.metrics.ranking_table import RankedQuery
from gigamind.records.folder import as_json
from gigamind.tasks.search.schema import ItemReport, SummaryReport, UnjudgedHit, UnjudgedReport

FILE = "unjudged.jsonl"
_SHOWN = 10
_LISTED = 1000  # more than anyone labels at a time


def measure_unjudged(items: Sequence[ItemReport], k: int) -> UnjudgedReport | None:
    """Return the block of summary.json; None if no answerable item has judgements."""
    judged = _judged(items)
    if not judged:
        return None
    unjudged = _unjudged_hits(judged, k)
    hits = sum(len(item.ranking[:k]) for item in judged)
    return UnjudgedReport(k=k, hits=hits, unjudged=len(unjudged), worst=tuple(unjudged[:_SHOWN]))


def unjudged_files(summary: SummaryReport, items: Sequence[ItemReport]) -> dict[str, str]:
    """Return unjudged.jsonl, if there is something to label."""
    report = summary.holes
    if report is None or not report.unjudged:
        return {}
    rows = _unjudged_hits(_judged(items), report.k)[:_LISTED]
    return {FILE: "".join(as_json(row) + "\n" for row in rows)}


def _unjudged_hits(judged: Sequence[ItemReport], k: int) -> list[UnjudgedHit]:
    """Return all unjudged hits by their possible change of nDCG@k, largest first; ties in dataset order."""
    queries = [
        RankedQuery([hit.note for hit in item.ranking], item.gains, is_judged=True)
        for item in judged
    ]
    rows = [
        UnjudgedHit(
            id=item.id,
            query=item.query,
            note=hit.note,
            rank=rank,
            ndcg_change=changes[hit.note],
            text=hit.evidence.text if hit.evidence else hit.text,
        )
        for item, changes in zip(judged, ndcg_changes(queries, k), strict=True)
        for rank, hit in enumerate(item.ranking[:k], start=1)
        if hit.note in changes
    ]
    return sorted(rows, key=lambda row: -abs(row.ndcg_change))


def _judged(items: Sequence[ItemReport]) -> list[ItemReport]:
    return [item for item in items if item.answerable and item.gains]
