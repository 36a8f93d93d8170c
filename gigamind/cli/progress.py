"""Progress of a command: a bar on a terminal, a line now and then elsewhere."""

import contextlib
import os
from collections.abc import Generator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from gigamind.cli.errors import translated
from gigamind.evaluation.progress import Lines, Progress
from gigamind.text import printable

_WHOLE_RUN_S = 1e9  # rich counts only the last half minute, in which no item may end


def tell(console: Console, line: str) -> None:
    """Print a line in the language of the running command."""
    console.print(printable(translated(line)), markup=False, highlight=False, soft_wrap=True)


class _OnTerminal:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._now: TaskID | None = None

    def stage(self, name: str, done: int, total: int) -> None:
        if name not in self._tasks:
            text = translated(name)
            self._tasks[name] = self._bars.add_task(text, total=total, completed=done, trouble="")
        self._now = self._tasks[name]
        self._bars.update(self._now, completed=done, total=total)

    def tell(self, line: str) -> None:
        tell(self._bars.console, line)

    def trouble(self, text: str) -> None:
        if self._now is not None:
            self._bars.update(self._now, trouble=translated(text))


@contextlib.contextmanager
def progress_bar() -> Generator[Progress]:
    """Show a bar with the time left on a terminal; elsewhere and in CI a line now and then."""
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("CI"):
        yield Lines(lambda line: tell(console, line))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    trouble = TextColumn("{task.fields[trouble]}", markup=False)
    columns = (*columns, TimeRemainingColumn(), trouble)
    with Bars(
        *columns, console=console, transient=True, speed_estimate_period=_WHOLE_RUN_S
    ) as bars:
        yield _OnTerminal(bars)
