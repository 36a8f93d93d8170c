"""Which settings of search to take, told in words, on a page and by a command to type.

The grid chooses (`tune_grid`).  The settings that are and, where others are surely better, those are evaluated besides,
so that both have their report, and the judges that cost nothing are tried on what is to be taken.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gigamind.evaluation.finish import HTML_FILE, Evaluated
from gigamind.evaluation.progress import Progress
from gigamind.metrics.table import label
from gigamind.records.folder import as_json, check_out_folder
from gigamind.release.compare import compare
from gigamind.release.comparison import Comparison, MetricChange
from gigamind.release.snapshot import read_run
from gigamind.reports.page.tune import findings, render_tuning
from gigamind.reports.tuning import Tuning
from gigamind.tasks.search.command import eval_command
from gigamind.tasks.search.compare import SearchComparison
from gigamind.tasks.search.grid_options import GridOptions
from gigamind.tasks.search.markdown import cost_line
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.schema import JudgeRates, SummaryReport
from gigamind.tasks.search.tune_grid import tune_grid, with_setting
from gigamind.tasks.search.view import SearchView
from gigamind.wording import Words, signed, words

AS_IS, BEST = "as-is", "best"
PAGE_FILE, JSON_FILE = "tune.html", "tune.json"
_WORSE_TOLD = 3
_BLIND = 0.8  # both rates of error together; a judge that tosses a coin has 1
_HIT = "search.hit_at_1"
Evaluate = Callable[[SearchEvalOptions], Evaluated[SummaryReport]]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of tuning.

    Attributes:
        finding: sentences, the main one first, the command last.
        as_is: the run with the settings that are.
        best: the run with those to take; None where the settings are kept.
        page: tune.html.
    """

    tuning: Tuning
    finding: tuple[str, ...]
    as_is: Evaluated[SummaryReport]
    best: Evaluated[SummaryReport] | None
    page: Path


def tune(
    options: SearchEvalOptions,
    grid: GridOptions,
    out: Path,
    evaluate: Evaluate,
    progress: Progress | None = None,
) -> Tuned:
    """Choose from the grid around the options, and keep what was found in `out`.

    Raises:
        InputError: there is nothing to choose from, or too little to choose by, or `out` cannot be written.
        GigamindError: as `evaluate` and `open_retriever` raise it.
    """
    check_out_folder(out)
    tuning = tune_grid(options, grid, progress)
    chosen = with_setting(options, tuning.settings[tuning.chosen].setting)
    as_is = evaluate(options.model_copy(update={"out": out / AS_IS}))
    best, comparison = None, None
    if tuning.is_switch:
        best = evaluate(chosen.model_copy(update={"out": out / BEST}))
        comparison = _compared(options, as_is, best, out / HTML_FILE)
    judges = (best or as_is).summary.judges
    command = eval_command(chosen, _advised(judges))
    tuning = tuning.model_copy(update={"command": command})
    page, lang = out / PAGE_FILE, options.language
    shown = render_tuning(
        tuning,
        lang=lang,
        judges=_judges_told(judges, words(lang)),
        report=HTML_FILE if best else "",
    )
    for file, text in ((page, shown), (out / JSON_FILE, as_json(tuning, indent=2) + "\n")):
        file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    say = words(lang)
    finding = (
        *findings(tuning, say),
        *(_moved(comparison, say) if comparison else ()),
        *_judges_told(judges, say),
        f"{say('tune.to_have')} {command}",
    )
    return Tuned(tuning, finding, as_is, best, page)


def _compared(
    options: SearchEvalOptions,
    as_is: Evaluated[SummaryReport],
    best: Evaluated[SummaryReport],
    page: Path,
) -> Comparison:
    """The second run held against the first, and its report beside it."""
    task = SearchComparison()
    runs = [read_run(run.out, {options.task: task}) for run in (as_is, best)]
    baseline, current = (task.take_snapshot(run) for run in runs)
    shown = SearchView().page(runs[1], lang=options.language, baseline=baseline, gate=None)
    page.write_text(shown, encoding="utf-8", errors="backslashreplace", newline="\n")
    return compare(baseline, current, seed=options.seed)


def _moved(comparison: Comparison, say: Words) -> Iterator[str]:
    """What the switch does to the first notes, and what it makes worse."""
    hit = comparison.metric(_HIT)
    if hit is not None and hit.current is not None and hit.baseline is not None:
        before, now = (round(value * hit.n) for value in (hit.baseline, hit.current))
        yield say("tune.first", now=now, before=before, queries=hit.n)
    ranked = [change for change in comparison.metrics if change.metric.startswith("search.")]
    worse = sorted(
        (change for change in ranked if change.is_better is False),
        key=lambda change: change.difference or 0.0,
    )[:_WORSE_TOLD]
    told = ", ".join(_change_told(change, say) for change in worse)
    yield say("tune.worse", told=told) if worse else say("tune.nothing_worse")


def _change_told(change: MetricChange, say: Words) -> str:
    low, high = signed(change.low), signed(change.high)
    name, interval = label(change.metric, say.language), say("page.interval")
    return f"{name} {signed(change.difference)} ({interval} {low} … {high})"


def _best_judge(judges: Sequence[JudgeRates]) -> JudgeRates | None:
    """The judge whose two rates of error are the smallest together; None where one kind of query is missing."""
    known = [rates for rates in judges if rates.both_rates is not None]
    return min(known, key=lambda rates: rates.both_rates or 0.0, default=None)


def _is_blind(judge: JudgeRates) -> bool:
    return (judge.both_rates or 0.0) > _BLIND


def _advised(judges: Sequence[JudgeRates]) -> JudgeRates | None:
    """The best judge, if it tells what is answered at all."""
    best = _best_judge(judges)
    return None if best is None or _is_blind(best) else best


def _judges_told(judges: Sequence[JudgeRates], say: Words) -> list[str]:
    """What each judge that costs nothing would cost those who ask, and whether any of them will do."""
    lines = [
        f"{rates.kind}: {cost_line(rates, say)}" for rates in judges if rates.both_rates is not None
    ]
    best = _best_judge(judges)
    if best is not None and _is_blind(best):
        lines.append(say("tune.blind"))
    return lines
