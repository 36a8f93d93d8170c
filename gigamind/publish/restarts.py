"""What asks the Prefect server with a client of its own waits where the server is being restarted.

Prefect's client asks again only once it has been connected; a new one, as artifacts and `prefect.runtime` make, gives
up after a second, and a server takes ten to start.
"""

from collections.abc import Callable
from typing import TypeVar, cast

Result = TypeVar("Result")
_PATIENCE_S = 60.0


def through_restart(ask: Callable[[], Result], patience_s: float = _PATIENCE_S) -> Result:
    """What `ask` gives, asked again for so many seconds while nothing answers.

    Raises:
        httpx.TransportError: nothing answered in that time.
    """
    import httpx
    from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_exponential

    retrying = Retrying(
        retry=retry_if_exception_type(httpx.TransportError),
        stop=stop_before_delay(patience_s),
        wait=wait_exponential(0.5, max=4),
        reraise=True,
    )
    return retrying(ask)


def deployment_name() -> str | None:
    """The deployment that the flow run is of; None for a run of none."""
    from prefect.runtime import deployment

    return cast("str | None", through_restart(lambda: deployment.name))  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType]  a module of properties
