"""Whether Prefect can be used: its server, our credentials, the storage of results, a worker; told in a line, at once.

Prefect itself asks an unreachable server again for a quarter of a minute and ends in a traceback, its worker asks for
ever, and a run that no worker takes waits for ever.  The server is first asked by plain HTTP, for loading Prefect takes
two seconds.
"""

import base64
import os
import socket
import ssl
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gigamind.errors import ServerError

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_TIMEOUT_S = 3.0
_REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


def check_server() -> str | None:
    """The address of the configured server, which answers and accepts our credentials; None where none is configured.

    Raises:
        ServerError: it does not.
    """
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        from prefect.settings import get_current_settings  # a profile may name it

        url = get_current_settings().api.url
    if url and _asked(url) in _REFUSED:  # the credentials may stand in a profile, too
        _check_credentials(url)
    return url or None


def check_result_storage() -> None:
    """See to it that the block that is configured for results, if one is, is there: Prefect opens it before any flow.

    Raises:
        ServerError: it is not.
    """
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound
    from prefect.settings import get_current_settings

    block = get_current_settings().results.default_storage_block
    if block is None:
        return
    kind, _, name = block.partition("/")
    try:
        with get_client(sync_client=True) as client:
            client.read_block_document_by_name(name, kind)
    except ObjectNotFound as error:
        raise ServerError(
            f"the storage of results is missing: the server has no block {block}; create it, or name another in"
            " PREFECT_DEFAULT_RESULT_STORAGE_BLOCK"
        ) from error


def check_reports_port(host: str, port: str) -> None:
    """See to it that the reports of runs can be served at that port; it is the first thing `make server` does.

    Raises:
        ServerError: something else listens there, or nobody may.
    """
    with socket.socket() as listening:
        listening.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as the server of reports has it
        try:
            listening.bind((host, int(port)))
        except (OSError, ValueError, OverflowError) as error:
            raise ServerError(
                f"the port {port} for the reports of runs cannot be used ({_line(error)}): name another in"
                " GIGAMIND_REPORTS_PORT, the same for make server, make deploy and make worker"
            ) from error


def check_worker_can_start(pool: str, kind: str) -> None:
    """See to it that a worker of that type would run what is started in a work pool; it makes one where there is none.

    Raises:
        ServerError: it would not.
    """
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    check_result_storage()
    with get_client(sync_client=True) as client:
        try:
            work_pool = client.read_work_pool(pool)
        except ObjectNotFound:
            return
    if work_pool.type != kind:
        raise ServerError(
            f"the work pool {pool} is of type {work_pool.type}, and this starts a worker of type {kind}: delete the"
            f" pool with prefect work-pool delete {pool}, then make deploy"
        )


def check_deployment(name: str) -> None:
    """See to it that a run of a deployment, such as `eval-search/search-nightly`, would be taken by a worker.

    Raises:
        ServerError: it would not.
    """
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            deployment = client.read_deployment_by_name(name)
        except (ObjectNotFound, ValueError) as error:  # a name without "/"
            raise ServerError(
                f"no deployment {name} on the server; register those of deployments/prefect.yaml with make deploy,"
                " and name one as FLOW/DEPLOYMENT"
            ) from error
        if deployment.work_pool_name is None:
            raise ServerError(
                f"the deployment {name} names no work pool: give it one in deployments/prefect.yaml, then make deploy"
            )
        check_worker(client, deployment.work_pool_name)


def check_worker(client: "SyncPrefectClient", pool: str) -> None:
    """See to it that a worker takes what is started in a work pool.

    Raises:
        ServerError: none does, or there is no such pool.
    """
    from prefect.exceptions import ObjectNotFound

    try:
        work_pool = client.read_work_pool(pool)
    except ObjectNotFound as error:
        raise ServerError(f"no work pool {pool} on the server: make it with make deploy") from error
    if work_pool.is_paused:
        raise ServerError(
            f"the work pool {pool} is paused: resume it with prefect work-pool resume {pool}"
        )
    if not any(worker.status == "ONLINE" for worker in client.read_workers_for_work_pool(pool)):
        others = [other.name for other in client.read_work_pools() if other.status == "READY"]
        elsewhere = f" (workers poll {', '.join(others)})" if others else ""
        raise ServerError(
            f"no worker polls the work pool {pool}{elsewhere}: start one with make worker"
        )


def _asked(url: str) -> int:
    """The status of the answer to a small request that needs credentials where any are needed.

    Raises:
        ServerError: no answer.
    """
    request = urllib.request.Request(  # noqa: S310  whatever the caller has configured
        f"{_shown(url).rstrip('/')}/flows/count",
        data=b"{}",
        headers={"Content-Type": "application/json", **_credentials()},
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            return HTTPStatus.OK  # Prefect has settings of its own for whom to trust
        raise ServerError(
            f"no Prefect server answers at {_shown(url)} ({_line(reason)}): start one with make server, or mend"
            " PREFECT_API_URL"
        ) from error


def _credentials() -> dict[str, str]:
    if key := os.environ.get("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    if pair := os.environ.get("PREFECT_API_AUTH_STRING"):
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def _check_credentials(url: str) -> None:
    import httpx
    from prefect.client.orchestration import get_client

    try:
        with get_client(sync_client=True) as client:
            client.read_flows(limit=1)
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status in _REFUSED:
            raise ServerError(
                f"the Prefect server at {_shown(url)} refuses the credentials (HTTP {status}), which are missing,"
                " wrong or expired: set PREFECT_API_KEY, or PREFECT_API_AUTH_STRING for a server of your own"
            ) from None


def _shown(url: str) -> str:
    """The address without a password that it may hold."""
    return urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2]).geturl()


def _line(error: object) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]
