"""Checks of CPU time that hold on any machine: how the time of work grows, never how many seconds it takes."""

import gc
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")

ATTEMPTS = 5
PARTS = 4  # the larger text is this many times as long as the smaller one
LINEAR = 10.0  # the most that it may cost then, as a factor: linear work takes 4, quadratic work 16


class TooSlowError(BaseException):
    """Work that took too long. No `except Exception` on the way takes it for a failure of its own."""


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Stop the work of the main thread after `seconds` of CPU time, matches of regular expressions included."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def cost_ratio(
    small: Callable[[], object], large: Callable[[], Result], at_most: float
) -> tuple[float, Result]:
    """Return how many times the CPU time of `small` the work `large` takes, and what `large` returns.

    Compares the shortest of several times each. Measures again only while the ratio is above `at_most`.
    """
    shortest_small = shortest_large = float("inf")
    gc.disable()  # what it takes depends on all objects of the process
    try:
        for _ in range(ATTEMPTS):
            begun = time.process_time()
            small()
            between = time.process_time()
            result = large()
            shortest_large = min(shortest_large, time.process_time() - between)
            shortest_small = min(shortest_small, between - begun)
            if shortest_large <= at_most * shortest_small:
                break
    finally:
        gc.enable()
    return shortest_large / shortest_small, result


def check_linear(work: Callable[[int], Result], size: int) -> Result:
    """Fail unless the CPU time of `work` is linear in the size of its text; return what it returns for `size`."""
    ratio, result = cost_ratio(lambda: work(size // PARTS), lambda: work(size), LINEAR)
    assert ratio <= LINEAR, f"{PARTS} times the text takes {ratio:.1f} times as long"
    return result


def _stop(*_: object) -> None:
    raise TooSlowError
