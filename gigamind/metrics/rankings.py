"""Measure rankings by every ranking metric, and by how far they were judged."""

from collections.abc import Iterator, Sequence

import numpy as np

from gigamind.metrics import ranking, ranking_holes
from gigamind.metrics.ranking_table import Floats, RankedQuery, RankingTable, tables
from gigamind.metrics.spec import measured

METRICS = (*ranking.METRICS, *ranking_holes.METRICS)
CUTOFFS = (1, 3, 5, 10)  # ranks in reports, in addition to the run's topk


def measure_rankings(queries: Sequence[RankedQuery], topk: int) -> list[dict[str, float | None]]:
    """Return every metric of rankings of each query, by its name in the reports.

    Cut-offs above `topk` are left out, and so are metrics of groups and judgements for queries without them.
    """
    cutoffs = sorted({k for k in CUTOFFS if k <= topk} | {topk})
    rows: list[dict[str, float | None]] = []
    for _, table in tables(queries):
        columns = dict(_columns(table, cutoffs))
        names, values = tuple(columns), np.column_stack(list(columns.values()))
        whole = not np.isnan(values).any()
        for row in values.tolist():
            figures = zip(names, row, strict=True)
            rows.append(dict(figures) if whole else {n: v for n, v in figures if v == v})  # noqa: PLR0124  not NaN
    return _with_own(rows, queries, cutoffs)


def _columns(table: RankingTable, cutoffs: Sequence[int]) -> Iterator[tuple[str, Floats]]:
    for metric, of in measured(METRICS, "rankings"):
        if metric.has_cutoff:
            yield from ((metric.at(k), of(table, k)) for k in cutoffs)
        else:
            yield metric.name, of(table)


def _with_own(
    rows: list[dict[str, float | None]], queries: Sequence[RankedQuery], cutoffs: Sequence[int]
) -> list[dict[str, float | None]]:
    """Return the rows with third-party metrics, which take a ranking and its qrels."""
    for metric, of in measured((), "ranking"):
        for row, query in zip(rows, queries, strict=True):
            if metric.has_cutoff:
                row |= {metric.at(k): of(query.ranking, query.qrels, k) for k in cutoffs}
            else:
                row[metric.name] = of(query.ranking, query.qrels)
    return rows
