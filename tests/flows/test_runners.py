"""Evaluations on the workers of a pool: the same summary, whatever runs them, and whatever dies on the way."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from able_model import able
from scripted_judges import CREDULOUS, read_labelled_answers
from timeless import without_times

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.shards import _shard_folders, attempts_of, is_resumable, unfinished_folder
from gigamind.i18n import _
from gigamind.prompting.fences import fence_key
from gigamind.publish.here import run_flow
from gigamind.publish.pool import Pool
from gigamind.tasks import evaluate
from gigamind.tasks.options import AnswerEvalOptions

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]
ROOT = Path(__file__).parents[2]


def cluster(name: str) -> pytest.ParameterSet:
    """Of one process, for each loads everything; more are told apart by `processes:2`."""
    missing = find_spec(f"prefect_{name}") is None
    needs = pytest.mark.skipif(missing, reason=f"needs: pip install gigamind-eval[{name}]")
    # Both close their sockets and processes in their own time.
    careless = pytest.mark.filterwarnings("default")
    return pytest.param(f"{name}:local:1", marks=[needs, careless])


WORKERS = ["processes:2", cluster("dask"), cluster("ray")]  # threads: see the tests below


@pytest.fixture(scope="module", autouse=True)
def server_of_every_thread(prefect_server: str) -> Iterator[None]:
    """Prefect's own threads do not see settings of a context, and each would start a server."""
    from prefect.context import refresh_global_settings_context

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PREFECT_API_URL", prefect_server)
        refresh_global_settings_context()
        yield
    refresh_global_settings_context()


@pytest.fixture
def by_model(options, by_its_model):
    """Options of a run whose model is asked anew, each prompt with the same fence as before."""
    judged = {**by_its_model, "sample": "50", "store_mode": "refresh", "fresh_fraction": 0.2}
    return lambda **changes: options(**(judged | changes))


@pytest.fixture
def in_batches_of_30(monkeypatch):
    """Else the examples are one batch."""
    monkeypatch.setattr("gigamind.evaluation.run._batch_size", lambda *_: 30)


def summary(out: Path):
    return without_times(json.loads((out / "summary.json").read_text("utf-8")))


def without_hits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_hits(one) for key, one in value.items() if key != "cache_hits"}
    return value


def rows(out: Path):
    lines = (out / "per_item.jsonl").read_text("utf-8").splitlines()
    return [without_times(json.loads(line)) for line in lines]


@pytest.mark.usefixtures("in_batches_of_30")
def test_the_summary_of_what_asks_no_model_is_the_same_in_batches(options, tmp_path):
    direct = evaluate(options(out=tmp_path / "direct"))
    scaled = run_flow(options(), "threads:4")
    assert summary(scaled.out) == summary(direct.out)
    assert rows(scaled.out) == rows(direct.out)


@pytest.mark.usefixtures("in_batches_of_30")
@pytest.mark.parametrize("runner", WORKERS)
def test_the_summary_of_a_model_that_judges_is_the_same_on_any_workers(
    by_model, server, tmp_path, runner
):
    direct = evaluate(by_model(out=tmp_path / "direct"))
    asked = server.seen.total
    scaled = run_flow(by_model(), runner)
    assert server.seen.total == 2 * asked
    assert summary(scaled.out) == summary(direct.out)
    assert rows(scaled.out) == rows(direct.out)
    assert not unfinished_folder(scaled.out).exists()


@pytest.fixture
def answered(server, tmp_path):
    def make(out, **changes):
        return AnswerEvalOptions.model_validate(
            {
                "dataset": ROOT / "examples" / "answers.jsonl",
                "notes": ROOT / "examples" / "vault",
                "out": tmp_path / out,
                "model": "openai/judge",
                "api_base": server.url,
                "max_in_flight": 8,
                "model_timeout_s": 60,
                "store": tmp_path / "replies",
                **changes,
            }
        )

    return make


def test_answers_and_their_checks_are_judged_in_shards_as_they_are_in_one(answered, server):
    server.respond = able
    given = {"checklist": True, "store_mode": "refresh"}
    direct = evaluate(answered("direct", **given))
    scaled = run_flow(answered("scaled", **given), "threads:4")
    assert summary(scaled.out) == summary(direct.out)
    assert rows(scaled.out) == rows(direct.out)


def test_a_model_that_looks_twice_is_tried_once_for_all_shards(answered, server, tmp_path):
    answers = read_labelled_answers(None, None).answers

    def respond(body):
        prompt = str(body["messages"][-1]["content"])
        about = next((one for one in answers if one.case.question in prompt), answers[0])
        return CREDULOUS.respond(about, body["response_format"], prompt)

    server.respond = respond
    # Each run has a store of its own, with the same fence around the notes of its prompts.
    fence_key(tmp_path / "replies", "readwrite")
    shutil.copytree(tmp_path / "replies", tmp_path / "other replies")
    direct = evaluate(answered("direct"))
    asked = server.seen.total
    scaled = run_flow(answered("scaled", store=tmp_path / "other replies"), "threads:4")
    assert server.seen.total == 2 * asked
    # A shard that came a moment after another one had asked took its reply from the store, and says so.
    assert without_hits(summary(scaled.out)) == without_hits(summary(direct.out))


