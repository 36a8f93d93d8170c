"""Checks that `make deploy`, `make worker` and `make run` make first, to fail early with advice.

reports HOST PORT  the reports of runs can be served there
database SECONDS   beside `make server`: warns once if several workers poll a server on SQLite, looking every so often
server             a server answers and accepts the credentials
worker POOL TYPE   results can be stored, and an existing work pool takes workers of that type
run NAME           the deployment exists, and a worker polls its work pool; then runs it, and prints how it ended

A failed check prints one line and ends with exit code 3, a failed run with exit code 1.
"""

import asyncio
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from gigamind.errors import ServerError
from gigamind.i18n import _, language_of, translator
from gigamind.publish import server

if TYPE_CHECKING:
    from prefect.client.schemas.objects import FlowRun, State


def run(name: str) -> None:
    """Run a deployment and print how it ended, with its reason."""
    server.check_deployment(name)
    from prefect.deployments import run_deployment
    from prefect.flow_runs import wait_for_flow_run
    from prefect.settings import get_current_settings

    started = cast("FlowRun", run_deployment(name, timeout=0, as_subflow=False))
    print(f"{get_current_settings().ui_url}/runs/flow-run/{started.id}", flush=True)
    ended = asyncio.run(wait_for_flow_run(started.id, timeout=None))
    state = cast("State", ended.state)
    print(f"{ended.name}: {state.name}. {state.message or ''}")
    if not state.is_completed():
        sys.exit(1)


def watch_database(seconds: str) -> None:
    """Warn once when several workers poll a server on SQLite."""
    import httpx
    from prefect.client.orchestration import get_client

    url, workers = os.environ.get("PREFECT_SERVER_DATABASE_CONNECTION_URL", "sqlite"), 0
    while url.startswith("sqlite") and workers < SEVERAL:
        time.sleep(float(seconds))
        with suppress(httpx.HTTPError), get_client(sync_client=True) as client:
            polling = (client.read_workers_for_work_pool(x.name) for x in client.read_work_pools())
            workers = sum(worker.status == "ONLINE" for found in polling for worker in found)
    if workers >= SEVERAL:
        text = _(
            "Warning: {workers} workers poll this server, which uses SQLite. Runs at the same time can fail. Use"
            " PostgreSQL: PREFECT_SERVER_DATABASE_CONNECTION_URL=postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE"
            " make server",
            workers=workers,
        )
        print(translator(language_of())(text), flush=True)


SEVERAL = 2
CHECKS = {
    "database": watch_database,
    "reports": server.check_reports_port,
    "worker": server.check_worker_can_start,
    "run": run,
}


def main(what: str, *arguments: str) -> None:
    """Run a check."""
    if what not in {"reports", "database"} and server.check_server() is None:
        raise ServerError(_("No Prefect server is configured. Set PREFECT_API_URL."))
    if what != "server":
        CHECKS[what](*arguments)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ServerError as error:
        say = translator(language_of())
        print(say(_("Error: {message}", message=error.message)), file=sys.stderr)
        sys.exit(error.exit_code)
