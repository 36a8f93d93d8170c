"""How a flow run ends: as the exit code of the same command means, with one sentence, and no traceback.

A state carries one sentence and at most one of our errors: anything else as its data ends in a traceback of all of it
on the run's page.
"""

import logging
import signal
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, ClassVar

from gigamind.errors import (
    BrokenBoundError,
    BudgetError,
    EvaluationError,
    GigamindError,
    InputError,
    NotesError,
)
from gigamind.messages import message_in
from gigamind.wording import Language, language_of

_language = ContextVar[Language | None]("language", default=None)


def speak(language: Language) -> None:
    """From here on, what a flow run tells people is in this language; without it, in that of the environment."""
    _language.set(language)


def in_its_language(message: str) -> str:
    """A message in the language of the flow run."""
    return message_in(_language.get() or language_of(), message)


class ReleaseStopped(GigamindError):  # noqa: N818  a verdict, no fault
    """A gate failed; `result` is what the flow would have returned."""

    exit_code: ClassVar[int] = 4
    result: Mapping[str, Any] = MappingProxyType({})


class NoVerdict(ReleaseStopped):
    """Nothing could be said, which the command takes for what the caller can mend."""

    exit_code: ClassVar[int] = InputError.exit_code


ENDS = (
    (InputError, "InvalidInput"),
    (NotesError, "NotesInaccessible"),
    (BudgetError, "BudgetExceeded"),
    (EvaluationError, "EvaluationFailed"),
    (BrokenBoundError, "Regressed"),
)


def failed(error: GigamindError, name: str | None = None) -> Any:  # noqa: ANN401  Prefect's State, whose import costs a second
    """The Failed state of a run that ended in `error`, by default named by the meaning of its exit code."""
    from prefect.states import Failed

    meant = next((name for kind, name in ENDS if isinstance(error, kind)), "EvaluationFailed")
    return Failed(name=name or meant, message=_end_of(error), data=error)


def _end_of(error: GigamindError) -> str:
    return f"{in_its_language(str(error))} {in_its_language(f'(exit code {error.exit_code})')}"


class _ExpectedEnd(logging.Filter):
    """Tells an end that is a result in a line, where Prefect takes any Failed state for a crash and its traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._told: frozenset[str] = frozenset()

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, GigamindError):
            self._told = frozenset((str(error), in_its_language(str(error))))
            record.msg, record.args = _end_of(error), ()
            record.exc_info = record.exc_text = None
        line = record.getMessage()
        # A state is told by its repr, which writes a line break as two characters.
        again = any(message in line or repr(message)[1:-1] in line for message in self._told)
        if again and record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


_EXPECTED = _ExpectedEnd()
# Of a run's page, and of the worker's terminal.
_LOGGERS = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine")
for _name in _LOGGERS:  # whoever imports how flows end has them end so
    logging.getLogger(_name).addFilter(_EXPECTED)


_own_sigterm = ContextVar[Any]("own_sigterm", default=None)


@contextmanager
def own_process() -> Generator[None]:
    """The flow runs in a process of ours, whose handler of SIGTERM is to hold within it, too."""
    set_before = _own_sigterm.set(signal.getsignal(signal.SIGTERM))
    try:
        yield
    finally:
        _own_sigterm.reset(set_before)


@contextmanager
def stopped_as_we_stop() -> Generator[None]:
    """Where the process is ours, SIGTERM keeps what was done; Prefect's handler would crash the run.

    A worker's process is Prefect's: there its handler stays, which tells a cancelled run from a crashed one.
    """
    ours = _own_sigterm.get()
    if ours is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    theirs = signal.signal(signal.SIGTERM, ours)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, theirs)
