"""Report the progress of an evaluation: a bar on a terminal or in a notebook, a line now and then elsewhere."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Generator
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from gigamind.event_loop import stop_if_cancelled
from gigamind.i18n import Text, _, joined
from gigamind.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

_LINE_EVERY_S = 30.0
"""Interval between two log lines."""

_WHOLE_RUN_S = 1e9  # rich counts only the last half minute, in which no item may end

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


class Stoppable:
    """Passes progress on, and stops the evaluation once its async twin was cancelled."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def stage(self, name: Text, done: int, total: int) -> None:
        stop_if_cancelled()
        self._progress.stage(name, done, total)

    def tell(self, line: Text) -> None:
        if isinstance(self._progress, Narrator):
            self._progress.tell(line)

    def trouble(self, text: Text) -> None:
        if isinstance(self._progress, Narrator):
            self._progress.trouble(text)


class Lines:
    """Reports progress as a log line every half minute, for output without a progress bar."""

    def __init__(self, tell: Callable[[Text], object], every_s: float | None = None) -> None:
        self._tell = tell
        self._every_s = _LINE_EVERY_S if every_s is None else every_s
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


class _Shown:
    def __init__(
        self, bars: "Bars", say: Callable[[Text], str], tell: Callable[[Text], None]
    ) -> None:
        self._bars, self._say, self.tell = bars, say, tell
        self._tasks: dict[Text, TaskID] = {}
        self._now: TaskID | None = None

    def stage(self, name: Text, done: int, total: int) -> None:
        if name not in self._tasks:
            text = self._say(name)
            self._tasks[name] = self._bars.add_task(text, total=total, completed=done, trouble="")
        self._now = self._tasks[name]
        self._bars.update(self._now, completed=done, total=total)

    def trouble(self, text: Text) -> None:
        if self._now is not None:
            self._bars.update(self._now, trouble=self._say(text))


@contextlib.contextmanager
def progress_bar(console: "Console", say: Callable[[Text], str]) -> Generator[Progress]:
    """Show a bar with the time left on a terminal, or with ipywidgets in a notebook; else, and in CI, some lines."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    def tell(line: Text) -> None:
        console.print(printable(say(line)), markup=False, highlight=False, soft_wrap=True)

    has_bars = console.is_terminal or (console.is_jupyter and find_spec("ipywidgets"))
    if not has_bars or os.environ.get("CI"):
        yield Lines(tell)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    trouble = TextColumn("{task.fields[trouble]}", markup=False)
    columns = (*columns, TimeRemainingColumn(), trouble)
    with Bars(
        *columns, console=console, transient=True, speed_estimate_period=_WHOLE_RUN_S
    ) as bars:
        yield _Shown(bars, say, tell)
