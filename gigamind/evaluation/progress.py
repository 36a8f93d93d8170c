"""What an evaluation tells whoever waits for it."""

import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

LINE_EVERY_S = 30.0
"""Between two lines of a log."""


class Progress(Protocol):
    """Told how far the stages of a run are; never called from two threads at a time."""

    def stage(self, name: str, done: int, total: int) -> None:
        """`done` of `total` pieces of the stage `name` have ended; a new name is a new stage."""
        ...


@runtime_checkable
class Narrator(Progress, Protocol):
    """One that is told in words, too, why it takes so long."""

    def tell(self, line: str) -> None:
        """What holds from now on, such as the speed of a server."""
        ...

    def trouble(self, text: str) -> None:
        """What is the matter with the stage of now, in a few words; empty when all goes well.

        Told again and again while it goes on, for nothing may end for minutes.
        """
        ...

    def at_most(self, left: "Left") -> None:
        """How long it may still take, however much is left to do."""
        ...


Left = Callable[[], float | None]
"""Seconds that are left; None for any number."""


def _endless() -> float | None:
    return None


class Quiet:
    """Says nothing."""

    def stage(self, name: str, done: int, total: int) -> None:
        del name, done, total


def left_s(pieces: int, seconds: float, left: int, at_most: Left = _endless) -> float | None:
    """Seconds that the pieces left should take, by those that have ended, or may; None where nobody knows."""
    expected = (seconds / pieces * left if pieces else None), at_most()
    return min((estimate for estimate in expected if estimate is not None), default=None)


def clock(seconds: float | None) -> str:
    """Such as 0:12:30."""
    if seconds is None:
        return "-:--:--"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


class Lines:
    """Where no bar can be shown: a line every half minute, for logs."""

    def __init__(self, tell: Callable[[str], object], every_s: float | None = None) -> None:
        self._tell = tell
        self._every_s = LINE_EVERY_S if every_s is None else every_s
        self._told_at = time.monotonic()
        self._begun: dict[str, tuple[float, int]] = {}
        self._shown = self._trouble = ""
        self._pieces = 0, 0.0, 0
        self._at_most: Left = _endless

    def stage(self, name: str, done: int, total: int) -> None:
        begun, first = self._begun.setdefault(name, (time.monotonic(), done))
        self._shown = f"{name} {done}/{total}"
        self._pieces = done - first, time.monotonic() - begun, total - done
        self._tell_now_and_then()

    def tell(self, line: str) -> None:
        self._tell(line)

    def trouble(self, text: str) -> None:
        self._trouble = text
        self._tell_now_and_then()

    def at_most(self, left: Left) -> None:
        self._at_most = left

    def _tell_now_and_then(self) -> None:
        if time.monotonic() - self._told_at < self._every_s:
            return
        self._told_at = time.monotonic()
        seconds = left_s(*self._pieces, self._at_most)
        left = "" if seconds is None else f"{clock(seconds)} left"
        if self._at_most() == 0:
            left = "the minutes are over: only what was sent is waited for"
        self.tell(", ".join(filter(None, (self._shown, self._trouble, left))))