def test_a_budget_holds_over_all_shards_and_a_resumed_flow_goes_on(
    flow, by_model, server, tmp_path
):
    calls = 7
    given = {"max_calls": calls, "fresh_fraction": 0}
    state = flow(by_model(**given), "threads:4", return_state=True)
    assert (state.is_failed(), server.seen.total) == (True, calls)
    assert f"{50 - calls} of 50 queries" in state.message
    resumed = {"out": None, "resume": tmp_path / "out", "fresh_fraction": 0}
    state = flow(by_model(**resumed), "threads:2", return_state=True)
    assert state.is_completed(), state.message
    assert server.seen.total == 50
    assert state.result()["summary"]["llm"]["calls"] == 50


def test_a_run_that_was_begun_in_shards_is_resumed_without_and_the_other_way_round(
    flow, by_model, server, tmp_path
):
    def go_on(runner, **limits):
        given = {"out": None, "resume": tmp_path / "out", "fresh_fraction": 0}
        return flow(by_model(**given, **limits), runner, return_state=True)

    flow(by_model(max_calls=5, fresh_fraction=0), "threads:2", return_state=True)
    assert go_on(None, max_calls=20).is_failed()
    assert server.seen.total == 20
    assert go_on("threads:2", max_calls=30).is_failed()
    assert server.seen.total == 30
    assert go_on(None).result()["summary"]["llm"]["calls"] == server.seen.total == 50


def test_a_key_that_is_refused_stops_all_shards(flow, by_model, server):
    model = "openai/judge;fault=401"
    state = flow(by_model(model=model, max_in_flight=2), "threads:2", return_state=True)
    assert state.is_failed()
    assert "auth_failed" in state.message
    assert server.seen.total <= 4  # of eight shards, two had begun, with a request in flight each


