"""A team's own search, the 30 lines of examples/own_search.py: evaluated, compared, gated, and scheduled."""

import json
from pathlib import Path

import pytest
from gate_policy import shipped
from own_systems import EXAMPLES, evaluated_compared_and_gated, out_of_nightly, serving
from prefect_stack import Stack

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
