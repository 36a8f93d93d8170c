"""Measures a grid of search settings, and recommends one beside the current one: a page and a command."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gigamind.datasets.check import CheckedQuery
from gigamind.errors import InputError
from gigamind.evaluation.finish import HTML_FILE, Evaluated
from gigamind.evaluation.options import eval_command, given_options
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.i18n import _, translator
from gigamind.metrics.ranking import RankedQuery, measure_rankings
from gigamind.metrics.table import use_of
from gigamind.records.folder import as_json, check_out_folder, write_page
from gigamind.release.compare import compare_with_first
from gigamind.release.comparison import Comparison
from gigamind.release.model import read_run
from gigamind.reports.document import Document
from gigamind.reports.experiment import experiment_document
from gigamind.reports.html import render_html
from gigamind.reports.tune import SearchSetting, TunedSetting, Tuning, WorseMetric, tuning_document
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.stats.intervals import Matrix
from gigamind.stats.selection import Selection
from gigamind.tasks.options import GridOptions, SearchEvalOptions
from gigamind.tasks.search.free_judges import NO_FREE_JUDGE, KnownErrors
from gigamind.tasks.search.prepare import Prepared, prepare
from gigamind.tasks.search.schema import JudgeRates, SearchComparison, SummaryReport
from gigamind.version import __version__

_DEEPEST = 10  # largest cut-off of the default metric
_Figures = dict[str, float | None]


def tune_grid(
    options: SearchEvalOptions, grid: GridOptions, progress: Progress | None = None
) -> Tuning:
    """Select a setting from the grid around the options.

    Raises:
        InputError: The grid has only the current setting, or the dataset is too small.
        NotesError, IndexingError, EmbeddingError: As an evaluation raises them.
    """
    _refuse_foreign(options)
    metric = _objective(grid.metric, options.topk)
    settings = grid.around(options.retrieval)
    if len(settings) == 1:
        problem = _(
            "The grid contains only the current setting. Give an option more values, such as --alphas 0.3,0.5,0.7."
        )
        raise InputError(problem)
    prepared = prepare(options)
    queries = [query for query in prepared.queries if query.item.answerable]
    _refuse_few(len(queries), metric, options.dataset)
    by_setting = rank_grid(prepared, queries, settings, progress or Quiet())
    figures = [_figures(rankings, queries, options.topk) for rankings in by_setting]
    table = [[own.get(metric) for own in rows] for rows in figures]
    values: Matrix = np.array(table, np.float64).T
    used: npt.NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(values), axis=1)
    values = values[used]
    _refuse_few(len(values), metric, options.dataset)
    if values.min() < 0 or values.max() > 1:
        raise InputError(
            "--metric {metric}: this metric has values outside 0 to 1, so gigamind cannot select settings by"
            " it. Use another metric.",
            metric=metric,
        )
    selection = Selection.of(values, seed=options.seed, label=f"tune\0{metric}")
    gain, interval = selection.corrected(selection.chosen or selection.best)
    current = [SearchSetting.model_validate(own, from_attributes=True) for own in settings]
    chosen = options.model_copy(update=current[selection.chosen].model_dump())
    return Tuning.like(
        selection,
        app_version=__version__,
        dataset=str(options.dataset),
        notes=str(options.notes),
        metric=f"search.{metric}",
        queries=len(values),
        left_out=len(queries) - len(values),
        seed=options.seed,
        folds=Selection.FOLDS,
        partitions=Selection.PARTITIONS,
        level=Selection.LEVEL,
        settings=tuple(
            _setting(setting, place, _means(figures[place], used), selection)
            for place, setting in enumerate(current)
        ),
        gain=gain,
        low=interval.low,
        high=interval.high,
        command=eval_command("search", _eval_values(chosen, None)),
    )


def _refuse_foreign(options: SearchEvalOptions) -> None:
    if not options.is_builtin:
        problem = _(
            "--system: only gigamind's own search can be tuned. Remove it, or compare runs of other systems with"
            " gigamind compare."
        )
        raise InputError(problem)
    if options.unanswerable_mode == "llm" or options.compare or options.dry_run:
        problem = _(
            "--unanswerable-mode llm, --compare and --dry-run: not available for tuning. Use gigamind eval search."
        )
        raise InputError(problem)


def _refuse_few(queries: int, metric: str, file: Path) -> None:
    if queries < Selection.MIN_ITEMS:
        raise InputError(
            "{file}: {count} answerable queries can be measured by {metric}. Tuning needs at least {least} such"
            " queries, and about 100 to detect a gain of 0.1.",
            file=file,
            count=queries,
            metric=metric,
            least=Selection.MIN_ITEMS,
        )


def _objective(name: str | None, topk: int) -> str:
    """Return the name of the metric to optimise, without its prefix."""
    toy = RankedQuery(["note"], {"note": 1}, all_of=[["note"]])
    (known,) = measure_rankings([toy], topk)
    fit = [figure for figure in known if not use_of(f"search.{figure}").lower]
    metric = (name or f"ndcg_at_{min(_DEEPEST, topk)}").removeprefix("search.")
    if metric not in fit:
        raise InputError(
            "--metric {metric}: not measured with --topk {topk}. Use one of {metrics}.",
            metric=name,
            topk=topk,
            metrics=fit,
        )
    return metric


def rank_grid(
    prepared: Prepared,
    queries: Sequence[CheckedQuery],
    settings: Sequence[RetrievalSettings],
    progress: Progress,
) -> list[list[Sequence[str]]]:
    """Return each setting's ranking for each query, best note first. Chunks and vectors are scored once."""
    by_setting: dict[RetrievalSettings, list[Sequence[str]]] = {setting: [] for setting in settings}
    by_index: dict[tuple[str, int, str | None], list[RetrievalSettings]] = {}
    for setting in settings:
        index = setting.embedder, setting.chunk_chars, setting.rerank
        by_index.setdefault(index, []).append(setting)
    for own in by_index.values():
        mode = "keyword" if all(setting.mode == "keyword" for setting in own) else "hybrid"
        shared, stage = replace(own[0], mode=mode), partial(progress.stage, "Indexing")
        with open_retriever(prepared.vault, prepared.identities, shared, stage) as retriever:
            for done, query in enumerate(queries, 1):
                ranked = retriever.rankings(query.item.query, own)
                for setting, ranking in zip(own, ranked, strict=True):
                    by_setting[setting].append(ranking)
                progress.stage("Queries", done, len(queries))
    return list(by_setting.values())


