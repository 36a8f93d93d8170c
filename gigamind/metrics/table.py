"""The one table of metrics, that terminal, summary.md, report.html, comparisons, gates and artifacts read.

A metric is named here with its block, such as "search.mrr".  A name that nobody registered, such as that of an older
version's snapshot, is shown as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, Literal

from gigamind.errors import OWN_FAULTS, InputError, fault_of
from gigamind.metrics import aggregate, answerability, grounding, links, rankings, spans
from gigamind.metrics.spec import MAIN, OWN, Metric, Rows, Use
from gigamind.wording import Language

ENTRY_POINTS = "gigamind.metrics"
_quality = Rows("quality", None)
QUALITY = (
    _quality(None, "pass_rate", "checklist passed", "체크리스트 통과", MAIN, plain="passed").told(
        "answers that pass the checklist", "체크리스트를 통과한 답변의 비율"
    ),
    _quality(None, "{item}", "{item}", "{item}", Use(gate=True)),
)


def _by_key(metrics: Sequence[Metric]) -> dict[str, Metric]:
    table: dict[str, Metric] = {}
    for metric in metrics:
        if table.setdefault(metric.key, metric) is not metric:
            raise ValueError(f"two metrics are called {metric.key}")
    return table


_OURS = _by_key(
    (
        *rankings.METRICS,
        *spans.METRICS,
        *answerability.METRICS,
        *aggregate.METRICS,
        *links.METRICS,
        *grounding.METRICS,
        *QUALITY,
    )
)


def register(metric: Metric) -> None:
    """Add a metric of one's own: it is computed, summarised, shown, compared and gated like ours.

    Raises:
        ValueError: there is one of that name.
    """
    if known := metric_of(metric.key):
        raise ValueError(f"there is a metric {known.key} already")
    if metric.of is not None:
        metric = replace(metric, of=_checked(metric.key, metric.of))
    OWN[metric.key] = metric


def _checked(key: str, of: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a team's own, whose faults name its metric."""

    def checked(*given: object) -> object:
        try:
            value = of(*given)
        except OWN_FAULTS as error:
            raise InputError(f"metric {key}: {fault_of(error)}") from error
        if isinstance(value, int | float) and not 0 <= value <= 1:
            raise InputError(f"metric {key}: its function gave {value}, which is not in [0, 1]")
        return value

    return checked


def adopt(metrics: Iterable[Metric]) -> None:
    """Know the figures that a team's judge gives, as the judge or the record of a run says them; the last one counts.

    Raises:
        ValueError: gigamind has a metric of that name.
    """
    for metric in metrics:
        if metric.key in _OURS:
            raise ValueError(f"there is a metric {metric.key} already")
        OWN[metric.key] = metric


def unregister(metric: Metric) -> None:
    """Take back what `register` added."""
    del OWN[metric.key]


def metrics_of(*blocks: str) -> Iterator[Metric]:
    """Those of these blocks, in the order of the table, which is that of reports."""
    for metric in (*_OURS.values(), *OWN.values()):
        if metric.block in blocks:
            yield metric


def metric_of(key: str) -> Metric | None:
    """The metric with that name."""
    block, _, name = key.partition(".")
    if metric := _OURS.get(key) or OWN.get(key):
        return metric
    return next((m for m in metrics_of(block) if m.pattern.fullmatch(name)), None)


def label(key: str, language: Language | None = None) -> str:
    """What pages call it, such as "nDCG@10"; without a language, what terminal and summary.md do."""
    metric, name = metric_of(key), key.partition(".")[2]
    return metric.called(name, language) if metric else name.replace("_", " ")


def about(key: str, language: Language) -> str:
    """What it is, in a few words; "" where it has no card."""
    metric = metric_of(key)
    return getattr(metric.about, language) if metric and metric.about else ""


def is_lower_better(key: str) -> bool:
    """Whether a rise is for the worse."""
    metric = metric_of(key)
    return metric is not None and metric.use.lower


def is_mean(key: str) -> bool:
    """Whether each of its n items weighs 1 / n; precision and F1 of verdicts and all of links are quotients of sums."""
    metric = metric_of(key)
    takes, of = (metric.takes, metric.of) if metric else (None, None)
    if of is None or takes != "verdicts":
        return takes != "note"

    def wholes(truth: bool) -> set[int]:  # noqa: FBT001
        return {of(answerability.confusion([(truth, verdict)]))[1] for verdict in (True, False)}

    return all(len(wholes(truth)) == 1 for truth in (True, False))


def has_no_direction(key: str) -> bool:
    """Whether neither a rise nor a fall is for the worse."""
    metric = metric_of(key)
    return metric is not None and metric.use.undirected


def may_gate(key: str) -> bool:
    """Whether gates.toml may name it."""
    metric = metric_of(key)
    return metric is not None and metric.use.gate


def keys_in(
    place: Literal["main", "page", "summary"], blocks: Sequence[str], deepest: int
) -> list[str]:
    """The main figures, or the columns by slice of report.html or summary.md; cut-offs at `deepest`, or the first."""
    shown = [metric for metric in metrics_of(*blocks) if getattr(metric.use, place)]
    shown.sort(key=lambda metric: getattr(metric.use, place))
    return [f"{m.block}.{m.at(1 if m.use.first else deepest)}" for m in shown]


def in_order(keys: Sequence[str]) -> list[str]:
    """By the table, cut-offs by number; unknown ones last."""
    places = {metric.key: place for place, metric in enumerate((*_OURS.values(), *OWN.values()))}

    def place(key: str) -> tuple[int, int]:
        metric = metric_of(key)
        match = metric.pattern.fullmatch(key.partition(".")[2]) if metric else None
        k = match.groupdict().get("k") if match else None
        return places[metric.key] if metric else len(places), int(k or 0)

    return sorted(keys, key=place)


def register_installed() -> None:
    """Add what packages of a team give under the entry points `gigamind.metrics`: a `Metric`, or several.

    Raises:
        InputError: one cannot be loaded.
    """
    for point in entry_points(group=ENTRY_POINTS):
        try:
            given = point.load()
        except OWN_FAULTS as error:
            raise InputError(
                f"metric {point.name}: {point.value} cannot be loaded ({fault_of(error)});"
                " mend or uninstall its package"
            ) from error
        for metric in (given,) if isinstance(given, Metric) else given:
            register(metric)


register_installed()
