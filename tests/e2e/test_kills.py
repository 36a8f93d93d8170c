"""A run, its worker or the server is killed with SIGKILL at eight moments.

Each run ends in its true state, and the next one ends equal to an unbroken run. Python holds the run at the moment by
support/held_runs, so no test depends on speed.
"""

import json
import os
import shutil
import signal
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fault_work import run_of
from faulty_model import FakeServer, running
from prefect_stack import (
    START_SECONDS,
    Stack,
    keep_deployments,
    kill_leftovers,
    kill_process_of,
    laid_out,
)

from gigamind.judges.unanswerable_llm import UnanswerableReply

pytestmark = [pytest.mark.prefect, pytest.mark.faults, pytest.mark.timeout(900)]

ITEMS, IN_FLIGHT = 12, 4
APPEND = "gigamind.runs.store RunStore.append"
MOMENTS = {
    "before the start": "gigamind.publish.flows - 0",
    "while indexing": "gigamind.retrieval.keyword KeywordIndex.of 1",
    "while scoring": "gigamind.evaluation.run Steps.run_batch 1",
    "at the first verdict": f"{APPEND} 1",
    "at the middle verdict": f"{APPEND} {ITEMS // 2}",
    "at the last verdict": f"{APPEND} {ITEMS}",
    "while writing the folder": "gigamind.records.folder write_page 2",
    "while publishing": "gigamind.publish.ends publish_link 1",
}
STUCK_S = 10
HELD_S = 240  # on two cores that are busy with other tests


