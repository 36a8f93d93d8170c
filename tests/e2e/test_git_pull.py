"""Runs that clone their flows into a fresh folder share runs and baselines through GIGAMIND_HOME."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prefect_stack import START_SECONDS, Stack, kill_leftovers, kill_process_of, laid_out

if TYPE_CHECKING:
    from faulty_model import FakeServer

pytestmark = [pytest.mark.prefect, pytest.mark.faults, pytest.mark.timeout(900)]
QUICK = {"mode": "keyword", "speed_passes": 0}


@dataclass(frozen=True)
class PullingStack(Stack):
    """A stack whose worker starts each run in an empty folder."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "GIGAMIND_HOME": str(self.shared)}

    @property
    def shared(self) -> Path:
        return self.home / "shared"

    @property
    def runs(self) -> list[Path]:
        return sorted((self.shared / "eval" / "out" / "search-nightly").glob("*[0-9]"))

    def done(self, name: str = "eval-search/search-nightly", **options: object) -> Any:
        run = self.ended(self.start(name, **options)["id"], 180)
        assert run["state"]["type"] == "COMPLETED", run["state"]
        return run


def git(*arguments: object) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@t")
    subprocess.run(["git", *who, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PullingStack]:
    """A server, a worker, and deployments that clone a bare repository."""
    stack = PullingStack(*laid_out(tmp_path_factory.mktemp("git")))
    bare = stack.home / "notes.git"
    git("init", "--quiet", "--initial-branch", "main", stack.clone)
    git("-C", stack.clone, "add", ".")
    git("-C", stack.clone, "commit", "--quiet", "--message", "as deployed")
    git("clone", "--quiet", "--bare", stack.clone, bare)
    try:
        with stack.running("server"):
            stack.wait_for(lambda: stack.ask("/health"), START_SECONDS, "a server")
            made = stack.make("deploy", GIT=f"file://{bare}#main")
            assert made.returncode == 0, made.stdout + made.stderr
            with stack.running("worker"):
                yield stack
    finally:
        kill_leftovers(stack.home)


def run_id(run: Path) -> str:
    return json.loads((run / "run.json").read_text("utf-8"))["run_id"]


def test_a_run_in_a_fresh_folder_finds_the_promoted_baseline(stack: PullingStack):
    stack.done(**QUICK)
    stack.done("promote/promote", run="eval/out/search-nightly")
    for _run in range(2):
        stack.done(**QUICK)
    first, _second, third = stack.runs
    compared = json.loads((third / "compare.json").read_text("utf-8"))["comparison"]
    assert compared["baseline"]["run_id"] == run_id(first)
    assert not list((stack.clone / "eval" / "out").iterdir())  # each run had a folder of its own


def test_a_killed_run_is_resumed_in_another_folder(stack: PullingStack, server: "FakeServer"):
    before = len(stack.runs)
    slow = {
        "unanswerable_mode": "llm",
        "min_score": None,
        "model": "openai/judge;lat=1500",
        "api_base": server.url,
        "max_in_flight": 1,
        "model_timeout_s": 60,
        "sample": "12",
    }
    run = stack.start(**(QUICK | slow))

    def uploaded() -> int:
        items = stack.shared.glob("eval/out/search-nightly/*.unfinished/items.jsonl")
        return sum(file.read_bytes().count(b"\n") - 1 for file in items)

    stack.wait_for(lambda: uploaded() >= 3, 180, "uploaded results")
    kill_process_of(run)
    assert stack.ended(run["id"], 180)["state"]["type"] == "CRASHED"
    kept, asked = uploaded(), server.seen.total
    stack.done(**(QUICK | slow))
    assert server.seen.total - asked <= 12 - kept
    assert len(stack.runs) == before + 1
    summary = json.loads((stack.runs[-1] / "summary.json").read_text("utf-8"))
    assert summary["llm"]["outcomes"] == {"scored": 12}


def test_a_flow_of_a_repository_is_loaded_by_its_address(stack: PullingStack):
    from prefect import flow

    source = f"file://{stack.home / 'notes.git'}"
    loaded: Any = flow.from_source(source, "flows/eval_search.py:eval_search")
    assert loaded.name == "eval-search"
    options = {"dataset": "examples/queries.jsonl", "notes": "examples/vault"}
    assert loaded.validate_parameters({"options": options})["options"].task == "search"
