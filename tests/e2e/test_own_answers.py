"""A RAG system of a team's own, the lines of examples/own_rag.py: evaluated, compared, gated, and scheduled."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import reached
from fake_model import reply_to
from faulty_model import FakeServer, running
from gate_policy import shipped
from own_systems import EXAMPLES, evaluated_compared_and_gated, out_of_nightly, serving
from prefect_stack import Stack

RAG = EXAMPLES / "own_rag.py"
DEPLOYMENT = "eval-answers/answers-nightly"


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A model that looks each sentence up in the contexts, over HTTP, without a key."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with running() as server:
        server.respond = reply_to
        yield server


@pytest.fixture
def forgetful(tmp_path: Path) -> Path:
    """The same server after a change: it tells but the beginning of its contexts."""
    text = RAG.read_text("utf-8")
    assert '"text": NOTES[note]}' in text
    changed = tmp_path / "own_rag.py"
    changed.write_text(text.replace('"text": NOTES[note]}', '"text": NOTES[note][:150]}'), "utf-8")
    return changed


ASKED = ("eval", "answers", "--dataset", EXAMPLES / "answers.jsonl", "--notes", EXAMPLES / "vault")
ASKED += ("--sample", "20")


@pytest.mark.whole
def test_a_rag_system_of_a_teams_own_is_evaluated_compared_and_gated(
    tmp_path: Path, judge: FakeServer, forgetful: Path
):
    asked = (*ASKED, "--model", "openai/judge", *reached(judge), "--store-mode", "off")
    first, _, gate = evaluated_compared_and_gated(
        tmp_path, asked, shipped("settings"), RAG, (forgetful, EXAMPLES / "vault")
    )
    assert "answers.correctness" in json.dumps(gate)
    lines = (first / "per_item.jsonl").read_text("utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    assert len(items) == 20
    assert all(len(item["contexts"]) == 2 and item["system_latency_ms"] > 0 for item in items)
    page = (first / "report.html").read_text("utf-8")
    assert "http://127.0.0.1:" in page


@pytest.mark.prefect
@pytest.mark.deployed
@pytest.mark.timeout(600)
def test_it_is_evaluated_by_the_nightly_deployment(deployed: Stack, judge: FakeServer):
    model = {"model": "openai/judge", "api_base": judge.url, "model_timeout_s": 60}
    with serving(RAG, EXAMPLES / "vault") as address:
        own = {"system": address, "sample": "8", "out": "own-answers", "checklist": False}
        started = deployed.start(DEPLOYMENT, **own, **model, max_in_flight=8)
        out = out_of_nightly(deployed, started["id"], address, "own-answers")
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert (summary["counts"]["answers_evaluated"], summary["system"]["failed"]) == (8, 0)
