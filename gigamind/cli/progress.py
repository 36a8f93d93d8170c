"""Progress of a command: a bar on a terminal, a line now and then elsewhere."""

import contextlib
import os
from collections.abc import Generator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.progress import Task as BarTask
from rich.text import Text

from gigamind.cli.errors import translated
from gigamind.evaluation.progress import Left, Lines, Progress, clock, left_s
from gigamind.text import printable

_SLOW = 10  # items per second; slower rates have a decimal
_PER_MINUTE = 0.1  # items per second; slower rates are per minute


def rate_of(items: int, seconds: float) -> str:
    """Return the rate of so many items in so many seconds; empty for no items."""
    if not items or seconds <= 0:
        return ""
    speed = items / seconds
    if speed < _PER_MINUTE:
        return f"{60 * speed:.1f}/min"
    return f"{speed:.0f}/s" if speed >= _SLOW else f"{speed:.1f}/s"


def tell(console: Console, line: str) -> None:
    """Print a line in the language of the running command."""
    console.print(printable(translated(line)), markup=False, highlight=False, soft_wrap=True)


def _ended(task: BarTask) -> int:
    """Return the items finished in this run; rich counts only the last half minute, in which none may end."""
    return int(task.completed) - int(task.fields["first"])


class _Rate(ProgressColumn):
    def render(self, task: BarTask) -> Text:
        return Text(rate_of(_ended(task), task.elapsed or 0.0), style="progress.data.speed")


class _Left(ProgressColumn):
    """Time left, estimated from the finished items."""

    def render(self, task: BarTask) -> Text:
        ahead = int((task.total or 0) - task.completed)
        left = left_s(_ended(task), task.elapsed or 0.0, ahead, *task.fields["at_most"])
        return Text(clock(left), style="progress.remaining")


class _OnTerminal:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._now: TaskID | None = None
        self._at_most: tuple[Left, ...] = ()

    def stage(self, name: str, done: int, total: int) -> None:
        if name not in self._tasks:
            # `first`: items finished by an earlier run.
            fields: dict[str, Any] = {"first": done, "trouble": "", "at_most": self._at_most}
            self._tasks[name] = self._bars.add_task(
                translated(name), total=total, completed=done, **fields
            )
        self._now = self._tasks[name]
        self._bars.update(self._now, completed=done, total=total)

    def tell(self, line: str) -> None:
        tell(self._bars.console, line)

    def at_most(self, left: Left) -> None:
        self._at_most = (left,)

    def trouble(self, text: str) -> None:
        if self._now is not None:
            self._bars.update(self._now, trouble=translated(text))


@contextlib.contextmanager
def progress_bar() -> Generator[Progress]:
    """Show a bar with rate and time left on a terminal; elsewhere and in CI a line now and then."""
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("CI"):
        yield Lines(lambda line: tell(console, line))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    trouble = TextColumn("{task.fields[trouble]}", markup=False)
    with Bars(*columns, _Rate(), _Left(), trouble, console=console, transient=True) as bars:
        yield _OnTerminal(bars)
