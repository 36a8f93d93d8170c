"""What must be there for a run to be taken: checked on a real server before anybody waits for it."""

import subprocess
import sys

import pytest
from prefect_stack import ROOT, Stack

from gigamind.errors import ServerError
from gigamind.publish.server import check_deployment, check_worker_can_start

pytestmark = [
    pytest.mark.prefect,
    pytest.mark.whole,
    pytest.mark.usefixtures("prefect_server", "deployed"),
]


@pytest.fixture(scope="session")
def deployed(prefect_stack: Stack) -> Stack:
    """A server with a deployment in a pool that no worker polls, and a pool of another type."""
    for name, kind in (("idle", "process"), ("foreign", "docker")):
        prefect_stack.ask("/work_pools/", {"name": name, "type": kind})
    flow = prefect_stack.ask("/flows/", {"name": "eval"})
    for name, pool in (("waits", "idle"), ("nowhere", None)):
        given = {"name": name, "flow_id": flow["id"], "work_pool_name": pool}
        prefect_stack.ask("/deployments/", given)
    return prefect_stack


def test_a_deployment_in_a_pool_that_no_worker_polls_is_told():
    with pytest.raises(ServerError, match=r"work pool idle.*make worker"):
        check_deployment("eval/waits")


def test_a_worker_that_polls_the_pool_is_found(deployed: Stack):
    deployed.ask("/work_pools/idle/workers/heartbeat", {"name": "one"})
    assert deployed.ask("/work_pools/idle/workers/filter", {})[0]["status"] == "ONLINE"
    check_deployment("eval/waits")


@pytest.mark.parametrize("name", ["eval/missing", "missing"])
def test_a_deployment_that_is_not_there_is_told(name: str):
    with pytest.raises(ServerError, match=rf"{name}.*make deploy"):
        check_deployment(name)


def test_a_deployment_without_a_pool_is_told():
    with pytest.raises(ServerError, match=r"deployments/prefect\.yaml"):
        check_deployment("eval/nowhere")


@pytest.mark.parametrize(("url", "lines"), [("", 1), ("postgresql+asyncpg://u:p@h/prefect", 0)])
def test_several_workers_on_sqlite_are_a_warning_with_the_way_out(
    deployed: Stack, url: str, lines: int
):
    for name in ("one", "two"):
        deployed.ask("/work_pools/idle/workers/heartbeat", {"name": name})
    database = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url} if url else {}
    ended = subprocess.run(
        [sys.executable, ROOT / "deployments" / "check.py", "database", "0.1"],
        env=deployed.environment | {"PREFECT_API_URL": deployed.api} | database,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    told = ended.stdout.splitlines()
    assert len(told) == lines
    pools = [pool["name"] for pool in deployed.ask("/work_pools/filter", {})]
    workers = [x for name in pools for x in deployed.ask(f"/work_pools/{name}/workers/filter", {})]
    online = sum(worker["status"] == "ONLINE" for worker in workers)  # other tests may have some
    parts = (f"{online} workers", "postgresql+asyncpg://")
    assert all(part in line for line in told for part in parts)


def test_a_worker_starts_in_a_pool_of_its_type_or_makes_one():
    check_worker_can_start("idle", "process")
    check_worker_can_start("not-yet", "process")
    with pytest.raises(ServerError, match=r"foreign.*docker.*prefect work-pool delete"):
        check_worker_can_start("foreign", "process")


def test_a_worker_whose_storage_of_results_is_missing_does_not_start(deployed: Stack):
    command = [sys.executable, ROOT / "deployments" / "check.py", "worker", "idle", "process"]
    missing = {"PREFECT_DEFAULT_RESULT_STORAGE_BLOCK": "local-file-system/missing"}
    ended = subprocess.run(
        command,
        env=deployed.environment | {"PREFECT_API_URL": deployed.api} | missing,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (3, "")
    [line] = ended.stderr.splitlines()
    assert line.startswith("Error: ")
    assert "local-file-system/" in line
    assert "PREFECT_DEFAULT_RESULT_STORAGE_BLOCK" in line
