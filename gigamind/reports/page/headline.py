"""The start of report.html: the headline, the notices and the main metrics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gigamind.formats import moment, points, share, signed
from gigamind.i18n import Message, Text, Translator, _, n_
from gigamind.metrics.spec import units_of
from gigamind.metrics.table import about, is_lower_better
from gigamind.records.schema import Record, RunReport, by_item
from gigamind.release.comparison import Comparison, MetricChange
from gigamind.reports.figures import Figure, metric_name
from gigamind.reports.release import too_few

_CHANGES_SHOWN = 3
_WARNINGS_SHOWN = 3
_WORST = 0.2  # of the scale, from its bad end


@dataclass(frozen=True, slots=True)
class Card:
    """One main metric as text, and as positions in [0, 1] for its drawing.

    Attributes:
        better: whether the metric is significantly better (True) or worse (False) than in the baseline.
        ceiling: the highest value that the dataset allows; None if that is 1.
        bad: even the better end of the interval is in the worst fifth of the scale.
    """

    label: str
    about: str
    value: str
    interval: str
    n: int
    at: float | None
    low: float | None
    high: float | None
    difference: str
    difference_interval: str
    better: bool | None
    ceiling: float | None = None
    bad: bool = False


def against(
    comparison: Comparison | None, say: Translator, leading: tuple[str, ...], main: Sequence[str]
) -> str | None:
    """Return the significant changes of metrics that start with `leading`, `main` first; None if not comparable."""
    if comparison is None or any(m.severity == "refuse" for m in comparison.mismatches):
        return None
    return say(_against(comparison, say, leading, main))


def _against(
    comparison: Comparison, say: Translator, leading: tuple[str, ...], main: Sequence[str]
) -> Message:
    if not comparison.shared:
        units = units_of(comparison.task)
        return _(
            "The baseline and this run share no {units}, so they cannot be compared.", units=units
        )
    leaders = (change for change in comparison.metrics if change.metric.startswith(leading))
    moved = [change for change in leaders if change.is_better is not None]
    if not moved:
        fell = any((change.drop or 0.0) > 0 for change in comparison.metrics)
        if fell or comparison.gone:
            return _(
                "No metric changed significantly. The release gates still check how far each metric dropped, even"
                " if the drop is not significant."
            )
        return _("No significant difference from the baseline.")
    worse, better = main_changes(moved, main, say)
    if not worse:
        return _("Significantly better than the baseline: {better}.", better=better)
    if not better:
        return _("Significantly worse than the baseline: {worse}.", worse=worse)
    return _(
        "Significantly worse than the baseline: {worse}. Significantly better: {better}.",
        worse=worse,
        better=better,
    )


def main_changes(
    moved: Sequence[MetricChange], main: Sequence[str], say: Translator
) -> tuple[str, str]:
    """Return the largest changes for the worse and for the better, of metrics in `main` if there are any."""
    worse, better = (_largest(moved, main, is_better=way) for way in (False, True))
    worse = worse[: _CHANGES_SHOWN - bool(better)]
    better = better[: _CHANGES_SHOWN - len(worse)]
    return _listed(worse, say), _listed(better, say)


def _largest(
    moved: Sequence[MetricChange], main: Sequence[str], *, is_better: bool
) -> list[MetricChange]:
    """Return the changes in one direction, the largest first, without duplicates: recall of verdicts is 1 - FAR."""
    ways = [change for change in moved if change.is_better is is_better]
    shown = [change for change in ways if change.metric in main] or ways
    shown.sort(key=lambda change: (-abs(change.drop or 0.0), not about(change.metric, "en")))
    distinct: dict[tuple[object, ...], MetricChange] = {}
    for change in shown:
        block = change.metric.partition(".")[0]
        key = block, change.n, change.drop, change.improved, change.worse
        distinct.setdefault(key, change)
    return list(distinct.values())


def _listed(changes: Sequence[MetricChange], say: Translator) -> str:
    texts = [
        _(
            "{metric} {difference} (95% CI of the difference: {low} to {high})",
            metric=metric_name(change.metric, say),
            difference=points(change.difference or 0.0),
            low=points(change.interval[0]),
            high=points(change.interval[1]),
        )
        for change in changes
        if change.interval
    ]
    return ", ".join(map(say, texts))


def card(
    figure: Figure, comparison: Comparison | None, say: Translator, ceiling: float | None = None
) -> Card:
    """Return a metric with its change from the baseline, and its ceiling if the dataset sets one."""
    change = comparison.metric(figure.key) if comparison else None
    what = about(figure.key, say.language)
    if ceiling is not None:
        limit = say(_("highest value that the dataset allows: {value}", value=share(ceiling)))
        what = f"{what} · {limit}"
    low, high = figure.interval.low, figure.interval.high
    known = low is not None and high is not None
    return Card(
        label=figure.label(say.language),
        about=what,
        value=share(figure.value),
        interval=f"{share(low)} – {share(high)}" if known else "",
        n=figure.interval.n,
        at=figure.value,
        low=low,
        high=high,
        difference=signed(change.difference) if change else "",
        difference_interval=change_interval(change, say),
        better=change.is_better if change else None,
        ceiling=ceiling,
        bad=_bad(figure, low, high, ceiling),
    )


def _bad(figure: Figure, low: float | None, high: float | None, ceiling: float | None) -> bool:
    if low is None or high is None:
        return False
    if is_lower_better(figure.key):
        return low >= 1 - _WORST
    return high <= _WORST * (1 if ceiling is None else ceiling)


def notices(
    record: Record[Any, Any],
    comparison: Comparison | None,
    say: Translator,
    *,
    not_run: int = 0,
    unjudged: int = 0,
    generated: int = 0,
    section: bool = True,
) -> Iterator[str]:
    """Yield what a reader must know before trusting the metrics; `section`: the page has a section with all warnings.

    `not_run`, `unjudged` and `generated` count items not evaluated, without a due verdict, and made from the notes.
    """
    yield from map(say, _of_run(record, not_run, unjudged, generated, section=section))
    if comparison:
        text = _(
            "The baseline is run {run} of {created}. Both runs evaluated {shared:,} {units}.",
            run=comparison.baseline.run_id,
            created=moment(comparison.baseline.created_at),
            shared=comparison.shared,
            units=units_of(comparison.task),
        )
        yield say(text)
        yield from (say(mismatch.meaning) for mismatch in comparison.mismatches)


def _of_run(
    record: Record[Any, Any], not_run: int, unjudged: int, generated: int, *, section: bool
) -> Iterator[Text]:
    task, warnings = record.run.task, record.run.warnings
    if record.summary.status == "interrupted":
        waits = unjudged and not not_run
        yield (
            _("The run was interrupted while the model was judging, so some verdicts are missing.")
            if waits
            else _interrupted(task, not_run)
        )
    if generated:
        yield _(
            "{generated} of {total} queries were generated from the notes. They are easier than real queries, so"
            " the metrics look better than in real use.",
            generated=generated,
            total=record.summary.counts.queries_total,
        )
    if unjudged:
        yield n_(
            "{n} query has no verdict. The metrics for unanswerable queries leave this query out.",
            "{n:,} queries have no verdict. The metrics for unanswerable queries leave these queries out.",
            n=unjudged,
        )
    if record.errors:
        yield _problems(task, len(by_item(record.errors)))
    yield from warnings[:_WARNINGS_SHOWN]
    more = len(warnings) - _WARNINGS_SHOWN
    if more > 0 and section:
        yield n_(
            "{n} more warning: see the section Warnings.",
            "{n:,} more warnings: see the section Warnings.",
            n=more,
        )
    elif more > 0:
        yield n_(
            "{n} more warning: see report.html.", "{n:,} more warnings: see report.html.", n=more
        )


def _interrupted(task: str, n: int) -> Message:
    match task:
        case "links":
            return n_(
                "Interrupted: {n} note was not evaluated. The metrics cover only the evaluated notes.",
                "Interrupted: {n:,} notes were not evaluated. The metrics cover only the evaluated notes.",
                n=n,
            )
        case "answers":
            return n_(
                "Interrupted: {n} answer was not finished. The metrics cover only the finished answers.",
                "Interrupted: {n:,} answers were not finished. The metrics cover only the finished answers.",
                n=n,
            )
        case _search:
            return n_(
                "Interrupted: {n} query was not evaluated. The metrics cover only the evaluated queries.",
                "Interrupted: {n:,} queries were not evaluated. The metrics cover only the evaluated queries.",
                n=n,
            )


def _problems(task: str, n: int) -> Message:
    match task:
        case "links":
            return n_(
                "{n} row of the dataset could not be used. See Errors.",
                "{n:,} rows of the dataset could not be used. See Errors.",
                n=n,
            )
        case "answers":
            return n_(
                "{n} dataset row or answer had an error and was not fully evaluated. See Errors.",
                "{n:,} dataset rows or answers had errors and were not fully evaluated. See Errors.",
                n=n,
            )
        case _search:
            return n_(
                "{n} dataset row or query had an error and was not fully evaluated. See Errors.",
                "{n:,} dataset rows or queries had errors and were not fully evaluated. See Errors.",
                n=n,
            )


def change_interval(change: MetricChange | None, say: Translator) -> str:
    """Return the 95 % interval of a difference, or that too few items changed; "" if there is none."""
    if change is None or change.interval is None:
        return too_few(change, say) if change else ""
    low, high = change.interval
    return f"{signed(low)} … {signed(high)}"


def seed_of(run: RunReport) -> int:
    """Return the seed of the run's intervals; its report uses the same seed."""
    seed = run.options["seed"]
    if isinstance(seed, int):
        return seed
    raise TypeError(f"run.json: options.seed is not a number: {seed!r}")