def killed_when_it_judges(out: Path, killed: list[int]) -> None:
    """Kills one worker process in the middle of its shard."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            for shard in _shard_folders(unfinished_folder(out)):
                lines = (shard / "items.jsonl").read_text("utf-8").count("\n")
                if lines > 3 and (pid := writer_of(shard / "items.jsonl")):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
        time.sleep(0.02)


def writer_of(path: Path) -> int | None:
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if link.readlink() == path.resolve():
                return int(link.parts[2])
    return None


@pytest.mark.faults
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="finds the process in /proc")
def test_a_worker_that_is_killed_costs_what_it_had_in_flight(by_model, server, tmp_path):
    killed: list[int] = []
    killer = threading.Thread(target=killed_when_it_judges, args=(tmp_path / "out", killed))
    killer.start()
    model = "openai/judge;lat=200"
    done = run_flow(by_model(model=model, fresh_fraction=0), "processes:2")
    killer.join()
    assert killed
    assert killed[0] != os.getpid()
    assert done.summary.llm.outcomes == {"scored": 50}
    assert server.seen.total <= 50 + 8  # with the one, the pool loses all of its processes
    # A call is written down before it is sent: one that was killed in between counts as made.
    assert 0 <= done.summary.llm.calls - server.seen.total <= 8


def interrupt_when_it_judges(out: Path) -> None:
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if len(attempts_of(out)) > 12:
            os.kill(os.getpid(), signal.SIGINT)
            return
        time.sleep(0.05)


@pytest.mark.faults
@pytest.mark.parametrize("runner", ["threads:2", "processes:2"])
def test_ctrl_c_ends_all_shards_at_once_and_keeps_what_they_have(
    flow, by_model, server, tmp_path, runner
):
    waiting = threading.Thread(target=interrupt_when_it_judges, args=(tmp_path / "out",))
    waiting.start()
    given = {"model": "openai/judge;lat=300", "max_in_flight": 2, "fresh_fraction": 0}
    state = flow(by_model(**given), runner, return_state=True)
    waiting.join()
    assert state.name == "Interrupted"
    asked = server.seen.total
    assert asked < 30
    assert is_resumable(tmp_path / "out")
    resumed = by_model(out=None, resume=tmp_path / "out", fresh_fraction=0, model=given["model"])
    state = flow(resumed, "threads:2", return_state=True)
    assert state.result()["summary"]["llm"]["outcomes"] == {"scored": 50}
    assert server.seen.total <= 50 + 4  # what was in flight is asked again


def is_running(process: str) -> bool:
    stat = Path("/proc", process, "stat")
    return stat.is_file() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.faults
@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="finds the processes in /proc")
def test_a_flow_that_is_killed_takes_its_processes_along_and_is_gone_on_with(
    flow, by_model, server, tmp_path, prefect_server
):
    given = {"model": "openai/judge;lat=300", "max_in_flight": 4, "fresh_fraction": 0}
    options = by_model(**given).model_dump_json()
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from gigamind.publish.here import run_flow\n"
        "from gigamind.tasks.options import SearchEvalOptions\n"
        "if __name__ == '__main__':\n"
        "    run_flow(SearchEvalOptions.model_validate_json(sys.argv[1]), 'processes:2')\n"
    )
    home = {"PREFECT_API_URL": prefect_server, "PREFECT_HOME": str(tmp_path / "home")}
    killed = subprocess.Popen([sys.executable, script, options], env={**os.environ, **home})
    deadline = time.monotonic() + 100
    while len(attempts_of(tmp_path / "out")) < 12 and time.monotonic() < deadline:
        time.sleep(0.05)
    tasks = Path("/proc", str(killed.pid), "task").glob("*/children")
    children = [child for task in tasks for child in task.read_text().split()]
    killed.kill()
    killed.wait()
    time.sleep(2)
    asked = server.seen.total
    assert children
    assert not any(map(is_running, children))
    assert 12 - 2 * 4 <= asked < 50  # attempts are written down before they are sent
    state = flow(
        by_model(out=None, resume=tmp_path / "out", **given), "threads:2", return_state=True
    )
    assert state.result()["summary"]["llm"]["outcomes"] == {"scored": 50}
    assert server.seen.total <= 50 + 4  # what was in flight is paid for twice


def test_an_error_leaves_a_worker_without_what_led_to_it():
    def call(number):
        raise InputError("missing") from OSError(number)

    with pytest.raises(InputError) as raised:
        run_in_flow(call, 1)
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)


def test_a_runner_that_there_is_not_is_refused_with_those_that_there_are(flow, options):
    state = flow(options(), "none", return_state=True)
    assert (state.is_failed(), state.name) == (True, "InvalidInput")
    possible = "threads:4, processes:2, dask:tcp://HOST:8786"
    assert possible in state.message
    for runner in ("", "threads", "threads:0", "processes:many", "spark:local"):
        with pytest.raises(InputError, match=possible):
            Pool(runner)


@pytest.mark.parametrize("runner", ["dask:tcp://127.0.0.1:8786", "ray:local"])
def test_a_runner_whose_package_is_missing_tells_how_to_have_it(monkeypatch, runner):
    extra = runner.partition(":")[0]
    monkeypatch.setitem(sys.modules, f"prefect_{extra}", None)
    with pytest.raises(InputError, match=rf"pip install gigamind-eval\[{extra}\]"):
        Pool(runner)


def run_in_flow(call, *numbers, runner="threads:2"):
    """The results of a call for each of these numbers, by number."""
    from prefect import flow

    waiting = list(numbers)

    def following():
        number = waiting.pop(0) if waiting else None
        return None if number is None else (f"judge {number}", number)

    @flow(name="pool", persist_result=False)
    def run():
        with Pool[int](runner) as pool:
            jobs = pool.run(
                call,
                lambda number: {"number": number},
                following=following,
                again=waiting.append,
                advice=_("it is kept"),
            )
            return dict(jobs)

    return run()


def test_a_job_that_breaks_off_once_is_begun_again_and_twice_ends_the_run(tmp_path):
    def call(number):
        with (tmp_path / f"{number}").open("a") as file:
            file.write("begun\n")
        if number == 1 and (tmp_path / "1").read_text().count("begun") > 1:
            return number
        if number:
            raise RuntimeError("no worker is left")
        return number

    assert run_in_flow(call, 0, 1) == {0: 0, 1: 1}
    with pytest.raises(EvaluationError, match=r"judge 2 failed twice: .*no worker.*it is kept"):
        run_in_flow(call, 0, 2)
    assert (tmp_path / "2").read_text().count("begun") == 2


def test_an_error_of_ours_is_not_tried_again(tmp_path, caplog):
    def call(number):
        with (tmp_path / f"{number}").open("a") as file:
            file.write("begun\n")
        raise InputError("the dataset is missing")

    with pytest.raises(InputError, match="the dataset is missing"):
        run_in_flow(call, 1)
    assert (tmp_path / "1").read_text().count("begun") == 1
    task_errors = [x for x in caplog.records if x.name == "prefect.task_runs" and x.levelno >= 40]
    assert task_errors
    assert not any(record.exc_info and record.exc_info[0] for record in task_errors)  # no traceback


def test_a_cluster_that_does_not_answer_is_told_in_a_line():
    pytest.importorskip("prefect_dask", reason="needs: pip install gigamind-eval[dask]")
    with pytest.raises(EvaluationError, match=r"tcp://127.0.0.1:9"), Pool("dask:tcp://127.0.0.1:9"):
        pass
