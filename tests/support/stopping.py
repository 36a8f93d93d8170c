"""Ctrl-C at a moment of a run."""

import signal


class Stopping:
    """Progress of a run that somebody stops once so many items of a stage have ended."""

    def __init__(self, stage: str, done: int) -> None:
        self._moment = (stage, done)

    def stage(self, name: str, done: int, total: int) -> None:
        del total
        if (name, done) == self._moment:
            signal.raise_signal(signal.SIGINT)
