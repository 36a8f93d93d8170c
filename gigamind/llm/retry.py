"""The one owner of retries: faults of the transport are waited out, everything else fails at once."""

import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from gigamind.errors import LlmError
from gigamind.llm.faults import TRANSIENT
from gigamind.llm.settings import ModelSettings

if TYPE_CHECKING:
    from tenacity import RetryCallState

Result = TypeVar("Result")
LONGEST_WAIT_S = 60.0
_LONGEST_BACKOFF_S = 20.0


async def with_retries(attempt: Callable[[], Awaitable[Result]], settings: ModelSettings) -> Result:
    """The result of the first attempt that the transport lets through; `attempt` is an `async def`.

    Raises:
        LlmError: that of the last attempt.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

    # A new one each time: it keeps the state of one call, and shared between tasks all but one fail.
    retrying = AsyncRetrying(
        retry=retry_if_exception(is_transient),
        stop=stop_after_attempt(settings.attempts),
        wait=lambda state: _wait_s(state, settings.backoff_s),
        reraise=True,
    )
    return await retrying(attempt)


def is_transient(error: BaseException) -> bool:
    """Whether waiting may mend it: not when the server asks for more than a minute."""
    if not isinstance(error, LlmError) or error.code not in TRANSIENT:
        return False
    return (error.retry_after_s or 0.0) <= LONGEST_WAIT_S


def backoff_s(attempt: int, first_s: float, retry_after_s: float | None) -> float:
    """Seconds to wait after an attempt, from 1: doubled each time, less a bit of chance, never below `Retry-After`."""
    doubled = min(_LONGEST_BACKOFF_S, first_s * 2 ** (attempt - 1))
    return max(doubled * random.uniform(0.5, 1.0), retry_after_s or 0.0)  # noqa: S311


def _wait_s(state: "RetryCallState", first_s: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after_s if isinstance(error, LlmError) else None
    return backoff_s(state.attempt_number, first_s, asked)
