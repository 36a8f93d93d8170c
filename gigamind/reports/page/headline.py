"""What report.html says first: the headline, what to keep in mind, and the main metrics."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gigamind.reports.page.slices import Figure, main_metrics
from gigamind.reports.page.wording import Words
from gigamind.reports.release.compare import Comparison, MetricChange
from gigamind.reports.schema import Record, RunRecord

_LEADING = ("search.hit_at_1", "search.mrr", "search.ndcg", "search.recall", "unanswerable.far")
_CHANGES_TOLD = 3


@dataclass(frozen=True, slots=True)
class Card:
    """One main metric as text, and as places in [0, 1] for its drawing.

    Attributes:
        interval: "0.443 – 0.608"; "" where there is none.
        better: whether a change against the baseline is surely for the better (True) or the worse (False).
        ceiling: what the dataset lets the metric reach; None where that is 1.
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


def headline(record: RunRecord, comparison: Comparison | None, told: Words) -> str:
    """The run in one sentence; with a comparable baseline, what surely changed."""
    main = [figure.key for figure in main_metrics(record.summary.overall)]
    changed = against(comparison, told, _LEADING, main, told.metric)
    return _result(record, told) if changed is None else changed


def against(
    comparison: Comparison | None,
    told: Words,
    leading: tuple[str, ...],
    main: Sequence[str],
    called: Callable[[str], str],
) -> str | None:
    """What surely changed among the metrics that start with `leading`; None where nothing can be compared.

    Of several, those in `main` are told; `called` names a metric without its block.
    """
    if comparison is None or any(m.severity == "refuse" for m in comparison.mismatches):
        return None
    if not comparison.shared:
        key = f"headline.{comparison.task}_not_paired"
        return told(key) if told.knows(key) else told("headline.not_paired")
    moved = [m for m in comparison.metrics if m.metric.startswith(leading) and sure(m) is not None]
    ways = {sure(change) for change in moved}
    if not ways:
        return told("headline.same")
    kind = "mixed" if len(ways) > 1 else "better" if True in ways else "worse"
    shown = [change for change in moved if change.metric in main] or moved
    listed = sorted(shown, key=lambda change: -abs(change.difference or 0.0))[:_CHANGES_TOLD]
    changes = ", ".join(
        told(
            "headline.change",
            metric=called(change.metric.partition(".")[2]),
            difference=signed(change.difference),
            low=signed(change.low),
            high=signed(change.high),
        )
        for change in listed
    )
    return told(f"headline.{kind}", changes=changes)


def sure(change: MetricChange) -> bool | None:
    """Whether the 95 % interval lies wholly on the better or the worse side of 0; None when it holds 0."""
    if change.low is None or change.high is None or change.drop is None:
        return None
    return change.drop < 0 if change.low > 0 or change.high < 0 else None


def cards(record: RunRecord, comparison: Comparison | None, told: Words) -> list[Card]:
    """The main metrics, the p95 latency last."""
    found = [
        card(
            figure,
            comparison.metric(figure.key) if comparison else None,
            told.metric(figure.name),
            told(f"about.{figure.name.partition('_at_')[0]}"),
        )
        for figure in main_metrics(record.summary.overall)
        if figure.key not in {"search.span_precision", "unanswerable.precision"}
        and figure.key != "unanswerable.recall"
    ]
    return [*found, *_latency(record, comparison, told)]


def card(
    figure: Figure,
    change: MetricChange | None,
    label: str,
    about: str,
    ceiling: float | None = None,
) -> Card:
    """A metric with its change against the baseline."""
    low, high = figure.interval.low, figure.interval.high
    known = low is not None and high is not None
    return Card(
        label=label,
        about=about,
        value=share(figure.value),
        interval=f"{share(low)} – {share(high)}" if known else "",
        n=figure.interval.n,
        at=figure.value,
        low=low,
        high=high,
        difference=signed(change.difference) if change else "",
        difference_interval=change_interval(change),
        better=sure(change) if change else None,
        ceiling=ceiling,
    )


