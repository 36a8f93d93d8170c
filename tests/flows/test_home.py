"""Deployments whose workers share only a home: another worker finds baselines, runs, unfinished runs and replies."""

import json
import signal

import fsspec
import pytest
from shared_homes import Breaking, Worker, empty_home, names_in, wait_until

from gigamind.publish import home as module
from gigamind.records.folder import past_runs

FLOW = "eval_search.py:eval_search"
pytestmark = [
    pytest.mark.prefect,
    pytest.mark.whole,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("prefect_server"),
]
S3 = pytest.param("s3", marks=pytest.mark.faults)


@pytest.fixture(params=["memory", "file", S3])
def home(request, tmp_path):
    with empty_home(request.param, tmp_path) as url:
        yield url


@pytest.fixture
def workers(home, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_EVERY_S", 0.05)
    return [Worker(tmp_path / name, home) for name in "ABC"]


def search(**changes):
    chosen = {"dataset": "examples/queries.jsonl", "notes": "examples/vault"}
    return {**chosen, "mode": "keyword", "speed_passes": 0, **changes}


@pytest.fixture
def by_model(by_its_model):
    model = {name: value for name, value in by_its_model.items() if name != "store"}
    return lambda **changes: search(**{**model, "sample": "10", **changes})


def compared_with(state):
    assert state.is_completed(), state.message
    return state.result()["release"]["comparison"]["baseline"]["run_id"]


def run_id(run):
    return json.loads((run / "run.json").read_text("utf-8"))["run_id"]


def test_another_worker_compares_with_the_last_run_and_then_with_the_promoted_baseline(
    workers, home
):
    first, second, third = workers
    assert first.run(FLOW, search()).is_completed()
    (run,) = first.runs
    here = {f"eval/out/nightly/{run.name}/{file.name}" for file in run.iterdir()}
    assert here == set(names_in(home))

    assert compared_with(second.run(FLOW, search())) == run_id(run)
    assert len(past_runs(second.runs[-1], 20)) == 2

    promotion = {"run": "eval/out/nightly", "folder": "eval/baselines"}
    promoted = third.run("promote.py:promote", promotion)
    assert promoted.is_completed(), promoted.message
    assert compared_with(first.run(FLOW, search())) == run_id(second.runs[-1])
    assert [run.name for run in first.runs][:2] == [run.name for run in second.runs]


def test_another_worker_resumes_a_stopped_run_and_asks_only_for_what_is_missing(
    workers, home, by_model, server
):
    first, second, third = workers
    assert first.run(FLOW, by_model(max_calls=4)).is_failed()
    state = second.run(FLOW, by_model())
    assert state.is_completed(), state.message
    assert [run.name for run in second.runs] == [first.runs[0].name]
    assert server.seen.total == 10
    assert not any(".unfinished" in name for name in names_in(home))

    for worker in (third, first):  # the first one still has the unfinished run
        state = worker.run(FLOW, by_model())
        assert state.is_completed(), state.message
    assert server.seen.total == 10
    assert [run.suffix for run in third.runs] == ["", ""]
    assert [run.suffix for run in first.runs] == ["", "", ""]


@pytest.mark.faults
@pytest.mark.parametrize("home", ["file", "s3"], indirect=True)
def test_a_run_that_is_killed_goes_on_elsewhere_without_paying_again_for_what_was_uploaded(
    workers, home, by_model, server
):
    first, second, _third = workers
    slow = by_model(model="openai/judge;lat=800", max_in_flight=1)
    fs, root = fsspec.url_to_fs(home)

    def uploaded():
        fs.invalidate_cache()
        items = [name for name in fs.find(root) if name.endswith(".unfinished/items.jsonl")]
        return sum(fs.cat_file(name).count(b"\n") - 1 for name in items)  # below the run's own line

    with first.start(FLOW, json.dumps(slow)) as process:
        wait_until(lambda: uploaded() >= 3)
        process.send_signal(signal.SIGKILL)
    kept, before = uploaded(), server.seen.total
    state = second.run(FLOW, slow)
    assert state.is_completed(), state.message
    assert state.result()["summary"]["llm"]["outcomes"] == {"scored": 10}
    assert server.seen.total - before <= 10 - kept
    assert before - kept <= 2  # in flight, and not yet uploaded
    assert [run.name for run in second.runs] == [run.stem for run in first.runs]


@pytest.mark.parametrize("home", ["breaking"], indirect=True)
def test_a_storage_that_goes_away_ends_no_run_and_one_that_is_away_starts_none(
    workers, by_model, server, caplog
):
    first, _second, _third = workers
    Breaking.left = 1
    state = first.run(FLOW, by_model())
    assert state.is_completed(), state.message
    assert any("GIGAMIND_HOME=breaking://team/home" in line for line in caplog.messages)
    first.home = "nowhere://team/home"
    state = first.run(FLOW, by_model())
    assert (state.name, server.seen.total) == ("InvalidInput", 10)