def _figures(
    rankings: Sequence[Sequence[str]], queries: Sequence[CheckedQuery], topk: int
) -> list[_Figures]:
    ranked = [
        RankedQuery(ranking, query.qrels, query.is_judged, *query.groups)
        for ranking, query in zip(rankings, queries, strict=True)
    ]
    return measure_rankings(ranked, topk)


def _setting(
    setting: SearchSetting, place: int, figures: dict[str, float], selection: Selection
) -> TunedSetting:
    out_of_fold = float(selection.fold_gains[place])
    return TunedSetting(
        setting=setting,
        figures=figures,
        gain=float(selection.gains[place]),
        low=float(selection.lows[place]),
        high=float(selection.highs[place]),
        p_value=float(selection.p_values[place]),
        picked=float(selection.picked[place]),
        out_of_fold=None if np.isnan(out_of_fold) else out_of_fold,
    )


def _means(figures: Sequence[_Figures], used: npt.NDArray[np.bool_]) -> dict[str, float]:
    rows = list(compress(figures, used))
    names = [name for name in rows[0] if all(row.get(name) is not None for row in rows)]
    table: Matrix = np.array([[row[name] for name in names] for row in rows], np.float64)
    means = table.mean(axis=0).tolist()
    return {f"search.{name}": mean for name, mean in zip(names, means, strict=True)}


def _eval_values(options: SearchEvalOptions, judge: JudgeRates | None) -> dict[str, object]:
    """Return the options that differ from the defaults, by flag, with another judge if one is given."""
    hybrid = ("fusion", *(("alpha",) if options.fusion == "weighted" else ()))
    always = ("mode", *(hybrid if options.mode == "hybrid" else ()))
    changes: dict[str, object] = {}
    if judge is not None and not judge.chosen:
        changes = {"min_score": None, "judge": None, "unanswerable_mode": judge.kind}
    return given_options(SearchEvalOptions, options.for_report(), always, **changes)


