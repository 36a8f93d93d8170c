"""`gigamind eval ... --flow`: run the flow of a task, such as `flows/eval_search.py`, in this process."""

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from gigamind.assets import asset
from gigamind.errors import ServerError
from gigamind.evaluation.finish import Evaluated
from gigamind.evaluation.options import EvalOptions
from gigamind.publish.ends import ReleaseStopped, own_process
from gigamind.publish.server import check_result_storage, check_server
from gigamind.release.policy import Release
from gigamind.tasks import TASKS

# No telemetry; time for a first start on a slow machine; task records of a short-lived server are written.
_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "GIGAMIND_FLOW_TIMEOUT_S": "0",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "0.5",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
}

_HEARTBEAT_S = 30  # as in deployments/server.env; automations.yaml waits for three of them


def prepare_flows() -> Callable[[], None]:
    """Load Prefect and start its short-lived server in the background; the returned function waits for both.

    A start takes ten to thirty seconds, in which the caller can do other work.
    """
    _set_up()
    started = Future[None]()

    def start() -> None:
        try:
            _start_server()
            started.set_result(None)
        except Exception as error:  # noqa: BLE001  raised where the caller waits
            started.set_exception(error)

    threading.Thread(target=start, daemon=True).start()
    return started.result


def _start_server() -> str | None:
    """Check the configured server and return its address, or start a short-lived one; ServerError if that fails."""
    if url := check_server():
        return url
    from prefect import get_client

    try:
        with get_client(sync_client=True):
            return None
    except RuntimeError as error:
        raise ServerError(
            "The temporary Prefect server did not start ({reason}). Start one with make server, or allow more time"
            " with PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS.",
            reason=str(error),
        ) from error


def _set_up() -> None:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("PREFECT_API_URL"):
        # The log of a short-lived server has no other reader, and the result follows on the terminal.
        os.environ.setdefault("PREFECT_LOGGING_LEVEL", "WARNING")


def run_flow(options: EvalOptions, runner: str | None = None) -> Evaluated[Any]:
    """Run a task's flow in this process, on the configured Prefect server or a short-lived one.

    `runner` says where batches and shards run, such as `processes:2`; None for this process.

    Raises:
        ServerError: the server cannot be reached or used.
        GigamindError: the evaluation failed.
    """
    _set_up()
    server = _start_server()
    import prefect.settings
    from prefect.flows import load_flow_from_entrypoint
    from prefect.settings import temporary_settings

    if server:
        check_result_storage()
    name = f"eval_{options.task}"
    entrypoint = f"{asset('flows') / name}.py:{name}"
    flow: Any = load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)
    # A server detects killed runs by missing heartbeats.  Their thread delays the end of a run by a second, which is
    # too much for a short-lived server.
    with (
        temporary_settings(
            {prefect.settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: _HEARTBEAT_S if server else None}
        ),
        own_process(),
    ):
        try:
            result: Mapping[str, Any] = flow(options, runner, return_state=True).result()
        except ReleaseStopped as stopped:
            result = stopped.result
    release = result["release"]
    return Evaluated(
        TASKS[options.task].compared.summary.model_validate(result["summary"]),
        Path(result["out"]),
        Release.model_validate(release) if release else None,
    )
