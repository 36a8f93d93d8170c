"""Measure how well the free judges recognise unanswerable queries: calibrated and threshold.

    .venv/bin/python benchmarks/verdicts.py --xquad DIR      # or make bench-verdicts XQUAD=DIR; without, the examples
    .venv/bin/python benchmarks/verdicts.py --share DIR/usr/share    # GNOME's help, and paraphrases about its programs

Judges are the shipped ones; `best F1` is the best of any threshold on these queries.  Only the halves that chose no
constant are used (see fit_calibrated.py).  Rows that say so ask answerable example queries again without their notes.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import fit_calibrated
import vaults
from calibration import auc

from gigamind.datasets.check import CheckedQuery
from gigamind.judges.unanswerable import (
    CalibratedJudge,
    ThresholdJudge,
    judge_path,
    load_question_judge,
)
from gigamind.metrics.answerability import Confusion, sweep
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.settings import RetrievalSettings, default_cache_folder
from gigamind.retrieval.signals import signals_of
from gigamind.vault.language import KnownLanguage

SIZES = (60, 180, 1_000, 5_000)
HELP: tuple[KnownLanguage, ...] = ("en", "ko")
PAIRS = (("en", "en"), ("de", "de"), ("es", "es"), ("de", "en"))  # asked, noted
Judged = tuple[
    bool, bool, float
]  # is answerable, is judged unanswerable, the score that this hangs on


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xquad", type=Path, help="folder with xquad.en.json, ...")
    parser.add_argument("--share", type=Path, help="folder of packages; see fit_calibrated.py")
    parser.add_argument("--judge", type=Path, default=judge_path("calibrated"))
    parser.add_argument("--mode", choices=("hybrid", "semantic", "keyword"), default="hybrid")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    settings = RetrievalSettings(mode=arguments.mode, cache=default_cache_folder())
    print(
        "| set | notes | n (unanswerable) | judge | AUC | F1 | FAR | false refusals | best F1 |",
        end="",
    )
    print(" ms a query |")
    print("|---|---:|---:|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        sources = (arguments.xquad, arguments.share)
        for collection in _collections(*sources, arguments.sizes, Path(folder)):
            _show(collection, settings, arguments.judge)


def _collections(
    xquad: Path | None, share: Path | None, sizes: Sequence[int], out: Path
) -> Iterator[vaults.Collection]:
    """Yield the collections one after the other, in one folder."""
    yield vaults.example_queries(out, odd_ids=True)
    for language in HELP if share else ():
        for made in (fit_calibrated.help_pages, fit_calibrated.paraphrases):
            yield made(share, out, 0, notes=language, queries=language, odd=True)
    if xquad is None:
        return
    for asked, noted in PAIRS:
        for size in sizes:
            # The odd articles make 90 notes, every second of these 45: documentation is the rest.
            articles = slice(1, None, 4) if size < 90 else slice(1, None, 2)
            yield vaults.xquad(xquad, out, size, notes=noted, queries=asked, articles=articles)


def _show(collection: vaults.Collection, settings: RetrievalSettings, judge_file: Path) -> None:
    """Print the rows of both judges, by language if there are several."""
    threshold = load_question_judge(judge_path("threshold"))
    assert isinstance(threshold, ThresholdJudge)
    with collection.opened(settings) as (vault, queries, retriever):
        leg = retriever.semantic
        judge = CalibratedJudge.load(judge_file, leg.embedder.name if leg else None)
        languages = sorted({query.item.language or "" for query in queries})
        for language in languages:
            own = [query for query in queries if (query.item.language or "") == language]
            name = f"{collection.name}{f', {language}' if len(languages) > 1 else ''}"
            size = len(vault.notes)
            _row(name, size, "threshold", *_by_threshold(retriever, own, threshold))
            _row(name, size, "calibrated", *_by_calibration(retriever, own, judge))
            if len(languages) > 1:
                judged, times = _by_calibration(retriever, own, judge, left_out=True)
                _row(f"{name}, once more without their notes", size, "calibrated", judged, times)


def _by_threshold(
    retriever: Retriever, queries: Sequence[CheckedQuery], judge: ThresholdJudge
) -> tuple[list[Judged], list[float]]:
    judged: list[Judged] = []
    for query in queries:
        verdict = judge.verdict(retriever.search(query.item.query))
        score = verdict.score or 0.0
        judged.append((query.item.answerable, verdict.unanswerable, score))
    return judged, []


def _by_calibration(
    retriever: Retriever,
    queries: Sequence[CheckedQuery],
    judge: CalibratedJudge,
    *,
    left_out: bool = False,
) -> tuple[list[Judged], list[float]]:
    """Return the calibrated verdicts with the milliseconds of the signals after the search.

    Args:
        left_out: the answerable queries alone, each once more without its notes.
    """
    judged: list[Judged] = []
    times: list[float] = []
    searched, recalled = retriever.recording()
    for query in queries:
        if left_out and not query.item.answerable:
            continue
        searched.search(query.item.query)
        start = time.perf_counter()
        verdict = judge.verdict(signals_of(recalled, query.item.query))
        times.append(1000 * (time.perf_counter() - start))
        judged.append((query.item.answerable, verdict.unanswerable, verdict.score))
        if left_out:
            without = signals_of(recalled, query.item.query, without=query.relevant)
            verdict = judge.verdict(without)
            judged.append((False, verdict.unanswerable, verdict.score))
    return judged, times


def _row(
    name: str, size: int, judge: str, judged: Sequence[Judged], times: Sequence[float]
) -> None:
    answerable = [kind for kind, _, _ in judged]
    counts = Confusion.of((not kind, refused) for kind, refused, _ in judged)
    points = sweep([(not kind, score) for kind, _, score in judged])
    figures = (
        auc([score for _, _, score in judged], answerable),
        counts.f1,
        counts.far,
        counts.false_refusals,
        max(point.counts.f1 or 0.0 for point in points),
    )
    shown = " | ".join("-" if figure is None else f"{figure:.3f}" for figure in figures)
    took = f"{statistics.median(times):.2f}" if times else "-"
    unanswerable = len(judged) - sum(answerable)
    print(
        f"| {name} | {size} | {len(judged)} ({unanswerable}) | {judge} | {shown} | {took} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
