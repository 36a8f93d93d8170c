"""What deployments/automations.yaml promises, fired on a real server by runs of a real worker, the model scripted."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from able_model import able
from answer_reply import answer_reply, supported
from faulty_model import FakeServer, running
from gate_policy import POLICY
from prefect_stack import Stack
from row_files import write_rows
from told import check_told
from webhook import Webhook

from gigamind.evaluation.options import validated
from gigamind.release.model import _pointer_of, read_snapshot
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import AnswerEvalOptions, SearchEvalOptions

pytestmark = [pytest.mark.prefect, pytest.mark.deployed, pytest.mark.timeout(600)]

REPEATS = int(os.environ.get("GIGAMIND_ALARMS", "1"))  # of the failing gate
GATE, PROMOTE = "release-gate/release-gate", "promote/promote"
ANSWERS = "eval-answers/answers-nightly"
TEXT = "The deploy runs every Friday at three."


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    """A model that finds each claim in the one note, and answers whatever else it is asked."""

    def respond(body: dict[str, Any]) -> dict[str, Any] | None:
        reply = able(body)
        return answer_reply([supported(TEXT)], TEXT) if reply and "claims" in reply else reply

    with running() as server:
        server.respond = respond
        yield server


@pytest.fixture(scope="module")
def asked(model: FakeServer) -> dict[str, Any]:
    """Options that ask it."""
    return {
        "model": "openai/judge",
        "api_base": model.url,
        "max_in_flight": 4,
        "model_timeout_s": 60,  # both given: no speed is measured
    }


@pytest.fixture(scope="module")
def answers(deployed: Stack, asked: dict[str, Any]) -> dict[str, Any]:
    """Options of a gate over two answers, whose baseline is promoted."""
    row = {
        "question": "When does the deploy run, and who has said so?",
        "answer": "It runs every Friday at three.",
        "language": "en",
        "context_notes": [{"title": "Deploy", "text": TEXT}],
    }
    rows = ({"id": name, **row} for name in ("a", "b"))
    write_rows(deployed.clone / "examples" / "two.jsonl", rows)
    options = {"task": "answers", "dataset": "examples/two.jsonl", **asked}
    baseline_of(deployed, AnswerEvalOptions, options)
    # Two answers that are held as a model's own would say nothing.
    rules = '["answers.correctness"]\njudged = []\ncards = "ignore"'
    held = POLICY.replace('["search.hit_at_1"]', rules)
    (deployed.clone / "held.toml").write_text(held, "utf-8")
    return options | {"compare": "eval/baselines", "gates": "held.toml"}


@pytest.fixture(scope="module")
def search(deployed: Stack, asked: dict[str, Any]) -> dict[str, Any]:
    """Options of a search gate whose judge asks the model, and which demands more than can be had."""
    options = {
        "task": "search",
        "dataset": "examples/queries.jsonl",
        "notes": "examples/vault",
        "mode": "keyword",
        "sample": "6",
        "speed_passes": 0,
        "unanswerable_mode": "llm",
        **asked,
    }
    baseline_of(deployed, SearchEvalOptions, options)
    demanding = f'{POLICY}\n[floors]\n"search.mrr" = 0.9\n'
    (deployed.clone / "demanding.toml").write_text(demanding, "utf-8")
    return options | {"compare": "eval/baselines", "gates": "demanding.toml"}


def baseline_of(stack: Stack, kind: Any, options: dict[str, Any]) -> None:
    """Evaluate here, and promote the run in the clone."""
    paths = {name: stack.clone / options[name] for name in ("dataset", "notes") if name in options}
    out = stack.clone / "base" / options["task"]
    evaluate(validated(kind, options | paths | {"out": out, "store": stack.home / "replies"}))
    read_snapshot(out, KINDS).promote(stack.clone / "eval" / "baselines")


def automation(stack: Stack, name: str) -> Any:
    listed = stack.ask("/automations/filter", {"automations": {"name": {"any_": [name]}}})
    assert len(listed) == 1
    return listed[0]


@pytest.fixture
def changed(deployed: Stack) -> Iterator[Callable[..., None]]:
    """Changes an automation until the end of the test."""
    before: list[Any] = []

    def change(name: str, trigger: dict[str, Any] | None = None, **fields: object) -> None:
        found = automation(deployed, name)
        before.append(found)
        put(found | {"trigger": found["trigger"] | (trigger or {})} | fields)

    def put(changed: Any) -> None:
        its_own = {"id", "created", "updated"}
        given = {name: value for name, value in changed.items() if name not in its_own}
        deployed.ask(f"/automations/{changed['id']}", given, method="PUT")

    yield change
    for found in before:
        put(found)


def baseline(stack: Stack, task: str) -> str:
    return (stack.clone / "eval" / "baselines" / _pointer_of(task)).read_text("utf-8").strip()


def runs_of(stack: Stack, name: str) -> list[Any]:
    """The flow runs of a deployment, the newest first."""
    deployments = {"id": {"any_": [stack.deployment(name)["id"]]}}
    return stack.ask(
        "/flow_runs/filter", {"deployments": deployments, "sort": "EXPECTED_START_TIME_DESC"}
    )


def test_a_gate_on_answers_runs_twice_and_what_passed_becomes_the_baseline_where_that_is_switched_on(
    deployed: Stack, answers: dict[str, Any], changed: Callable[..., None]
):
    first = deployed.ended(deployed.start(GATE, answers)["id"])
    assert first["state"]["name"] == "Completed", first["state"]
    assert runs_of(deployed, PROMOTE) == []  # off, as deployed
    before = baseline(deployed, "answers")
    changed("gate passed", enabled=True)
    second = deployed.ended(deployed.start(GATE, answers)["id"])
    assert second["state"]["name"] == "Completed", second["state"]
    [started] = deployed.wait_for(lambda: runs_of(deployed, PROMOTE), 60, "a promotion")
    promotion = deployed.ended(started["id"])
    assert promotion["state"]["name"] == "Completed", promotion["state"]
    outs = sorted((deployed.clone / "eval" / "out" / "release-gate").iterdir())
    assert len(outs) == 2
    found = baseline(deployed, "answers")
    assert found == f"answers-{json.loads((outs[-1] / 'run.json').read_text())['run_id']}.json"
    assert baseline(deployed, "answers") != before
    for run in (first, second, promotion):
        check_told(deployed, run)


def test_a_gate_that_fails_pauses_promotion_and_is_told(
    deployed: Stack,
    search: dict[str, Any],
    webhook: Webhook,
    model: FakeServer,
    request: pytest.FixtureRequest,
):
    calls, before = model.seen.total, len(webhook.ids)
    runs = [deployed.ended(deployed.start(GATE, search)["id"]) for _repeat in range(REPEATS)]
    assert model.seen.total > calls  # the gate's judge asks the model
    for run in runs:
        assert (run["state"]["type"], run["state"]["name"]) == ("FAILED", "Regressed"), run["state"]
        assert "MRR" in run["state"]["message"]
        shown = f"/runs/flow-run/{run['id']}"
        [told] = deployed.wait_for(
            lambda shown=shown: [text for text in webhook.texts if shown in text], 60, "a message"
        )
        assert told.startswith("release-gate: a gate failed")
        assert "MRR" in told
    ids = webhook.ids[before:]
    assert None not in ids
    assert len(set(ids)) == REPEATS
    request.node.user_properties.append(("alarms sent", len(ids)))
    assert deployed.deployment(PROMOTE)["paused"] is True

    refused = deployed.ended(deployed.start(PROMOTE)["id"])
    assert refused["state"]["name"] == "InvalidInput"
    assert "promote/promote" in refused["state"]["message"]
    for one in (run, refused):
        check_told(deployed, one)
    # By its type, for no event is named Failed; and the gate's own end was told once.
    failed = deployed.wait_for(
        lambda: [text for text in webhook.texts if "InvalidInput" in text], 30, "a message"
    )
    assert len(failed) == 1
    assert [text for text in webhook.texts if "Regressed" in text] == []


def test_a_run_that_its_budget_ended_is_told(
    deployed: Stack, answers: dict[str, Any], webhook: Webhook
):
    given = {
        name: value for name, value in answers.items() if name not in {"compare", "gates", "task"}
    }
    more = {"max_calls": 1, "store_mode": "off"}
    run = deployed.ended(deployed.start(ANSWERS, given | more)["id"])
    assert (run["state"]["type"], run["state"]["name"]) == ("FAILED", "BudgetExceeded"), run[
        "state"
    ]
    [told] = deployed.wait_for(
        lambda: [text for text in webhook.texts if text.startswith("answers-nightly: ")],
        30,
        "a message",
    )
    assert "budget" in told
    check_told(deployed, run)


@pytest.mark.faults
def test_a_run_that_was_killed_outside_a_worker_is_crashed_for_its_heartbeats_stop(
    deployed: Stack, changed: Callable[..., None], tmp_path: Path
):
    changed("no heartbeat", {"within": 10})
    with running() as silent:
        search = ("eval", "search", "--flow", "--mode", "keyword")
        command = [sys.executable, "-m", "gigamind", *search]
        given = {
            "--dataset": deployed.clone / "examples" / "queries.jsonl",
            "--notes": deployed.clone / "examples" / "vault",
            "--sample": 2,
            "--unanswerable-mode": "llm",
            "--model": "openai/judge;fault=timeout;hang=60",
            "--api-base": silent.url,
            "--out": tmp_path / "killed",
            "--speed-passes": 0,
        }
        command += [str(part) for pair in given.items() for part in pair]
        process = subprocess.Popen(
            command,
            env=deployed.environment | {"PREFECT_API_URL": deployed.api},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deployed.wait_for(lambda: silent.seen.total, 60, "a question to the model")
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def the_run() -> Any:
        [run] = deployed.ask("/flow_runs/filter", {"flow_runs": {"name": {"like_": "killed"}}})
        return run if run["state"]["type"] != "RUNNING" else None

    run = deployed.wait_for(the_run, 60, "the end of the killed run")
    assert run["state"]["type"] == "CRASHED"
    assert "No heartbeat" in run["state"]["message"]


@pytest.fixture
def resting(deployed: Stack) -> Iterator[None]:
    """A work pool whose runs do not start."""
    deployed.ask("/work_pools/local", {"is_paused": True}, method="PATCH")
    yield
    deployed.ask("/work_pools/local", {"is_paused": False}, method="PATCH")


@pytest.mark.usefixtures("resting")
def test_a_run_that_does_not_start_and_one_that_is_cancelled_are_told_once_each(
    deployed: Stack, webhook: Webhook
):
    run = deployed.start(PROMOTE)
    shown = f"/runs/flow-run/{run['id']}"

    def told() -> list[str]:
        return [text for text in webhook.texts if shown in text]

    [late] = deployed.wait_for(told, 90, "a message about a late run")
    assert late.startswith("promote: ")
    state = {"state": {"type": "CANCELLED", "name": "Cancelled"}, "force": True}
    deployed.ask(f"/flow_runs/{run['id']}/set_state", state)
    deployed.wait_for(lambda: len(told()) > 1, 60, "a message about a cancelled run")
    [cancelled] = told()[1:]
    assert cancelled.startswith("promote: Cancelled")


def test_a_nightly_that_does_not_end_is_told(
    deployed: Stack, webhook: Webhook, changed: Callable[..., None]
):
    changed("nightly missing", {"within": 10})
    found = lambda: [text for text in webhook.texts if text.startswith("search-nightly: no run")]  # noqa: E731
    assert deployed.wait_for(found, 90, "a message about a missing night")
