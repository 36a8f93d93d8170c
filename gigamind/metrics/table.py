"""The table of metrics, by names with their block, such as "search.mrr"; unknown names are shown unchanged."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, Literal

from gigamind.errors import OWN_FAULTS, InputError, fault_of
from gigamind.i18n import Message, _, add_translations
from gigamind.metrics import answerability, grounding, links, ranking, spans
from gigamind.metrics.spec import MAIN, OWN, Metric, Rows, Use, in_language

_ENTRY_POINTS = "gigamind.metrics"
_latency = Rows("search", None)
_LATENCY = (
    _latency(None, "latency_p50_ms", _("latency p50")),
    _latency(None, "latency_p95_ms", _("latency p95")).described(
        _("milliseconds; lower is better")
    ),
    _latency(None, "latency_p99_ms", _("latency p99")),
)
_quality = Rows("quality", None)
_QUALITY = (
    _quality(None, "pass_rate", _("checklist passed"), MAIN).described(
        _("share of the answers that pass the checklist")
    ),
    _quality(None, "{item}", _("{item}", item="{item}"), Use(gate=True)).described(
        _("share of the answers that meet this item of the checklist")
    ),
)

_OURS = {
    metric.key: metric
    for metric in (
        *ranking.METRICS,
        *spans.METRICS,
        *answerability.METRICS,
        *_LATENCY,
        *links.METRICS,
        *grounding.METRICS,
        *_QUALITY,
    )
}


def register(metric: Metric) -> None:
    """Add a third-party metric: it is computed, summarised, shown, compared and gated like the built-in ones.

    Raises:
        ValueError: there is a metric with that name.
    """
    if known := metric_of(metric.key):
        raise ValueError(_("a metric with the name {metric} exists already", metric=known.key))
    if metric.of is not None:
        metric = replace(metric, of=_checked(metric.key, metric.of))
    OWN[metric.key] = metric


def _checked(key: str, of: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*given: object) -> object:
        try:
            value = of(*given)
        except OWN_FAULTS as error:
            raise InputError(
                "metric {metric}: {reason}", metric=key, reason=fault_of(error)
            ) from error
        if isinstance(value, int | float) and not 0 <= value <= 1:
            raise InputError(
                "metric {metric}: its function returned {value}, but a metric must be from 0 to 1",
                metric=key,
                value=value,
            )
        return value

    return checked


def adopt(metrics: Iterable[Metric]) -> None:
    """Add the metrics of a third-party judge or of a run's record; they replace earlier ones with the same name.

    Raises:
        ValueError: a built-in metric has that name.
    """
    for metric in metrics:
        if metric.key in _OURS:
            raise ValueError(_("a metric with the name {metric} exists already", metric=metric.key))
        OWN[metric.key] = metric


def metrics_of(*blocks: str) -> Iterator[Metric]:
    """Yield the metrics of these blocks in the order of the table, which reports use."""
    for metric in (*_OURS.values(), *OWN.values()):
        if metric.block in blocks:
            yield metric


def metric_of(key: str) -> Metric | None:
    """Return the metric with that name."""
    block, _dot, name = key.partition(".")
    if metric := _OURS.get(key) or OWN.get(key):
        return metric
    return next((m for m in metrics_of(block) if m.pattern.fullmatch(name)), None)


def label(key: str, language: str = "en") -> str:
    """Return the label, such as "nDCG@10"."""
    metric, name = metric_of(key), key.partition(".")[2]
    return metric.called(name, language) if metric else name.replace("_", " ")


def label_text(key: str) -> str:
    """Return the label as a message, for other messages to contain."""
    metric, name = metric_of(key), key.partition(".")[2]
    if metric is None:
        return name.replace("_", " ")
    template = metric.label.id if isinstance(metric.label, Message) else metric.label.en
    if not isinstance(metric.label, Message):
        add_translations(template, metric.label._asdict())
    return Message(template, metric.places(name))


def about(key: str, language: str) -> str:
    """Return the explanation of a metric; "" if it has none."""
    metric = metric_of(key)
    if not metric or not metric.about:
        return ""
    k = metric.places(key.partition(".")[2]).get("k")
    text = in_language((k == "1" and metric.about_first) or metric.about, language)
    return re.sub(r"(?<![A-Za-z])k(?![A-Za-z])", k, text) if k else text


def use_of(key: str) -> Use:
    """Return where a metric is shown, which direction is better, and whether gates.toml may name it."""
    metric = metric_of(key)
    return metric.use if metric else Use()


def is_mean(key: str) -> bool:
    """Return whether each of its n items weighs 1 / n.  Precision and F1 of verdicts and link metrics are ratios."""
    metric = metric_of(key)
    takes, of = (metric.takes, metric.of) if metric else (None, None)
    if of is None or takes != "verdicts":
        return takes != "note"

    def wholes(truth: bool) -> set[int]:  # noqa: FBT001
        return {of(answerability.Confusion.of([(truth, verdict)]))[1] for verdict in (True, False)}

    return all(len(wholes(truth)) == 1 for truth in (True, False))


def keys_in(
    place: Literal["main", "page", "summary"], blocks: Sequence[str], deepest: int
) -> list[str]:
    """Return the keys shown in a place: the main figures, or the columns by slice of report.html or summary.md."""
    shown = [metric for metric in metrics_of(*blocks) if getattr(metric.use, place)]
    shown.sort(key=lambda metric: getattr(metric.use, place))
    return [f"{m.block}.{m.at(1 if m.use.first else deepest)}" for m in shown]


def in_order(keys: Sequence[str]) -> list[str]:
    """Return keys in the order of the table, cut-offs by number, unknown ones last."""
    places = {metric.key: place for place, metric in enumerate((*_OURS.values(), *OWN.values()))}

    def place(key: str) -> tuple[int, int]:
        if metric := metric_of(key):
            return places[metric.key], int(metric.places(key.partition(".")[2]).get("k") or 0)
        return len(places), 0

    return sorted(keys, key=place)


def register_installed() -> None:
    """Add the metrics of installed packages: the entry points `gigamind.metrics`, a `Metric` each, or several.

    Raises:
        InputError: one cannot be loaded.
    """
    for point in entry_points(group=_ENTRY_POINTS):
        try:
            given = point.load()
        except OWN_FAULTS as error:
            raise InputError(
                "metric {name}: {target} cannot be loaded ({reason}). Fix or uninstall its package.",
                name=point.name,
                target=point.value,
                reason=fault_of(error),
            ) from error
        for metric in (given,) if isinstance(given, Metric) else given:
            register(metric)


register_installed()
