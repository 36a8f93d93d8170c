"""A team's own search, the 30 lines of examples/own_search.py: evaluated, compared, gated, and scheduled."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from gate_policy import shipped
from loopback import free_ports
from own_systems import EXAMPLES, evaluated_compared_and_gated, out_of_nightly, serving
from prefect_stack import Stack
from prefect_stack import serving as prefect_server

SEARCH = EXAMPLES / "own_search.py"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The example vault, as an index that has lost most of its words."""
    for note in (EXAMPLES / "vault").rglob("*.md"):
        copy = tmp_path / "damaged" / note.relative_to(EXAMPLES / "vault")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(note.read_text("utf-8")[:150], "utf-8")
    return tmp_path / "damaged"


def test_a_search_of_a_teams_own_is_evaluated_compared_and_gated(tmp_path: Path, damaged: Path):
    gates = shipped("settings").replace("rise_ms = 200", "rise_ms = 1e6")  # a busy machine
    gates = gates.replace("ratio = 1.15", "ratio = 1000")
    asked = ["eval", "search", "--dataset", EXAMPLES / "queries.jsonl", "--min-score", "0.4"]
    asked += ["--notes", EXAMPLES / "vault", "--speed-passes", "0", "--sample", "80"]
    first, _, gate = evaluated_compared_and_gated(tmp_path, asked, gates, SEARCH, (SEARCH, damaged))
    assert "search.mrr" in json.dumps(gate)
    page = (first / "report.html").read_text("utf-8")
    assert "http://127.0.0.1:" in page


@pytest.mark.prefect
@pytest.mark.deployed
@pytest.mark.timeout(600)
def test_it_is_evaluated_by_the_nightly_deployment(deployed: Stack):
    with serving(SEARCH, EXAMPLES / "vault") as address:
        own = {"system": address, "min_score": 0.4, "sample": "20", "out": "own"}
        kept = {"dataset": "examples/queries.jsonl", "notes": "examples/vault"}
        started = deployed.start(only=kept | own)
        out_of_nightly(deployed, started["id"], address, "own")


@pytest.mark.whole
@pytest.mark.prefect
@pytest.mark.timeout(600)
def test_a_repository_of_its_own_gets_a_nightly_gate_with_two_commands(
    tmp_path: Path, damaged: Path
):
    """Without a clone of gigamind: `init`, `deploy`, and a worker; the second night has lost most words."""
    repository = tmp_path / "my repository"
    repository.mkdir()
    rows = (EXAMPLES / "queries.jsonl").read_text("utf-8").splitlines(keepends=True)[:60]
    (repository / "queries.jsonl").write_text("".join(rows), "utf-8")
    (tmp_path / "server").mkdir()
    with prefect_server(tmp_path / "server") as stack, contextlib.ExitStack() as until_the_end:
        environment = stack.environment | {"PREFECT_API_URL": stack.api}

        def gigamind(*arguments: str) -> str:
            command = [sys.executable, "-m", "gigamind", *arguments]
            ended = subprocess.run(
                command,
                cwd=repository,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == 0, ended.stdout + ended.stderr
            return ended.stdout

        def night() -> str:
            run = stack.start("release-gate/search-nightly-my-repository")
            return stack.ended(run["id"], 150)["state"]["name"]

        port = free_ports()[0]
        with serving(SEARCH, EXAMPLES / "vault", port) as address:
            init = ("init", "--system", address, "--dataset", "queries.jsonl", "--lang", "en")
            written = gigamind(*init, "--nightly", "0 3 * * *")
            assert f"GIGAMIND_WORKER_ALLOWS='system={address}'" in written
            assert "1 deployments" in gigamind("deploy")
            pool = ["prefect", "worker", "start", "--pool", "local", "--type", "process"]
            command = [sys.executable, "-m", *pool]
            worker = until_the_end.enter_context(
                subprocess.Popen(command, cwd=tmp_path, env=environment)
            )
            until_the_end.callback(worker.kill)
            assert night() == "Completed"
            deployment = stack.deployment("release-gate/search-nightly-my-repository")
            assert deployment["schedules"][0]["schedule"]["cron"] == "0 3 * * *"
        with serving(SEARCH, damaged, port):
            assert night() == "Regressed"
