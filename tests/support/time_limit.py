"""Ends work that takes more time of the processor than it may, whatever else the machine does."""

import signal
from collections.abc import Generator
from contextlib import contextmanager


class TooSlowError(BaseException):
    """No `except Exception` on the way takes it for a failure of its own."""


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Of the main thread alone; the engine of regular expressions looks for signals, too."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(*_: object) -> None:
    raise TooSlowError
