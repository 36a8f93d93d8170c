"""How a command is stopped from outside: SIGTERM does what Ctrl-C does, and an ignored Ctrl-C stays ignored.

A service manager, a container and `kill` send SIGTERM, and what was paid for by then must be kept as with Ctrl-C.
`nohup` and `command &` in a script start a process with SIGINT ignored: Python leaves it so, as do asyncio, rich and
Prefect, which replace Python's own handler alone.
"""

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType

_EXIT = 128  # and the number of the signal, as shells have it


class Stop:
    """What a process was told by signals.

    Attributes:
        signal: that stopped it; SIGINT unless it was another.
    """

    def __init__(self) -> None:
        self.signal = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 143 after SIGTERM."""
        return _EXIT + self.signal

    def by_sigterm(self, _number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C would do now: asyncio has a handler of its own for it while it runs."""
        again, self.signal = self.signal == signal.SIGTERM, signal.SIGTERM
        by_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(by_ctrl_c):
            by_ctrl_c(signal.SIGINT, frame)
            return
        _interrupt(at_once=again)  # Ctrl-C is ignored, and nobody has a handler for it


def _interrupt(*, at_once: bool) -> None:
    """Raise KeyboardInterrupt: between two steps of asyncio's tasks, for one that it ends tells it with a traceback."""
    if (asyncio := sys.modules.get("asyncio")) and not at_once:
        with suppress(RuntimeError):  # no loop runs
            asyncio.get_running_loop().call_soon_threadsafe(_raise)
            return
    _raise()


def _raise() -> None:
    raise KeyboardInterrupt


@contextmanager
def stoppable() -> Generator[Stop]:
    """Listen to SIGTERM, unless the process was started with it ignored."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # Python lets no other thread listen
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, stop.by_sigterm)
    try:
        yield stop
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def ctrl_c_is_ignored() -> bool:
    """Whether the process was started so that SIGINT does nothing."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN
