"""Recommends search settings of `tune_grid`, evaluated beside the current ones: in sentences, a page and a command."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gigamind.evaluation.finish import HTML_FILE, Evaluated
from gigamind.evaluation.options import eval_command
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.i18n import _, translator
from gigamind.records.folder import as_json, check_out_folder
from gigamind.release.compare import compare_with_first
from gigamind.release.comparison import Comparison
from gigamind.release.snapshot import read_run
from gigamind.reports.document import Document
from gigamind.reports.experiment import experiment_document
from gigamind.reports.html import render_html
from gigamind.reports.tune import tuning_document
from gigamind.reports.tuning import Tuning, WorseMetric
from gigamind.retrieval.prepare import open_retriever
from gigamind.tasks.search.compare import SearchComparison
from gigamind.tasks.search.grid_options import GridOptions
from gigamind.tasks.search.judge_advice import NO_FREE_JUDGE, usable
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.prepare import prepare
from gigamind.tasks.search.schema import JudgeRates, SummaryReport
from gigamind.tasks.search.tune_grid import (
    config_lines,
    eval_values,
    tune_grid,
    with_setting,
)

CURRENT_FOLDER, BEST_FOLDER = "as-is", "best"
PAGE_FILE, JSON_FILE = "tune.html", "tune.json"
_DECIMALS = 10_000  # of thresholds
Evaluate = Callable[[SearchEvalOptions], Evaluated[SummaryReport]]


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of tuning."""

    tuning: Tuning
    document: Document  # what tune.html shows, without its links
    current: Evaluated[SummaryReport]  # the run with the current settings
    # The run with the recommended settings; None if the current ones are kept.
    best: Evaluated[SummaryReport] | None
    page: Path  # path of tune.html


def tune(
    options: SearchEvalOptions,
    grid: GridOptions,
    out: Path,
    evaluate: Evaluate,
    progress: Progress | None = None,
) -> Tuned:
    """Choose from the grid around the options, and write the result to `out`; InputError as in `tune_grid`."""
    check_out_folder(out)
    tuning = tune_grid(options, grid, progress)
    chosen = with_setting(options, tuning.settings[tuning.chosen].setting)
    current = evaluate(options.model_copy(update={"out": out / CURRENT_FOLDER}))
    judge = next((rates for rates in current.summary.judges if rates.chosen), None)
    best, comparison = None, None
    if tuning.is_switch:
        min_score = matching_min_score(chosen, judge, progress)
        if min_score is not None:
            chosen = chosen.model_copy(update={"min_score": min_score})
        best = evaluate(chosen.model_copy(update={"out": out / BEST_FOLDER}))
        comparison = _compared(options, current, best, out / HTML_FILE)
        tuning = tuning.model_copy(update={"min_score": min_score, "worse": _worse(comparison)})
    known = [r for r in (best or current).summary.judges if r.both_rates is not None]
    fit = usable(known, (best or current).summary.forecast)
    advised = _recommended(fit, judge)
    values = eval_values(chosen, advised)
    tuning = tuning.model_copy(update={"command": eval_command("search", values)})
    is_made = advised is None or advised.chosen  # else the run with that judge comes first
    say = translator(options.language)
    document = partial(
        tuning_document,
        tuning,
        comparison=comparison,
        warnings=(NO_FREE_JUDGE,) if known and not fit else (),
        lines=config_lines(values),
        run=str((best or current).out) if is_made else "eval/out",  # the latest run there
    )
    page = document(report=HTML_FILE if best else "", current=f"{CURRENT_FOLDER}/{HTML_FILE}")
    _write(out / PAGE_FILE, render_html(page, say))
    _write(out / JSON_FILE, as_json(tuning, indent=2) + "\n")
    return Tuned(tuning, document(), current, best, out / PAGE_FILE)


def _compared(
    options: SearchEvalOptions,
    current: Evaluated[SummaryReport],
    best: Evaluated[SummaryReport],
    page: Path,
) -> Comparison:
    """Compare both runs, write the page of the comparison, and return it."""
    task, say = SearchComparison(), translator(options.language)
    places = (current.out, best.out)
    runs = [task.take_snapshot(read_run(place, {options.task: task})) for place in places]
    labels = (say(_("current setting")), say(_("recommended setting")))
    experiment = compare_with_first(labels, runs, seed=options.seed)
    document = experiment_document(experiment, runs, say, paths=places, items="#list")
    _write(page, render_html(document, say))
    return experiment.comparisons[0]


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _worse(comparison: Comparison) -> tuple[WorseMetric, ...]:
    worse = sorted(
        (change for change in comparison.metrics if change.is_better is False),
        key=lambda change: -(change.drop or 0.0),
    )
    return tuple(map(WorseMetric.like, worse))


def _recommended(fit: Sequence[JudgeRates], current: JudgeRates | None) -> JudgeRates | None:
    """Return the best of the usable judges with no more errors of either kind than today; None if there is none."""
    candidates = [
        rates
        for rates in fit
        if current is None
        or rates.chosen
        or (rates.refused <= current.refused and rates.missed <= current.missed)
    ]
    return min(candidates, key=lambda rates: rates.both_rates or 0.0, default=None)


def matching_min_score(
    chosen: SearchEvalOptions, current: JudgeRates | None, progress: Progress | None = None
) -> float | None:
    """Return the highest threshold (four decimals) that refuses no more answerable queries than today.

    None if the current one fits or another judge decides. Another fusion has another score scale: with the weighted
    threshold, balanced fusion refused 101 of 158 answerable queries of the example vault; weighted fusion none.
    """
    if current is None or chosen.unanswerable_mode != "threshold":
        return None
    answerable, unanswerable = _top_scores(chosen, progress or Quiet())
    refused = sum(score < current.setting for score in answerable)
    missed = sum(score >= current.setting for score in unanswerable)
    if refused <= current.refused and missed <= current.missed:
        return None
    if current.refused >= len(answerable):
        return None
    least = sorted(answerable)[current.refused]
    return max(0.0, math.floor(least * _DECIMALS) / _DECIMALS) if least > -math.inf else 0.0


def _top_scores(options: SearchEvalOptions, progress: Progress) -> tuple[list[float], list[float]]:
    """Return the Top-1 base scores of answerable and of unanswerable queries; -inf if nothing was found."""
    prepared = prepare(options)
    scores: dict[bool, list[float]] = {True: [], False: []}
    with open_retriever(
        prepared.vault,
        prepared.identities,
        options.retrieval,
        lambda done, total: progress.stage("Indexing", done, total),
    ) as retriever:
        for done, query in enumerate(prepared.queries, 1):
            hits = retriever.search(query.item.query)
            scores[query.item.answerable].append(hits[0].base_score if hits else -math.inf)
            progress.stage("Queries", done, len(prepared.queries))
    return scores[True], scores[False]
