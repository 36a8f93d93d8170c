"""Wait while the Prefect server restarts (ten seconds); new Prefect clients give up after one second."""

from collections.abc import Callable
from typing import TypeVar, cast

Result = TypeVar("Result")
_PATIENCE_S = 60.0


def through_restart(call: Callable[[], Result], patience_s: float = _PATIENCE_S) -> Result:
    """Return the result of `call`; retry for so many seconds while the server does not answer.

    Raises:
        httpx.TransportError: the server did not answer in that time.
    """
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
