import json
import shutil
import time
from pathlib import Path

import pytest
from flow_artifacts import artifacts_of
from gate_policy import shipped
from prefect.client.orchestration import get_client
from prefect.flows import load_flow_from_entrypoint

from gigamind.tasks import evaluate
from gigamind.tasks.search.options import SearchEvalOptions

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.prefect


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


def gate(options):
    entrypoint = f"{ROOT / 'flows' / 'release_gate.py'}:release_gate"
    flow = load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)
    return flow(options, return_state=True)


def events(name):
    """The events of that name about search, newest first; they are written a moment after they are told."""
    for _ in range(60):
        with get_client(sync_client=True) as client:
            asked = {"filter": {"event": {"name": [name]}, "order": "DESC"}}
            found = client.request("POST", "/events/filter", json=asked).json()["events"]
        found = [event for event in found if event["payload"]["task"] == "search"]
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError(f"no event {name}")


@pytest.mark.usefixtures("prefect_server")
def test_a_run_like_its_baseline_completes_and_publishes_the_verdict(release, tmp_path):
    state = gate(release("same", compare=tmp_path / "base"))
    assert state.is_completed(), state.message
    assert artifacts_of(state)["search-vault"].data.startswith("# ✅ May be released")


@pytest.mark.usefixtures("prefect_server")
def test_a_regression_ends_failed_by_its_name_and_names_the_query(release, tmp_path):
    worse = tmp_path / "worse-vault"
    shutil.copytree(tmp_path / "vault", worse)
    (worse / "leave.md").write_text("# leave\n\nsee the portal\n", "utf-8")
    (worse / "misc.md").write_text(
        "# misc\n\nannual leave days, said three times: annual leave days\n", "utf-8"
    )
    (tmp_path / "gates.toml").write_text(shipped("notes"), "utf-8")
    how = {"compare": tmp_path / "base", "notes": worse}
    assert gate(release("refused", **how)).name == "NotComparable"
    state = gate(release("worse", **how, gates=tmp_path / "gates.toml"))
    assert (state.is_failed(), state.name) == (True, "Regressed")
    assert "search.hit_at_1: 1.0000 -> 0.5000" in state.message
    page = artifacts_of(state)["search-worse-vault"].data
    assert page.startswith("# ❌ Do not release: hit@1: 1.0000 → 0.5000")
    assert "| annual leave days (q2) | leave.md | 1. **leave.md** |" in page
    told = events("gigamind.gate.failed")[0]
    assert told["payload"]["worse"] == 1
    assert "search.hit_at_1" in told["payload"]["reasons"][0]


@pytest.mark.usefixtures("prefect_server")
def test_without_a_baseline_there_is_no_gate(release):
    state = gate(release("alone"))
    assert (state.is_failed(), state.name) == (True, "InvalidInput")
    assert "--compare" in state.message
