"""End states of flow runs, named like the exit codes, with one sentence and at most one of our errors."""

import logging
import re
import signal
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from gigamind.errors import (
    BrokenBoundError,
    BudgetError,
    EvaluationError,
    GigamindError,
    InputError,
    NotesError,
)
from gigamind.i18n import Language, Message, Text, _, language_of, translator

_language = ContextVar[Language | None]("language", default=None)


def set_run_language(language: Language) -> None:
    """Set the language of the flow run's messages; the default is that of the environment."""
    _language.set(language)


def in_run_language(message: Text) -> str:
    """Return a message in the language of the flow run."""
    return translator(_language.get() or language_of())(message)


class ReleaseStopped(GigamindError):  # noqa: N818  a verdict, no fault
    """A gate failed; `result` is the return value of the flow."""

    exit_code: ClassVar[int] = BrokenBoundError.exit_code
    result: Mapping[str, Any] = MappingProxyType({})


class NoVerdict(ReleaseStopped):
    """The runs are not comparable; the exit code is that of invalid input."""

    exit_code: ClassVar[int] = InputError.exit_code


ENDS = (
    (InputError, "InvalidInput"),
    (NotesError, "NotesInaccessible"),
    (BudgetError, "BudgetExceeded"),
    (EvaluationError, "EvaluationFailed"),
    (BrokenBoundError, "Regressed"),
)


def failed(error: GigamindError, name: str | None = None) -> Any:  # noqa: ANN401  Prefect's State, whose import costs a second
    """Return the Failed state for an error, by default named after its exit code."""
    from prefect.states import Failed

    default = next((name for kind, name in ENDS if isinstance(error, kind)), "EvaluationFailed")
    message = in_form_words(in_run_language(error.message))
    text = in_run_language(_("{message} (exit code {code})", message=message, code=error.exit_code))
    return Failed(name=name or default, message=text, data=error)


@contextmanager
def only_logged(problem: str, **values: object) -> Generator[None]:
    """Log an error inside the block as a warning: a failure to publish may not fail a run.

    `problem` is a marked message with `reason`.
    """
    from prefect.logging import get_run_logger

    try:
        yield
    except Exception as error:  # noqa: BLE001  of Prefect or the network
        warning = Message(problem, {**values, "reason": f"{type(error).__name__}: {error}"})
        get_run_logger().warning(in_run_language(warning))


_Result = TypeVar("_Result")
_PATIENCE_S = 60.0


def through_restart(call: Callable[[], _Result], patience_s: float = _PATIENCE_S) -> _Result:
    """Return the result of `call`, retried for so many seconds on an httpx.TransportError, which is then raised."""
    import httpx
    from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_exponential

    retrying = Retrying(
        retry=retry_if_exception_type(httpx.TransportError),
        stop=stop_before_delay(patience_s),
        wait=wait_exponential(0.5, max=4),
        reraise=True,
    )
    return retrying(call)


def deployment_name() -> str | None:
    """Return the name of the flow run's deployment; None without one."""
    from prefect.runtime import deployment

    return cast("str | None", through_restart(lambda: deployment.name))  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType]  a module of properties


_OPTION = re.compile(r"(?s:```.*?```)|gigamind [^\n`]*|--([a-z][a-z-]+)")


def in_form_words(text: str) -> str:
    """Return a text with options named as fields of the form, except in commands: --min-score is min_score."""
    return _OPTION.sub(lambda found: found[1].replace("-", "_") if found[1] else found[0], text)


def _log_expected(record: logging.LogRecord) -> bool:
    """Log an error of ours in one line; Prefect's engine logs every flow that ends as Failed with a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, GigamindError):
        record.msg, record.args = in_form_words(in_run_language(error.message)), ()
    if error is None or isinstance(error, GigamindError):
        record.exc_info = record.exc_text = None
    return True


for _name in ("prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
    logging.getLogger(_name).addFilter(_log_expected)


_own_sigterm = ContextVar[Any]("own_sigterm", default=None)


@contextmanager
def own_process() -> Generator[None]:
    """Mark that the flow runs in our own process, so that our SIGTERM handler stays in place."""
    set_before = _own_sigterm.set(signal.getsignal(signal.SIGTERM))
    try:
        yield
    finally:
        _own_sigterm.reset(set_before)


@contextmanager
def with_own_sigterm() -> Generator[None]:
    """In our own process, use our SIGTERM handler, which keeps finished work; a worker needs Prefect's."""
    ours = _own_sigterm.get()
    if ours is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    theirs = signal.signal(signal.SIGTERM, ours)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, theirs)
