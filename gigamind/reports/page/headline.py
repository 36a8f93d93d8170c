"""What report.html says first: the headline, what to keep in mind, and the main metrics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gigamind.messages import warning_in
from gigamind.metrics.table import about, is_lower_better
from gigamind.records.schema import Record, RunReport, by_item
from gigamind.release.comparison import Comparison, MetricChange
from gigamind.reports.figures import Figure, metric_name
from gigamind.reports.release import mismatch_text, too_few
from gigamind.wording import Words, moment, share, signed

_CHANGES_TOLD = 3
_WARNINGS_TOLD = 3
_WORST = 0.2  # of the scale, from its bad end


@dataclass(frozen=True, slots=True)
class Card:
    """One main metric as text, and as places in [0, 1] for its drawing.

    Attributes:
        interval: "0.443 – 0.608"; "" where there is none.
        better: whether a change against the baseline is surely for the better (True) or the worse (False).
        ceiling: what the dataset lets the metric reach; None where that is 1.
        bad: even the better end of the interval lies in the worst fifth of the scale.
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
    comparison: Comparison | None,
    say: Words,
    leading: tuple[str, ...],
    main: Sequence[str],
) -> str | None:
    """What surely changed among the metrics that start with `leading`; None where nothing can be compared.

    Of several, those in `main` are told.
    """
    if comparison is None or any(m.severity == "refuse" for m in comparison.mismatches):
        return None
    if not comparison.shared:
        key = f"headline.{comparison.task}_not_paired"
        return say(key) if say.knows(key) else say(_("The baseline and this run have no query in common, so they cannot be compared."))
    leaders = (change for change in comparison.metrics if change.metric.startswith(leading))
    moved = [change for change in leaders if change.is_better is not None]
    if not moved:
        fell = any((change.drop or 0.0) > 0 for change in comparison.metrics)
        return say("headline.maybe_chance" if fell or comparison.gone else "headline.same")
    kind, changes = main_changes(moved, main, say)
    return say(f"headline.{kind}", **changes)


def main_changes(
    moved: Sequence[MetricChange], main: Sequence[str], say: Words
) -> tuple[Literal["better", "worse", "mixed"], dict[str, str]]:
    """Which way metrics surely moved, and each way the largest changes, of those in `main` if there are any."""
    worse, better = (_largest(moved, main, is_better=way) for way in (False, True))
    kind = "mixed" if worse and better else "better" if better else "worse"
    told_worse = worse[: _CHANGES_TOLD - bool(better)]
    told = {"worse": told_worse, "better": better[: _CHANGES_TOLD - len(told_worse)]}
    return kind, {way: _listed(changes, say) for way, changes in told.items()}


def _largest(
    moved: Sequence[MetricChange], main: Sequence[str], *, is_better: bool
) -> list[MetricChange]:
    """Those that moved that way, the largest first, one of each news: recall of verdicts is FAR turned round."""
    ways = [change for change in moved if change.is_better is is_better]
    shown = [change for change in ways if change.metric in main] or ways
    shown.sort(key=lambda change: (-abs(change.drop or 0.0), not about(change.metric, "en")))
    news: dict[tuple[object, ...], MetricChange] = {}
    for change in shown:
        block = change.metric.partition(".")[0]
        key = block, change.n, change.drop, change.improved, change.worse
        news.setdefault(key, change)
    return list(news.values())


def _listed(changes: Sequence[MetricChange], say: Words) -> str:
    return ", ".join(
        say(_("{metric} {difference} ({low} to {high})", metric=metric_name(change.metric, say), difference=signed(change.difference), low=signed(change.low), high=signed(change.high)))
        for change in changes
    )


def card(
    figure: Figure, comparison: Comparison | None, say: Words, ceiling: float | None = None
) -> Card:
    """A metric with its change against the baseline, and its ceiling where the dataset sets one."""
    change = comparison.metric(figure.key) if comparison else None
    what = about(figure.key, say.language)
    if ceiling is not None:
        what = f"{what} · {say(_("ceiling {value}", value=share(ceiling)))}"
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
    say: Words,
    *,
    not_run: int = 0,
    unjudged: int = 0,
    generated: int = 0,
    section: bool = True,
) -> Iterator[str]:
    """What a reader must know before believing the figures.

    Args:
        not_run: items that an interrupted run left.
        unjudged: items that were to get a verdict and have none.
        generated: items that were made of the notes.
        section: the page has a section with all warnings.
    """
    task = record.run.task

    def notice(key: str, **values: object) -> str:
        own = f"{task}_notice.{key}"
        return say(own if say.knows(own) else f"page.{key}", **values)

    if record.summary.status == "interrupted":
        judging = unjudged and not not_run
        yield notice("interrupted_judging") if judging else notice("interrupted", missing=not_run)
    if generated:
        total = record.summary.counts.queries_total
        yield notice("generated", generated=generated, total=total)
    if unjudged:
        yield notice("unjudged", missing=unjudged)
    if record.errors:
        yield notice("problems", errors=len(by_item(record.errors)))
    warnings = record.run.warnings
    yield from (warning_in(say.language, warning) for warning in warnings[:_WARNINGS_TOLD])
    if len(warnings) > _WARNINGS_TOLD:
        yield notice(
            "warned" if section else "warned_in_report", warnings=len(warnings) - _WARNINGS_TOLD
        )
    if comparison:
        yield notice(
            "against",
            run=comparison.baseline.run_id,
            created=moment(comparison.baseline.created_at),
            shared=comparison.shared,
        )
        for mismatch in comparison.mismatches:
            yield mismatch_text(mismatch, task, say)


def change_interval(change: MetricChange | None, say: Words) -> str:
    """The 95 % interval of a difference, or that too few items changed for one; "" where there is none."""
    if change is None or change.interval is None:
        return too_few(change, say) if change else ""
    low, high = change.interval
    return f"{signed(low)} … {signed(high)}"


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal; a dash where it was not measured."""
    return "–" if value is None else f"{100 * value:.1f}\u00a0%"


def seed_of(run: RunReport) -> int:
    """The seed of the run's intervals, which those of its report share."""
    seed = run.options["seed"]
    if isinstance(seed, int):
        return seed
    raise TypeError(f"run.json: options.seed is not a number: {seed!r}")
