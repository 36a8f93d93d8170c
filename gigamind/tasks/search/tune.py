"""What the other fusion and the other judges that cost nothing would change on the same queries.

The figures that choose are those of these very queries, so they flatter what they choose a little.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gigamind.errors import InputError
from gigamind.evaluation.finish import HTML_FILE, Evaluated
from gigamind.metrics.table import label
from gigamind.records.folder import check_out_folder
from gigamind.release.compare import Comparison, MetricChange, compare
from gigamind.release.snapshot import read_run
from gigamind.reports.page.headline import sure
from gigamind.tasks.search.compare import SearchComparison
from gigamind.tasks.search.free_judges import cost_line
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.schema import JudgeRates, SummaryReport
from gigamind.tasks.search.view import SearchView
from gigamind.wording import signed, words

AS_IS = "as-is"
_WORSE_TOLD = 3
_BLIND = 0.8  # both rates of error together; a judge that tosses a coin has 1
_HIT, _MRR = "search.hit_at_1", "search.mrr"
Evaluate = Callable[[SearchEvalOptions], Evaluated[SummaryReport]]


@dataclass(frozen=True, slots=True)
class Tuned:
    """Two runs over the same queries, and what they tell.

    Attributes:
        finding: sentences, the main one first.
        page: report.html of the second run beside the first.
    """

    before: Evaluated[SummaryReport]
    after: Evaluated[SummaryReport]
    comparison: Comparison
    finding: tuple[str, ...]
    page: Path


def tune(options: SearchEvalOptions, out: Path, evaluate: Evaluate) -> Tuned:
    """Run the evaluation as it is and with the other fusion, into folders of `out`, and say what is better.

    Raises:
        InputError: it has nothing to choose from, asks a model, or `out` cannot be written.
        GigamindError: as `evaluate` raises it.
    """
    if options.mode != "hybrid":
        raise InputError(
            f"--mode {options.mode}: has one leg, and no fusion to choose; leave it out"
        )
    if options.unanswerable_mode == "llm" or options.compare:
        raise InputError(
            "--unanswerable-mode llm, --compare: have no part here; use gigamind eval search"
        )
    if not options.is_builtin:
        raise InputError(
            "--system: only gigamind's own search has a fusion to choose; leave it out"
        )
    check_out_folder(out)
    other = "weighted" if options.fusion == "balanced" else "balanced"
    before = evaluate(options.model_copy(update={"out": out / AS_IS}))
    after = evaluate(options.model_copy(update={"fusion": other, "out": out / other}))
    task = SearchComparison()
    runs = [read_run(run.out, {options.task: task}) for run in (before, after)]
    baseline, current = (task.take_snapshot(run) for run in runs)
    comparison = compare(baseline, current)
    page = out / HTML_FILE
    shown = SearchView().page(runs[1], lang=options.lang, baseline=baseline, gate=None)
    page.write_text(shown, encoding="utf-8", errors="backslashreplace", newline="\n")
    finding = _finding(options, other, comparison, after.summary)
    return Tuned(before, after, comparison, finding, page)


def _finding(
    options: SearchEvalOptions, other: str, comparison: Comparison, summary: SummaryReport
) -> tuple[str, ...]:
    fusion = other if _is_better(comparison) else options.fusion
    lines = _ranking(options.fusion, other, comparison)
    asked = ["--dataset", str(options.dataset), "--notes", str(options.notes), "--fusion", fusion]
    if best := _best(summary.judges):
        lines += [f"{rates.kind}: {cost_line(rates, words('en'))}" for rates in summary.judges]
        if (best.both_rates or 0.0) > _BLIND:
            lines.append(
                "No judge that costs nothing tells these apart: they need reading, by a model."
            )
            asked += ["--unanswerable-mode", "llm", "--model", "MODEL"]
        else:
            asked += ["--unanswerable-mode", best.kind]
    return (*lines, f"To have it so: gigamind eval search {shlex.join(asked)}")


def _is_better(comparison: Comparison) -> bool:
    change = comparison.metric(_MRR)
    return change is not None and sure(change) is True


def _ranking(fusion: str, other: str, comparison: Comparison) -> list[str]:
    hit, mrr = comparison.metric(_HIT), comparison.metric(_MRR)
    if hit is None or mrr is None or hit.current is None or hit.baseline is None:
        return ["No answerable query was evaluated in both runs, so no fusion can be chosen."]
    before, now = (round(value * hit.n) for value in (hit.baseline, hit.current))
    more = f"{abs(now - before)} {'fewer' if now < before else 'more'}"
    moved = {
        True: f"{other} puts an expected note first for {more} of {hit.n} queries ({now}, not {before})",
        False: f"{other} ranks worse than {fusion}: an expected note first for {now} of {hit.n} queries, not {before}",
        None: f"{other} and {fusion} rank alike but for chance: {now} and {before} of {hit.n} notes first",
    }[sure(mrr)]
    ranked = [change for change in comparison.metrics if change.metric.startswith("search.")]
    worse = sorted(
        (change for change in ranked if sure(change) is False),
        key=lambda change: change.difference or 0.0,
    )[:_WORSE_TOLD]
    beyond = (
        f"worse beyond chance: {', '.join(map(_told, worse))}"
        if worse
        else "nothing got worse beyond chance"
    )
    return [f"{moved}; {beyond}.", f"{_told(mrr)}."]


def _told(change: MetricChange) -> str:
    low, high = signed(change.low), signed(change.high)
    return f"{label(change.metric)} {signed(change.difference)} (95 % interval {low} … {high})"


def _best(judges: tuple[JudgeRates, ...]) -> JudgeRates | None:
    """The judge whose two rates of error are the smallest together; None where one kind of query is missing."""
    known = [rates for rates in judges if rates.both_rates is not None]
    return min(known, key=lambda rates: rates.both_rates or 0.0, default=None)
