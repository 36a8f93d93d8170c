import json
import shutil
import time
from pathlib import Path

import pytest
from gate_policy import shipped
from prefect.client.orchestration import get_client
from prefect.flows import load_flow_from_entrypoint

from gigamind.publish.here import run_flow
from gigamind.tasks import evaluate
from gigamind.tasks.options import SearchEvalOptions

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.prefect, pytest.mark.whole]


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Options of a keyword run over a vault of three notes; the baseline stands in `base`."""
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in (
        ("approval", "승인은 팀장이 합니다"),
        ("leave", "annual leave is 15 days"),
        ("misc", "lunch menu"),
    ):
        (vault / f"{name}.md").write_text(f"# {name}\n\n{text}\n", "utf-8")
    rows = [
        {
            "id": "q1",
            "query": "승인은 누가?",
            "answerable": True,
            "expected_notes": ["approval.md"],
        },
        {
            "id": "q2",
            "query": "annual leave days",
            "answerable": True,
            "expected_notes": ["leave.md"],
        },
    ]
    dataset = tmp_path / "queries.jsonl"
    dataset.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")

    def make(out, **changes):
        given = {
            "dataset": dataset,
            "notes": vault,
            "out": tmp_path / out,
            "mode": "keyword",
            "speed_passes": 0,
            **changes,
        }
        return SearchEvalOptions.model_validate(given)

    evaluate(make("base"))
    return make


def gate(options, name="release_gate"):
    entrypoint = f"{ROOT / 'flows' / name}.py:{name}"
    flow = load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)
    return flow(options, return_state=True)


def event(name, out):
    """The event of that name about the run in that folder; it is written a moment after it is told."""
    run = json.loads((out / "run.json").read_text("utf-8"))["run_id"]
    asked = {"event": {"name": [name]}, "resource": {"id": [f"gigamind.run.{run}"]}}
    for _ in range(60):
        with get_client(sync_client=True) as client:
            answer = client.request("POST", "/events/filter", json={"filter": asked}).json()
        if answer["events"]:
            return answer["events"][0]
        time.sleep(0.5)
    raise AssertionError(f"no event {name}")


@pytest.fixture
def worse(release, tmp_path):
    """A vault in which one query is found no more; the gates of the case let the notes differ."""
    del release  # which makes the vault that this one is a copy of
    vault = tmp_path / "worse-vault"
    shutil.copytree(tmp_path / "vault", vault)
    (vault / "leave.md").write_text("# leave\n\nsee the portal\n", "utf-8")
    (vault / "misc.md").write_text(
        "# misc\n\nannual leave days, said three times: annual leave days\n", "utf-8"
    )
    (tmp_path / "gates.toml").write_text(shipped("notes"), "utf-8")
    return vault


@pytest.mark.usefixtures("prefect_server")
def test_a_regression_is_an_event_with_the_reasons(release, worse, tmp_path):
    how = {"compare": tmp_path / "base", "notes": worse, "gates": tmp_path / "gates.toml"}
    assert gate(release("worse", **how)).name == "Regressed"
    payload = event("gigamind.gate.failed", tmp_path / "worse")["payload"]
    assert payload["worse"] == 1
    assert "hit@1" in payload["reasons"][0]


@pytest.mark.usefixtures("prefect_server")
def test_an_evaluation_that_is_to_fail_on_a_regression_ends_like_the_gate(release, worse, tmp_path):
    how = {"compare": tmp_path / "base", "notes": worse, "gates": tmp_path / "gates.toml"}
    assert gate(release("told", **how), "eval_search").name == "RegressedSoft"
    state = gate(release("held", **how, fail_on_regression=True), "eval_search")
    assert (state.is_failed(), state.name) == (True, "Regressed")
    assert event("gigamind.gate.failed", tmp_path / "held")["payload"]["worse"] == 1


@pytest.mark.usefixtures("prefect_server")
def test_who_runs_that_flow_here_gets_the_run_and_its_verdict(release, worse, tmp_path):
    how = {"compare": tmp_path / "base", "notes": worse, "gates": tmp_path / "gates.toml"}
    finished = run_flow(release("here", **how, format="md", fail_on_regression=True))
    assert finished.verdict.exit_code(fail_on_regression=True) == 4
    assert (finished.out, finished.summary.task) == (tmp_path / "here", "search")
