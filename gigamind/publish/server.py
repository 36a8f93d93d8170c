"""Check quickly whether Prefect can be used: its server, the credentials, the result storage and a worker.

Prefect itself retries for 15 seconds and ends in a traceback, or waits forever.
"""

import base64
import os
import socket
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from gigamind.errors import InputError, ServerError, reason_of
from gigamind.i18n import Text, _, joined, language_of, translator

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_TIMEOUT_S = 10.0  # of one request
_PATIENCE_S = 60.0  # how long a server may be busy; GIGAMIND_SERVER_WAIT_S changes it
_FLOW_S = 23 * 3_600.0  # a run that hangs must not drop the next nightly run
_REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


def check_server() -> str | None:
    """Check the configured server and return its address, None without one; ServerError if it cannot be used."""
    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    if url and (status := _status(url)) in _REFUSED:
        raise ServerError(
            "The Prefect server at {url} rejects the credentials (HTTP {status}): they are missing, wrong or expired."
            " For Prefect Cloud, set PREFECT_API_KEY. For your own server, set PREFECT_API_AUTH_STRING.",
            url=_shown(url),
            status=status,
        )
    return url or None


def check_result_storage() -> None:
    """Raise ServerError if the configured block for results, which Prefect opens before any flow, does not exist."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound
    from prefect.settings import get_current_settings

    block = get_current_settings().results.default_storage_block
    if block is None:
        return
    kind, _slash, name = block.partition("/")
    try:
        with get_client(sync_client=True) as client:
            client.read_block_document_by_name(name, kind)
    except ObjectNotFound as error:
        raise ServerError(
            "The Prefect server has no block {block} for storing results. Create this block, or name another"
            " one in PREFECT_DEFAULT_RESULT_STORAGE_BLOCK.",
            block=block,
        ) from error


def check_reports_port(host: str, port: str) -> None:
    """Raise ServerError if the reports of runs cannot be served at a port; the first step of `make server`."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # like the report server
        try:
            listening.bind((host, int(port)))
        except (OSError, ValueError, OverflowError) as error:
            raise ServerError(
                "Port {port} for the reports of runs cannot be used ({reason}). Set another port in"
                " GIGAMIND_REPORTS_PORT. Use the same value for make server, make deploy and make worker.",
                port=port,
                reason=_reason(error),
            ) from error


def check_worker_can_start(pool: str, kind: str) -> None:
    """Raise ServerError if a worker of a type cannot run the jobs of a work pool; a missing pool is created later."""
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
            "The work pool {pool} has type {type}, but this worker has type {kind}. Delete the pool with"
            " prefect work-pool delete {pool}, then run make deploy.",
            pool=pool,
            type=work_pool.type,
            kind=kind,
        )


def check_cron(cron: str) -> None:
    """Raise InputError if Prefect cannot read a cron expression."""
    from prefect.client.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    try:
        CronSchedule(cron=cron)
    except ValidationError as error:
        raise InputError(
            "--nightly {cron}: not a cron expression. For every night at 3, use '0 3 * * *'.",
            cron=cron,
        ) from error