@dataclass
class Rig:
    """A server with a worker whose runs can be held, a model, and what an unbroken run leaves."""

    stack: Stack
    hook: Path
    model: FakeServer
    options: dict[str, Any]
    expected: Any = None
    requests: int = 0
    polling: subprocess.Popen[bytes] | None = None  # the worker

    def out(self, name: str) -> Path:
        return self.stack.clone / "eval" / name

    def start(self, name: str, moment: str = "", **options: object) -> Any:
        (self.hook / "moment").write_text(moment)
        return self.stack.start(**(self.options | {"out": f"eval/{name}"} | options))

    def held(self) -> bool:
        return (self.hook / "held").exists()

    def release(self) -> None:
        (self.hook / "moment").write_text("")
        (self.hook / "held").unlink(missing_ok=True)

    def worker(self) -> subprocess.Popen[bytes]:
        """Return the worker; start one if there is none."""
        if self.polling is None or self.polling.poll() is not None:
            self.polling = started(self.stack, "worker", PYTHONPATH=str(self.hook))
        return self.polling

    def results(self, name: str) -> list[Any]:
        """The figures and items of each finished run of a case; a second one has files of a comparison, too."""
        return [run_of(file.parent)[1] for file in sorted(self.out(name).glob("[!.]*/run.json"))]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("kills")
    stack = Stack(*laid_out(folder))
    keep_deployments(stack.clone, "search-nightly")
    hook = Path(
        shutil.copytree(Path(__file__).parents[1] / "support" / "held_runs", folder / "hook")
    )
    write_prices(stack, "prices.toml", "openai/judge")
    rows = (stack.clone / "examples" / "queries.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(row)["query"] for row in rows]

    def respond(body: dict[str, Any]) -> dict[str, Any]:
        """Replies that differ by question, and not by what separates the notes."""
        text = body["messages"][-1]["content"]
        [asked] = [one for one in questions if json.dumps(one, ensure_ascii=False) in text]
        share = zlib.crc32(asked.encode()) % 50 / 100
        reply = UnanswerableReply(answered=False, answer="", sources=(), confidence=share)
        return reply.model_dump(mode="json")

    with running() as model:
        model.respond = respond
        options = {
            "mode": "keyword",
            "speed_passes": 0,
            "sample": str(ITEMS),
            "min_score": None,  # of the deployment, for its own judge
            "unanswerable_mode": "llm",
            "model": "openai/judge",
            "api_base": model.url,
            "max_in_flight": IN_FLIGHT,
            "model_timeout_s": 60,
            "store_mode": "off",
            "prices": "prices.toml",
            "max_cost_usd": 1.0,
        }
        yield Rig(stack, hook, model, options)
    kill_leftovers(stack.home)


def write_prices(stack: Stack, file: str, model: str) -> None:
    text = f'[models."{model}"]\nprompt = 1.0\ncompletion = 2.0\n'
    (stack.clone / file).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def server(rig: Rig) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The server; a test that kills it starts another one and puts it here."""
    stack = rig.stack
    processes = [started_server(stack)]
    assert stack.make("deploy").returncode == 0
    rig.release()
    rig.worker()
    unbroken = ended(rig, rig.start("unbroken"))["state"]
    assert unbroken["type"] == "COMPLETED", unbroken
    [rig.expected], rig.requests = rig.results("unbroken"), rig.model.seen.total
    yield processes
    for process in (*processes, rig.worker()):
        kill(process)


def started(stack: Stack, target: str, **environment: str) -> subprocess.Popen[bytes]:
    with (stack.home / f"{target}.log").open("ab") as log:
        return subprocess.Popen(
            stack.command(target),
            cwd=stack.clone,
            env=stack.environment | environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def started_server(stack: Stack) -> subprocess.Popen[bytes]:
    process = started(stack, "server")
    stack.wait_for(lambda: stack.ask("/health"), START_SECONDS, "a server")
    return process


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ended(rig: Rig, run: Any) -> Any:
    return rig.stack.ended(run["id"], 300)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("victim", ["server", "run", "worker"])
def test_whatever_is_killed_a_run_ends_in_its_true_state_and_equal_to_an_unbroken_one(
    rig: Rig,
    server: list[subprocess.Popen[bytes]],
    victim: str,
    moment: str,
    request: pytest.FixtureRequest,
):
    name, before = f"{victim}-{list(MOMENTS).index(moment)}", rig.model.seen.total
    shutil.rmtree(rig.stack.home / "cache", ignore_errors=True)  # or nothing would be indexed
    run = rig.start(name, MOMENTS[moment])
    rig.stack.wait_for(rig.held, HELD_S, f"a run held {moment}")
    if victim == "run":
        kill_process_of(run)
    else:
        kill(rig.worker() if victim == "worker" else server[0])
    rig.release()
    if victim == "server":
        server[0] = started_server(rig.stack)
    first = ended(rig, run)["state"]
    rig.worker()
    completed = first["type"] == "COMPLETED"
    assert victim == "server" or completed == (victim == "worker"), first
    if not completed:
        last = ended(rig, rig.start(name))["state"]
        assert last["type"] == "COMPLETED", last
    found = rig.results(name)
    assert found == [rig.expected] * len(found)
    # A run that was killed while it published has left its folder.
    whole = not completed and moment == "while publishing"
    assert len(found) == 1 + whole
    paid_twice = rig.model.seen.total - before - rig.requests * len(found)
    request.node.user_properties.append((first["name"], f"paid twice: {paid_twice}"))
    assert 0 <= paid_twice <= IN_FLIGHT


@pytest.mark.usefixtures("server")
def test_a_run_whose_machine_is_gone_before_its_start_crashes_and_frees_its_place(rig: Rig):
    [found] = rig.stack.ask(
        "/automations/filter", {"automations": {"name": {"any_": ["run stuck"]}}}
    )
    kept = {name: found[name] for name in found.keys() - {"id", "created", "updated"}}
    soon = kept | {"trigger": kept["trigger"] | {"within": STUCK_S}}
    rig.stack.ask(f"/automations/{found['id']}", soon, method="PUT")
    try:
        run = rig.start("machine", MOMENTS["before the start"])
        rig.stack.wait_for(rig.held, HELD_S, "a run that has not started")
        kill(rig.worker())
        kill_process_of(run)
        rig.release()
        first = ended(rig, run)["state"]
    finally:
        rig.stack.ask(f"/automations/{found['id']}", kept, method="PUT")
    assert first["type"] == "CRASHED", first
    rig.worker()
    assert ended(rig, rig.start("machine"))["state"]["type"] == "COMPLETED"
    assert rig.results("machine") == [rig.expected]


@pytest.mark.usefixtures("server")
def test_a_wrong_key_and_a_folder_that_cannot_be_written_end_in_one_sentence(rig: Rig):
    # The model refuses the first request; of more than one in flight, others would succeed.
    name = "openai/judge;fault=401;times=1;sid=key"
    refusing = {"model": name, "max_in_flight": 1, "prices": "key.toml"}
    write_prices(rig.stack, "key.toml", name)
    rig.worker()
    file = rig.out("file")
    file.write_text("no folder")
    for out, given, code in (
        ("file/below", {}, "InvalidInput"),
        ("key", refusing, "EvaluationFailed"),
    ):
        first = ended(rig, rig.start(out, **given))["state"]
        assert (first["type"], first["name"]) == ("FAILED", code), first
        assert "sk-secret" not in first["message"]
        assert "\n" not in first["message"]
        if file.is_file():
            file.unlink()
        last = ended(rig, rig.start(out, **given))["state"]
        assert last["type"] == "COMPLETED", last
        assert len(rig.results(out)) == 1
