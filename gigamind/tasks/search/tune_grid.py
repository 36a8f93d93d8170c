"""Measures a grid of search settings over one dataset and selects one; writes only the cache of vectors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from gigamind.datasets.check import CheckedQuery
from gigamind.errors import InputError
from gigamind.evaluation.options import eval_command, given_options
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.i18n import _
from gigamind.metrics.ranking import measure_rankings
from gigamind.metrics.ranking_table import RankedQuery
from gigamind.metrics.table import is_lower_better
from gigamind.reports.tuning import SearchSetting, TunedSetting, Tuning
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.stats.intervals import Matrix
from gigamind.stats.selection import FOLDS, LEVEL, MIN_ITEMS, PARTITIONS, Selection, select
from gigamind.tasks.search.grid_options import GridOptions
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.prepare import Prepared, prepare
from gigamind.tasks.search.schema import JudgeRates
from gigamind.version import __version__

_DEEPEST = 10  # largest cut-off of the default metric
Figures = dict[str, float | None]


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
        raise InputError(
            _(
                "The grid contains only the current setting. Give an option more values, such as --alphas 0.3,0.5,0.7."
            )
        )
    prepared = prepare(options)
    queries = [query for query in prepared.queries if query.item.answerable]
    if len(queries) < MIN_ITEMS:
        raise InputError(
            "{file}: {count} answerable queries are usable. Tuning needs at least {least} such queries, and"
            " about 100 to detect a gain of 0.1.",
            file=options.dataset,
            count=len(queries),
            least=MIN_ITEMS,
        )
    by_setting = rank_grid(prepared, queries, settings, progress or Quiet())
    figures = [_figures(rankings, queries, options.topk) for rankings in by_setting]
    table = [[own.get(metric) for own in rows] for rows in figures]
    values: Matrix = np.array(table, np.float64).T
    used: npt.NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(values), axis=1)
    values = values[used]
    if len(values) < MIN_ITEMS:
        raise InputError(
            "{file}: {count} answerable queries have a value of {metric}. Tuning needs at least {least} such"
            " queries, and about 100 to detect a gain of 0.1.",
            file=options.dataset,
            count=len(values),
            metric=metric,
            least=MIN_ITEMS,
        )
    if values.min() < 0 or values.max() > 1:
        raise InputError(
            "--metric {metric}: this metric has values outside 0 to 1, so gigamind cannot select settings by"
            " it. Use another metric.",
            metric=metric,
        )
    selection = select(values, seed=options.seed, label=f"tune\0{metric}")
    gain, interval = selection.corrected(selection.chosen or selection.best)
    current = [SearchSetting.model_validate(own, from_attributes=True) for own in settings]
    return Tuning(
        app_version=__version__,
        dataset=str(options.dataset),
        notes=str(options.notes),
        metric=f"search.{metric}",
        queries=len(values),
        left_out=len(queries) - len(values),
        seed=options.seed,
        folds=FOLDS,
        partitions=PARTITIONS,
        level=LEVEL,
        settings=tuple(
            _setting(setting, place, _means(figures[place], used), selection)
            for place, setting in enumerate(current)
        ),
        chosen=selection.chosen,
        best=selection.best,
        gain=gain,
        low=interval.low,
        high=interval.high,
        detectable=selection.detectable,
        command=eval_command(
            "search", eval_values(with_setting(options, current[selection.chosen]), None)
        ),
    )


def _refuse_foreign(options: SearchEvalOptions) -> None:
    if not options.is_builtin:
        raise InputError(
            _(
                "--system: only gigamind's own search can be tuned. Remove it, or compare runs of other systems with"
                " gigamind compare."
            )
        )
    if options.unanswerable_mode == "llm" or options.compare or options.dry_run:
        raise InputError(
            _(
                "--unanswerable-mode llm, --compare and --dry-run: not available for tuning. Use gigamind eval search."
            )
        )


def _objective(name: str | None, topk: int) -> str:
    """Return the name of the metric to optimise, without its prefix."""
    toy = RankedQuery(["note"], {"note": 1}, all_of=[["note"]])
    (known,) = measure_rankings([toy], topk)
    fit = [figure for figure in known if not is_lower_better(f"search.{figure}")]
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
        by_index.setdefault((setting.embedder, setting.chunk_chars, setting.rerank), []).append(
            setting
        )
    for own in by_index.values():
        mode = "keyword" if all(setting.mode == "keyword" for setting in own) else "hybrid"
        with open_retriever(
            prepared.vault,
            prepared.identities,
            replace(own[0], mode=mode),
            lambda done, total: progress.stage("Indexing", done, total),
        ) as retriever:
            for done, query in enumerate(queries, 1):
                for setting, ranking in zip(
                    own, retriever.rankings(query.item.query, own), strict=True
                ):
                    by_setting[setting].append(ranking)
                progress.stage("Queries", done, len(queries))
    return list(by_setting.values())


def _figures(
    rankings: Sequence[Sequence[str]], queries: Sequence[CheckedQuery], topk: int
) -> list[Figures]:
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


def _means(figures: Sequence[Figures], used: npt.NDArray[np.bool_]) -> dict[str, float]:
    rows = list(compress(figures, used))
    names = [name for name in rows[0] if all(row.get(name) is not None for row in rows)]
    table: Matrix = np.array([[row[name] for name in names] for row in rows], np.float64)
    means = table.mean(axis=0).tolist()
    return {f"search.{name}": mean for name, mean in zip(names, means, strict=True)}


def with_setting(options: SearchEvalOptions, setting: SearchSetting) -> SearchEvalOptions:
    """Return the options with another search setting."""
    return options.model_copy(update=setting.model_dump())


def eval_values(options: SearchEvalOptions, judge: JudgeRates | None) -> dict[str, object]:
    """Return the options that differ from the defaults, by flag, with another judge if one is given."""
    hybrid = ("fusion", *(("alpha",) if options.fusion == "weighted" else ()))
    always = ("mode", *(hybrid if options.mode == "hybrid" else ()))
    changes: dict[str, object] = {}
    if judge is not None and not judge.chosen:
        changes = {"min_score": None, "judge": None, "unanswerable_mode": judge.kind}
    return given_options(SearchEvalOptions, options.for_report(), always, **changes)


def config_lines(values: Mapping[str, object]) -> str:
    """Return these options as lines of gigamind.toml; TOML writes these values as JSON does."""
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
    return "\n".join(("[search]", *lines))
