"""Worker, run and server killed with SIGKILL: each run ends in its true state, and the next one runs."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from prefect_stack import (
    ENDED,
    START_SECONDS,
    Stack,
    kill_leftovers,
    kill_process_of,
    laid_out,
)

pytestmark = [pytest.mark.prefect, pytest.mark.faults, pytest.mark.timeout(900)]

QUICK = {"mode": "keyword", "speed_passes": 0, "out": "eval/killed"}
STUCK_S = 10


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(*laid_out(tmp_path_factory.mktemp("kills")))
    yield stack
    kill_leftovers(stack.home)


@pytest.fixture
def server(stack: Stack) -> Iterator[subprocess.Popen[bytes]]:
    with stack.running("server") as server:
        stack.wait_for(lambda: stack.ask("/health"), START_SECONDS, "a server")
        assert stack.make("deploy").returncode == 0
        yield server


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def started(stack: Stack, *states: str, **options: object) -> Any:
    """Start a run and return it once it has one of the states."""
    run = stack.start(**(QUICK | options))

    def found() -> Any:
        now = stack.ask(f"/flow_runs/{run['id']}")
        assert now["state"]["type"] not in ENDED or states == ENDED, now["state"]
        return now if now["state"]["type"] in states else None

    return stack.wait_for(found, 120, f"a run that is {states}")


def last_mrr(stack: Stack) -> float:
    out = max((stack.clone / "eval" / "killed").glob("*[0-9]"))
    return json.loads((out / "summary.json").read_text())["overall"]["search"]["mrr"]


@pytest.mark.usefixtures("server")
def test_a_run_whose_worker_is_killed_goes_on_to_its_end(stack: Stack):
    with stack.running("worker") as worker:
        run = started(stack, "RUNNING")
        kill(worker)
        ended = stack.ended(run["id"])
    assert ended["state"]["type"] == "COMPLETED", ended["state"]
    killed = last_mrr(stack)
    with stack.running("worker"):
        assert stack.ended(stack.start(**QUICK)["id"], 180)["state"]["type"] == "COMPLETED"
    assert last_mrr(stack) == killed


@pytest.mark.usefixtures("server")
def test_a_run_that_its_killed_worker_never_started_crashes_and_frees_its_place(stack: Stack):
    listed = stack.ask("/automations/filter", {"automations": {"name": {"any_": ["run stuck"]}}})
    [found] = listed
    kept = {name: found[name] for name in found.keys() - {"id", "created", "updated"}}
    kept["trigger"] = kept["trigger"] | {"within": STUCK_S}
    stack.ask(f"/automations/{found['id']}", kept, method="PUT")
    with stack.running("worker") as worker:
        run = started(stack, "PENDING")
        kill(worker)
        kill_process_of(run)
        ended = stack.ended(run["id"], 120)
    assert ended["state"]["type"] == "CRASHED", ended["state"]


def test_a_run_outlives_a_server_that_is_killed_and_started_again(stack: Stack, server: Any):
    with stack.running("worker"):
        run = started(stack, "RUNNING", mode="hybrid")
        kill(server)
        with stack.running("server"):
            ended = stack.ended(run["id"], 240)
    assert ended["state"]["type"] == "COMPLETED", ended["state"]
