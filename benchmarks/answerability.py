"""How well the free judges tell unanswerable queries, side by side: thresholds of one score, and the calibrated judge.

    .venv/bin/python benchmarks/answerability.py --dataset examples/queries.jsonl --notes examples/vault

`--dataset` and `--notes` may be repeated, in pairs.  A threshold gets the best F1 that any could have on these very
queries; the calibrated judge is taken as its file has it, and `best` is its own best, for comparison.  With
`--leave-out`, unanswerable queries are the answerable ones asked without the notes that answer them.  The judge file
was fitted on some collections (its `fitted_on`): figures on those say nothing.
"""

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from gigamind.assets import asset
from gigamind.datasets.check import CheckedQuery, check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.judges.calibrated import (
    CalibratedJudge,
    judge_by_calibration,
    load_calibrated_judge,
    probability_of,
)
from gigamind.metrics.answerability import confusion, sweep
from gigamind.metrics.calibration import auc
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever, recording
from gigamind.retrieval.settings import RetrievalSettings, default_cache_folder
from gigamind.retrieval.signals import Signals, signals_of
from gigamind.stats.agreement import expected_calibration_error, reliability_bins
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault

MODES = ("hybrid", "semantic", "keyword")
Item = tuple[bool, float | None, Signals]  # is answerable, base score of the Top-1, signals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, action="append", required=True)
    parser.add_argument("--notes", type=Path, action="append", required=True)
    shipped = asset("judges") / "unanswerable_calibrated.toml"
    parser.add_argument("--judge", type=Path, default=shipped)
    parser.add_argument("--language", help="only queries of this language")
    parser.add_argument("--leave-out", action="store_true")
    arguments = parser.parse_args()
    print("| collection | mode | N | unanswerable | threshold AUC | best F1 |", end="")
    print(" calibrated AUC | F1 | FAR | best F1 | ECE | signals, ms |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for dataset, notes in zip(arguments.dataset, arguments.notes, strict=True):
        for mode in MODES:
            compare(dataset, notes, mode, arguments)


def compare(dataset: Path, notes: Path, mode: str, arguments: argparse.Namespace) -> None:
    vault = read_vault(notes)
    identities = Identities(vault.notes)
    queries = [
        query
        for query in check_queries(read_queries(dataset), vault, identities).queries
        if arguments.language in {None, query.item.language}
    ]
    settings = RetrievalSettings(mode=mode, cache=default_cache_folder())
    with open_retriever(vault, identities, settings, lambda _done, _all: None) as retriever:
        leg = retriever.semantic
        judge = load_calibrated_judge(arguments.judge, leg.embedder.name if leg else None)
        items, extra_ms = look(retriever, queries, leave_out=arguments.leave_out)
    print(f"| {dataset.parent.name}/{dataset.name} | {mode} {row(items, judge)} {extra_ms:.2f} |")


def look(
    retriever: Retriever, queries: Sequence[CheckedQuery], *, leave_out: bool
) -> tuple[list[Item], float]:
    """Every query, and the median milliseconds that signals take after the search."""
    items: list[Item] = []
    times: list[float] = []
    searched, recalled = recording(retriever)
    for query in queries:
        if leave_out and not query.item.answerable:
            continue
        text = query.item.query
        hits = searched.search(text)
        start = time.perf_counter()
        signals = signals_of(recalled, text)
        times.append(1000 * (time.perf_counter() - start))
        # Without a note all scores relative to the best are others: no base score is comparable.
        top = hits[0].base_score if hits and not leave_out else None
        items.append((query.item.answerable, top, signals))
        if leave_out:
            items.append((False, None, signals_of(recalled, text, without=query.qrels)))
    return items, statistics.median(times)


def row(items: Sequence[Item], judge: CalibratedJudge) -> str:
    answerable = [kind for kind, _, _ in items]
    tops = [top or 0.0 for _, top, _ in items]
    compared = any(tops)
    chances = [
        probability_of(signals, judge.calibration) if signals.found else 0.0
        for _, _, signals in items
    ]
    verdicts = [judge_by_calibration(signals, judge) for _, _, signals in items]
    counts = confusion(
        (not kind, verdict.unanswerable) for kind, verdict in zip(answerable, verdicts, strict=True)
    )
    figures = [
        auc(tops, answerable) if compared else None,
        best(answerable, tops) if compared else None,
        auc(chances, answerable),
        counts.f1,
        counts.far,
        best(answerable, chances),
        expected_calibration_error(
            reliability_bins(np.asarray(chances, float), np.asarray(answerable, bool))
        ),
    ]
    shown = " | ".join("-" if figure is None else f"{figure:.3f}" for figure in figures)
    return f"| {len(items)} | {len(items) - sum(answerable)} | {shown} |"


def best(answerable: Sequence[bool], scores: Sequence[float]) -> float:
    """The highest F1 of any threshold."""
    points = sweep([(not kind, score) for kind, score in zip(answerable, scores, strict=True)])
    return max(point.counts.f1 or 0.0 for point in points)


if __name__ == "__main__":
    main()
