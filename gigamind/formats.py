"""Formats of numbers and times on pages and the terminal."""

from typing import Protocol

from gigamind.i18n import Message, _


class _Ends(Protocol):
    """Whatever has an interval."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def share(value: float | None) -> str:
    """Return a metric with three decimals and a typographic minus; a dash if it was not measured."""
    return "–" if value is None else f"{value:z.3f}".replace("-", "−")


def between(interval: _Ends) -> str:
    """Return a 95% interval; a dash if there is none."""
    return "–" if interval.low is None else f"{share(interval.low)} – {share(interval.high)}"


def percent(value: float | None) -> str:
    """Return a proportion as a percentage with one decimal; a dash if it was not measured."""
    return "–" if value is None else f"{value:.1%}"


def points(value: float, *, signed: bool = True) -> Message:
    """Return a difference of proportions in percentage points."""
    number = f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"
    return _("{points} pp", points=number.replace("-", "−"))


def moment(created_at: str) -> str:
    """Return an ISO time to the minute: "2026-11-21 22:59 UTC"."""
    date, _separator, time = created_at.partition("T")
    zone = "UTC" if time[8:] in {"+00:00", "Z"} else time[8:]
    return f"{date} {time[:5]} {zone}".strip()
