"""Report the progress of an evaluation."""

import math
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol, runtime_checkable

from gigamind.i18n import Text, _, joined

LINE_EVERY_S = 30.0
"""Interval between two log lines."""

_MANY = 5_000  # pieces of a stage that takes long


class Progress(Protocol):
    """Receives the progress of a run; never called from two threads at a time."""

    def stage(self, name: Text, done: int, total: int) -> None:
        """Report that `done` of `total` pieces of a stage have ended; a new name starts a new stage."""
        ...


@runtime_checkable
class Narrator(Progress, Protocol):
    """A `Progress` that also receives explanations, such as why a run is slow."""

    def tell(self, line: Text) -> None:
        """Report a lasting change, such as the measured speed of a server."""
        ...

    def trouble(self, text: Text) -> None:
        """Report the problem of the current stage, or ""; called repeatedly, as no item may end for minutes."""
        ...


class Quiet:
    """Ignores all progress."""

    def stage(self, name: Text, done: int, total: int) -> None:
        del name, done, total


class Lines:
    """Reports progress as a log line every half minute, for output without a progress bar."""

    def __init__(self, tell: Callable[[Text], object], every_s: float | None = None) -> None:
        self._tell = tell
        self._every_s = LINE_EVERY_S if every_s is None else every_s
        self._reported_at = time.monotonic()
        self._started: dict[str, tuple[float, int]] = {}
        self._shown: Text = ""
        self._trouble: Text = ""
        self._left_s: float | None = None

    def stage(self, name: Text, done: int, total: int) -> None:
        if total >= _MANY and name not in self._started:
            self._reported_at = -math.inf  # a long stage is reported as it starts
        started, first = self._started.setdefault(name, (time.monotonic(), done))
        self._shown = _("{stage} {done}/{total}", stage=name, done=done, total=total)
        ended, taken_s = done - first, time.monotonic() - started
        self._left_s = taken_s / ended * (total - done) if ended else None
        self._report_sometimes()

    def tell(self, line: Text) -> None:
        self._tell(line)

    def trouble(self, text: Text) -> None:
        self._trouble = text
        self._report_sometimes()

    def _report_sometimes(self) -> None:
        if time.monotonic() - self._reported_at < self._every_s:
            return
        self._reported_at = time.monotonic()
        left = ""
        if self._left_s is not None:
            left = _("{time} left", time=str(timedelta(seconds=round(self._left_s))))
        self.tell(joined(filter(None, (self._shown, self._trouble, left)), ", "))
