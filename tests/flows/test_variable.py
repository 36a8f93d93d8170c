"""A Prefect Variable named after a deployment changes thresholds of its next runs."""

import json

import pytest
from shared_homes import Worker

FLOW = "eval_search.py:eval_search"
GIVEN = {
    "dataset": "examples/queries.jsonl",
    "notes": "examples/vault",
    "mode": "keyword",
    "speed_passes": 0,
}
pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]


@pytest.fixture
def worker(tmp_path):
    from prefect.variables import Variable

    yield Worker(tmp_path, "")
    Variable.unset("nightly")


def test_a_variable_changes_a_threshold_and_the_run_records_it(worker: Worker):
    from prefect.variables import Variable

    Variable.set("nightly", {"min_score": 0.2}, overwrite=True)
    assert worker.run(FLOW, GIVEN).is_completed()
    run = json.loads((worker.runs[-1] / "run.json").read_text("utf-8"))
    assert run["options"]["min_score"] == 0.2
    assert run["options"]["mode"] == "keyword"


@pytest.mark.parametrize("value", ["0.2", {"min_score": "high"}, {"api_base": "http://evil/"}])
def test_a_variable_that_cannot_be_used_or_is_not_allowed_fails_the_run(worker: Worker, value):
    from prefect.variables import Variable

    Variable.set("nightly", value, overwrite=True)
    worker.allows = ""
    state = worker.run(FLOW, GIVEN)
    assert (state.name, state.is_failed()) == ("InvalidInput", True)
