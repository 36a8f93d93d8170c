"""Recommends search settings of `tune_grid`, evaluated beside the current ones: in sentences, a page and a command."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gigamind.evaluation.finish import HTML_FILE, Evaluated
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.i18n import Text, Translator, _, translator
from gigamind.records.folder import as_json, check_out_folder
from gigamind.release.compare import compare
from gigamind.release.comparison import Comparison
from gigamind.release.snapshot import read_run
from gigamind.reports.html import render_html
from gigamind.reports.page.tune import findings, render_tuning
from gigamind.reports.run import Outcome, run_document
from gigamind.reports.tuning import Tuning, WorseMetric
from gigamind.retrieval.prepare import open_retriever
from gigamind.tasks.search.command import eval_command
from gigamind.tasks.search.compare import SearchComparison
from gigamind.tasks.search.grid_options import GridOptions
from gigamind.tasks.search.judge_advice import cost_line
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.prepare import prepare
from gigamind.tasks.search.schema import JudgeRates, SummaryReport
from gigamind.tasks.search.tune_grid import tune_grid, with_setting
from gigamind.tasks.search.view import SearchView

CURRENT_FOLDER, BEST_FOLDER = "as-is", "best"
PAGE_FILE, JSON_FILE = "tune.html", "tune.json"
_DECIMALS = 10_000  # of thresholds
_NEAR_CHANCE = 0.8  # sum of both error rates; a judge that guesses has 1
_HIT = "search.hit_at_1"
Evaluate = Callable[[SearchEvalOptions], Evaluated[SummaryReport]]


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of tuning."""

    tuning: Tuning
    finding: tuple[str, ...]  # sentences; the recommendation comes first, the command last
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
    judge = _run_judge(current.summary.judges)
    best, comparison = None, None
    if tuning.is_switch:
        min_score = matching_min_score(chosen, judge, progress)
        if min_score is not None:
            chosen = chosen.model_copy(update={"min_score": min_score})
        best = evaluate(chosen.model_copy(update={"out": out / BEST_FOLDER}))
        comparison = _compared(options, current, best, out / HTML_FILE)
        tuning = tuning.model_copy(update={"min_score": min_score, "worse": _worse(comparison)})
    judges = (best or current).summary.judges
    command = eval_command(chosen, _recommended(judges, judge))
    tuning = tuning.model_copy(update={"command": command})
    page, lang = out / PAGE_FILE, options.language
    say = translator(lang)
    effects = list(map(say, _effects(tuning, comparison, judge, judges))) if comparison else []
    judge_lines = _judge_lines(judges, say)
    shown = render_tuning(
        tuning, lang=lang, moved=effects, judges=judge_lines, report=HTML_FILE if best else ""
    )
    for file, text in ((page, shown), (out / JSON_FILE, as_json(tuning, indent=2) + "\n")):
        file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    finding = (
        *findings(tuning, say),
        *effects,
        *judge_lines,
        say(_("To apply the recommended setting, run: {command}", command=command)),
    )
    return Tuned(tuning, finding, current, best, page)


def _compared(
    options: SearchEvalOptions,
    current: Evaluated[SummaryReport],
    best: Evaluated[SummaryReport],
    page: Path,
) -> Comparison:
    task = SearchComparison()
    runs = [read_run(run.out, {options.task: task}) for run in (current, best)]
    before, after = (task.take_snapshot(run) for run in runs)
    say = translator(options.language)
    shown = run_document(SearchView(), runs[1], Outcome(baseline=before), say)
    page.write_text(
        render_html(shown, say), encoding="utf-8", errors="backslashreplace", newline="\n"
    )
    return compare(before, after, seed=options.seed)


def _worse(comparison: Comparison) -> tuple[WorseMetric, ...]:
    worse = sorted(
        (change for change in comparison.metrics if change.is_better is False),
        key=lambda change: -(change.drop or 0.0),
    )
    fields = WorseMetric.model_fields
    return tuple(
        WorseMetric.model_validate({name: getattr(change, name) for name in fields})
        for change in worse
    )


def _effects(
    tuning: Tuning, comparison: Comparison, current: JudgeRates | None, judges: Sequence[JudgeRates]
) -> Iterator[Text]:
    """Yield sentences on how the switch changes first hits and refusals, and whether a metric got worse."""
    hit = comparison.metric(_HIT)
    if hit is not None and hit.current is not None and hit.baseline is not None:
        before, now = (round(value * hit.n) for value in (hit.baseline, hit.current))
        yield _(
            "Queries with an expected note at rank 1: {before:,} → {now:,} of {queries:,}.",
            before=before,
            now=now,
            queries=hit.n,
        )
    best = _run_judge(judges)
    if current is not None and best is not None:
        yield _(
            "Answerable queries wrongly refused: {refused_before:,} → {refused:,} of {answerable:,}. Unanswerable"
            " queries wrongly answered: {missed_before:,} → {missed:,} of {unanswerable:,}.",
            refused_before=current.refused,
            refused=best.refused,
            answerable=best.answerable,
            missed_before=current.missed,
            missed=best.missed,
            unanswerable=best.unanswerable,
        )
    if tuning.min_score is not None:
        yield _(
            "Use this setting with --min-score {min_score:g}. Its scores are on a different scale; this threshold"
            " adds no false refusals on your queries. Because the threshold changes, gates need a new baseline.",
            min_score=tuning.min_score,
        )
    if not tuning.worse:
        yield _("No metric got significantly worse, including false refusals.")


def _run_judge(judges: Sequence[JudgeRates]) -> JudgeRates | None:
    return next((rates for rates in judges if rates.chosen), None)


def _best_judge(judges: Sequence[JudgeRates]) -> JudgeRates | None:
    known = [rates for rates in judges if rates.both_rates is not None]
    return min(known, key=lambda rates: rates.both_rates or 0.0, default=None)


def _is_near_chance(judge: JudgeRates) -> bool:
    return (judge.both_rates or 0.0) > _NEAR_CHANCE


def _recommended(judges: Sequence[JudgeRates], current: JudgeRates | None) -> JudgeRates | None:
    """Return the best judge with no more errors of either kind than today; None if it is near chance."""
    candidates = [
        rates
        for rates in judges
        if current is None
        or rates.chosen
        or (rates.refused <= current.refused and rates.missed <= current.missed)
    ]
    best = _best_judge(candidates)
    return None if best is None or _is_near_chance(best) else best


def _judge_lines(judges: Sequence[JudgeRates], say: Translator) -> list[str]:
    """Return the errors of each free judge, and a caution if all of them are near chance."""
    lines = [
        f"{rates.kind}: {say(cost_line(rates))}" for rates in judges if rates.both_rates is not None
    ]
    best = _best_judge(judges)
    if best is not None and _is_near_chance(best):
        lines.append(
            say(
                _(
                    "No judge that works without an LLM separates answerable and unanswerable queries well here."
                    " Use an LLM judge (--unanswerable-mode llm --model MODEL)."
                )
            )
        )
    return lines


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