def notices(
    record: Record[Any, Any],
    comparison: Comparison | None,
    told: Words,
    *,
    not_run: int = 0,
    unjudged: int = 0,
) -> Iterator[str]:
    """What a reader must know before believing the figures.

    Args:
        not_run: items that an interrupted run left.
        unjudged: items that were to get a verdict and have none.
    """
    task = record.run.task

    def say(key: str, **values: object) -> str:
        own = f"{task}_notice.{key}"
        return told(own if told.knows(own) else f"page.{key}", **values)

    if record.summary.status == "interrupted":
        judging = unjudged and not not_run
        yield say("interrupted_judging") if judging else say("interrupted", missing=not_run)
    if unjudged:
        yield say("unjudged", missing=unjudged)
    if record.errors:
        yield say("problems", errors=len(record.errors))
    if record.run.warnings:
        yield say("warned", warnings=len(record.run.warnings))
    if comparison:
        yield say(
            "against",
            run=comparison.baseline.run_id,
            created=moment(comparison.baseline.created_at),
            shared=comparison.shared,
        )
        for mismatch in comparison.mismatches:
            what = mismatch.what.replace(" ", "_")
            keys = (f"mismatch.{task}_{what}", f"mismatch.{what}")
            known = next((key for key in keys if told.knows(key)), None)
            yield told(known) if known else mismatch.meaning


def share(value: float | None) -> str:
    """With three decimals, as in summary.md; a dash where it was not measured."""
    return "–" if value is None else f"{value:z.3f}"


def signed(value: float | None) -> str:
    """A difference with its sign, a typographic minus; a dash where there is none."""
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def change_interval(change: MetricChange | None) -> str:
    """The 95 % interval of a difference; "" where there is none."""
    if change is None or change.low is None:
        return ""
    return f"{signed(change.low)} … {signed(change.high)}"


def moment(created_at: str) -> str:
    """An ISO time to the minute: "2026-11-21 22:59 UTC"."""
    date, _, time = created_at.partition("T")
    zone = "UTC" if time[8:] in {"+00:00", "Z"} else time[8:]
    return f"{date} {time[:5]} {zone}".strip()


def _result(record: RunRecord, told: Words) -> str:
    counts = record.summary.overall.counts
    far = record.summary.overall.unanswerable.get("far")
    decided = record.summary.overall.intervals.get("unanswerable.far")
    unanswerable = decided.n if decided else counts.unanswerable  # a model may have left some open
    judged = {
        "missed": round((far or 0.0) * unanswerable),
        "unanswerable": unanswerable,
        "far": _percent(far),
    }
    if not counts.answerable:
        key = "headline.only_unanswerable" if counts.unanswerable else "headline.nothing"
        return told(key, **judged)
    first = record.summary.overall.search.get("hit_at_1")
    found = told(
        "headline.found",
        hits=round((first or 0.0) * counts.answerable),
        answerable=counts.answerable,
        share=_percent(first),
    )
    key = "headline.judged" if counts.unanswerable else "headline.not_judged"
    return told(key, found=found, **judged)


def _latency(record: RunRecord, comparison: Comparison | None, told: Words) -> Iterator[Card]:
    p95 = record.summary.overall.search.get("latency_p95_ms")
    if p95 is None:
        return
    speeds = {speed.name: speed for speed in comparison.speed} if comparison else {}
    old = speeds["search_p95"].baseline_ms if speeds else None
    same_hardware = comparison is not None and not any(
        mismatch.severity == "no-speed" for mismatch in comparison.mismatches
    )
    told_old = told("page.baseline_was", value=f"{old:.1f}") if old and same_hardware else ""
    yield Card(
        label=told.metric("latency_p95_ms"),
        about=told("about.latency_p95"),
        value=f"{p95:.1f} ms",
        interval="",
        n=record.summary.overall.counts.queries,
        at=None,
        low=None,
        high=None,
        difference=told_old,
        difference_interval="",
        better=None,
    )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}\u00a0%"