def check_deployment(name: str) -> None:
    """Raise ServerError if no worker would run a deployment such as `eval-search/search-nightly`."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            deployment = client.read_deployment_by_name(name)
        except (ObjectNotFound, ValueError) as error:  # a name without "/"
            raise ServerError(
                "The Prefect server has no deployment {name}. Register deployments/prefect.yaml with make deploy,"
                " and name a deployment as FLOW/DEPLOYMENT.",
                name=name,
            ) from error
        if deployment.work_pool_name is None:
            raise ServerError(
                "The deployment {name} has no work pool. Add one in deployments/prefect.yaml, then run make deploy.",
                name=name,
            )
        check_worker(client, deployment.work_pool_name)


def check_worker(client: "SyncPrefectClient", pool: str) -> None:
    """Raise ServerError if no worker polls a work pool, or the pool is missing or paused."""
    from prefect.exceptions import ObjectNotFound

    try:
        work_pool = client.read_work_pool(pool)
    except ObjectNotFound as error:
        raise ServerError(
            "The Prefect server has no work pool {pool}. Create it with make deploy.", pool=pool
        ) from error
    if work_pool.is_paused:
        raise ServerError(
            "The work pool {pool} is paused. Resume it with prefect work-pool resume {pool}.",
            pool=pool,
        )
    if not any(worker.status == "ONLINE" for worker in client.read_workers_for_work_pool(pool)):
        others = [other.name for other in client.read_work_pools() if other.status == "READY"]
        problem = _(
            "No worker polls the work pool {pool}. Start one with prefect worker start --pool {pool} (in a clone: make"
            " worker).",
            pool=pool,
        )
        if others:
            known = _("The running workers poll {others}.", others=others)
            problem = joined((problem, known), " ")
        raise ServerError(problem)


def _status(url: str) -> int:
    """Return the status of a small request with credentials.

    A busy server is asked again for a minute.

    Raises:
        ServerError: nothing listens at the address, or the server stays busy.
    """
    import httpx

    wait_s, shown = _seconds("GIGAMIND_SERVER_WAIT_S", _PATIENCE_S), _shown(url)
    target, timeout_s = f"{shown.rstrip('/')}/flows/count", min(_TIMEOUT_S, wait_s)

    def ask() -> int:
        answer = httpx.post(target, json={}, headers=_credentials(), timeout=timeout_s)
        if answer.is_server_error:
            answer.raise_for_status()
        return answer.status_code

    # It exists, but does not answer in time or answers with an error of its own.
    busy = httpx.TimeoutException, httpx.ReadError, httpx.ProtocolError, httpx.HTTPStatusError
    attempts = Retrying(
        retry=retry_if_exception_type(busy),
        stop=stop_after_delay(wait_s),
        wait=wait_fixed(2),
        before_sleep=lambda state: _tell_wait(url, wait_s) if state.attempt_number == 1 else None,
        reraise=True,
    )
    try:
        return attempts(ask)
    except busy as error:
        raise ServerError(
            "The Prefect server at {url} did not answer within {seconds:g} seconds ({reason}). Look at its log, or"
            " wait longer with GIGAMIND_SERVER_WAIT_S.",
            url=shown,
            seconds=wait_s,
            reason=_reason(error),
        ) from error
    except (httpx.TransportError, httpx.InvalidURL) as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return HTTPStatus.OK  # Prefect has its own settings for certificates
        raise ServerError(
            "No Prefect server answers at {url} ({reason}). Start one with prefect server start (in a clone: make"
            " server), or correct PREFECT_API_URL.",
            url=shown,
            reason=_reason(error),
        ) from error


def flow_timeout_s() -> float | None:
    """Return the time limit of each flow and task in seconds, from GIGAMIND_FLOW_TIMEOUT_S; 0 there means None."""
    return _seconds("GIGAMIND_FLOW_TIMEOUT_S", _FLOW_S) or None


def _seconds(variable: str, default: float) -> float:
    text = os.environ.get(variable, "")
    try:
        return float(text) if text else default
    except ValueError:
        raise InputError(
            _("{variable} must be a number of seconds, not {text}", variable=variable, text=text)
        ) from None


def _tell_wait(url: str, wait_s: float) -> None:
    say = translator(language_of())
    text = _(
        "The Prefect server at {url} is busy. Asking again for up to {seconds:g} seconds ...",
        url=_shown(url),
        seconds=wait_s,
    )
    sys.stderr.write(f"{say(text)}\n")


def _credentials() -> dict[str, str]:
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    headers = dict(settings.client.custom_headers)
    if key := settings.api.key:
        return headers | {"Authorization": f"Bearer {key.get_secret_value()}"}
    if pair := settings.api.auth_string:
        encoded = base64.b64encode(pair.get_secret_value().encode()).decode()
        return headers | {"Authorization": f"Basic {encoded}"}
    return headers


def _shown(url: str) -> str:
    return urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2]).geturl()


def _reason(error: BaseException) -> Text:
    """Return the reason of an error, of the system if there is one."""
    cause: BaseException | None = error
    while cause and not (isinstance(cause, OSError) and cause.errno):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, OSError):
        return reason_of(cause)
    return (str(error) or type(error).__name__).splitlines()[0]