CURRENT_FOLDER, BEST_FOLDER, _ADVISED_FOLDER = "as-is", "best", "advised"
PAGE_FILE, JSON_FILE = "tune.html", "tune.json"
_DECIMALS = 10_000  # of thresholds
_Evaluate = Callable[[SearchEvalOptions], Evaluated[SummaryReport]]


@dataclass(frozen=True, slots=True)
class _Tuned:
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
    evaluate: _Evaluate,
    progress: Progress | None = None,
) -> _Tuned:
    """Choose from the grid around the options, and write the result to `out`; InputError as in `tune_grid`."""
    check_out_folder(out)
    tuning = tune_grid(options, grid, progress)
    setting = tuning.settings[tuning.chosen].setting
    chosen = options.model_copy(update=setting.model_dump())
    current = evaluate(options.model_copy(update={"out": out / CURRENT_FOLDER}))
    judge = next((rates for rates in current.summary.judges if rates.chosen), None)
    best, comparison = None, None
    if tuning.is_switch:
        min_score = _matching_min_score(chosen, judge, progress)
        if min_score is not None:
            chosen = chosen.model_copy(update={"min_score": min_score})
        best = evaluate(chosen.model_copy(update={"out": out / BEST_FOLDER}))
        comparison = _compared(options, current, best, out / HTML_FILE)
        losses = [change for change in comparison.metrics if change.is_better is False]
        losses.sort(key=lambda change: -(change.drop or 0.0))
        worse = tuple(map(WorseMetric.like, losses))
        tuning = tuning.model_copy(update={"min_score": min_score, "worse": worse})
    known = [r for r in (best or current).summary.judges if r.both_rates is not None]
    fit = KnownErrors(known, (best or current).summary.forecast).usable
    advised = _recommended(fit, judge)
    values, run = _eval_values(chosen, advised), (best or current).out
    # Lines of gigamind.toml; TOML writes these values as JSON does.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    if advised and not advised.chosen:  # no run has this judge yet: the command makes one
        run = out / _ADVISED_FOLDER
        values["out"] = str(run)
    tuning = tuning.model_copy(update={"command": eval_command("search", values)})
    say = translator(options.language)
    document = partial(
        tuning_document,
        tuning,
        comparison=comparison,
        warnings=(NO_FREE_JUDGE,) if known and not fit else (),
        lines="\n".join(("[search]", *lines)),
        run=str(run),
    )
    page = document(report=HTML_FILE if best else "", current=f"{CURRENT_FOLDER}/{HTML_FILE}")
    write_page(out / PAGE_FILE, render_html(page, say))
    write_page(out / JSON_FILE, as_json(tuning, indent=2) + "\n")
    return _Tuned(tuning, document(), current, best, out / PAGE_FILE)


def _compared(
    options: SearchEvalOptions,
    current: Evaluated[SummaryReport],
    best: Evaluated[SummaryReport],
    page: Path,
) -> Comparison:
    task, say = SearchComparison(), translator(options.language)
    places = (current.out, best.out)
    runs = [task.take_snapshot(read_run(place, {options.task: task})) for place in places]
    labels = (say(_("current setting")), say(_("recommended setting")))
    experiment = compare_with_first(labels, runs, seed=options.seed)
    document = experiment_document(experiment, runs, say, paths=places, items="#list")
    write_page(page, render_html(document, say))
    return experiment.comparisons[0]


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


def _matching_min_score(
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
    fits = refused <= current.refused and missed <= current.missed
    if fits or current.refused >= len(answerable):
        return None
    least = sorted(answerable)[current.refused]
    return max(0.0, math.floor(least * _DECIMALS) / _DECIMALS) if least > -math.inf else 0.0


def _top_scores(options: SearchEvalOptions, progress: Progress) -> tuple[list[float], list[float]]:
    """Return the Top-1 base scores of answerable and of unanswerable queries; -inf if nothing was found."""
    prepared = prepare(options)
    scores: dict[bool, list[float]] = {True: [], False: []}
    with open_retriever(
        prepared.vault, prepared.identities, options.retrieval, partial(progress.stage, "Indexing")
    ) as retriever:
        for done, query in enumerate(prepared.queries, 1):
            hits = retriever.search(query.item.query)
            scores[query.item.answerable].append(hits[0].base_score if hits else -math.inf)
            progress.stage("Queries", done, len(prepared.queries))
    return scores[True], scores[False]
