"""`--batch` over the examples, as a user would meet it: stopped by Ctrl-C, looked at, cancelled, resumed."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import forked
import pytest
from called import call
from fake_batch import BatchServer
from faulty_model import run as serve

from gigamind.evaluation.shards import unfinished_folder
from gigamind.llm.batches.batcher import read_batches

pytestmark = pytest.mark.timeout(300)  # a process that loads the client of a model server

EXAMPLES = Path(__file__).parents[2] / "examples"
ITEMS = 40  # more than requests that travel at a time by themselves
MODELS = {"openai": "openai/judge", "anthropic": "anthropic/judge"}


@pytest.fixture
def batch_server() -> Iterator[BatchServer]:
    with serve(BatchServer()) as server:
        yield server


@pytest.fixture
def arguments(batch_server, tmp_path, monkeypatch):
    """Of `gigamind eval ... --batch` on the examples."""
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    prices = tmp_path / "prices.toml"

    def of(task, dataset, model, *options):
        prices.write_text(f'[models."{model}"]\nprompt = 1\ncompletion = 2\n', encoding="utf-8")
        given = ("--dataset", EXAMPLES / dataset, "--notes", EXAMPLES / "vault")
        judged = ("--model", model, "--api-base", batch_server.url, "--prices", prices)
        more = ("--format", "json", "--sample", ITEMS, "--batch", "--batch-poll", "0.05")
        return ["eval", task, *map(str, (*given, *judged, *more, *options))]

    return of


SEARCH = ("--mode", "keyword", "--unanswerable-mode", "llm")


def run(arguments, code=0):
    """Standard output and error of a command in this process."""
    ended = call(*arguments)
    assert ended.code == code, ended.stderr
    return ended.stdout, ended.stderr


@pytest.mark.faults
@pytest.mark.parametrize("provider", MODELS)
def test_stopped_and_resumed_a_run_in_batches_costs_half_and_once(
    batch_server, arguments, tmp_path, provider
):
    model, out = f"{MODELS[provider]};looks=1000", tmp_path / "out"
    command = arguments("search", "queries.jsonl", model, *SEARCH)
    stages = list[str]()
    batch_server.at_stage = lambda stage: bool(stages.append(stage))
    estimate, _ = run([*command, "--dry-run"])
    assert "24 h" in estimate

    stopped = forked.command(tmp_path, *command, "--out", out)
    folder = unfinished_folder(out)
    while not any(batch.batch_id for batch in read_batches(folder)) and stopped.poll() is None:
        time.sleep(0.02)
    while stages.count("look:in_progress") < 3 and stopped.poll() is None:
        time.sleep(0.02)
    stopped.send_signal(signal.SIGINT)
    shown, told = stopped.communicate()
    (batch,) = batch_server.batches.values()
    assert batch.count == ITEMS
    assert batch.batch_id in told
    assert f"--resume {out}" in shown + told
    assert told.count("in_progress") == 1  # a line a stage, not one a look

    without = [argument for argument in command if argument != "--batch"]
    _, refused = run([*without, "--resume", out], code=1)
    assert "--batch" in refused
    told, _ = run(["llm", "batches", out])
    assert f"{batch.batch_id}: {ITEMS} requests to {model}: in_progress" in told
    run(["llm", "batches", out, "--cancel"])

    run([*command, "--resume", out])
    assert (len(batch_server.batches), batch_server.seen.total) == (1, ITEMS)
    summary = json.loads((out / "summary.json").read_text("utf-8"))["llm"]
    assert summary["outcomes"] == {"scored": ITEMS}
    billed = batch_server.seen.generated
    micro_usd = (billed["prompt_tokens"] + 2 * billed["completion_tokens"]) / 2
    assert abs(1e6 * summary["usd"] - micro_usd) <= 1
    assert summary["calls"] == ITEMS
    assert not unfinished_folder(out).exists()
    _, nothing = run(["llm", "batches", out], code=1)
    assert str(out) in nothing


def test_answers_are_given_judged_and_checked_in_batches_one_after_the_other(
    batch_server, arguments, tmp_path
):
    model, out = MODELS["openai"], tmp_path / "out"
    answered = ("--answer-model", model, "--mode", "keyword", "--checklist", "--sample", 5)
    run(arguments("answers", "queries.jsonl", model, *answered, "--out", out, "--allow-partial"))
    counts = [batch.count for batch in batch_server.batches.values()]
    assert counts[0] <= 5  # the answers; what is asked about them comes in other batches
    assert sum(counts) == batch_server.seen.total
    summary = json.loads((out / "summary.json").read_text("utf-8"))["llm"]
    billed = batch_server.seen.generated
    micro_usd = (billed["prompt_tokens"] + 2 * billed["completion_tokens"]) / 2
    assert abs(1e6 * summary["usd"] - micro_usd) <= 1


def test_a_model_without_batches_is_refused_before_anything_is_done(arguments, tmp_path):
    os.environ.pop("GEMINI_API_KEY", None)
    out = tmp_path / "out"
    command = arguments("search", "queries.jsonl", "gemini/gemini-2.5-flash", *SEARCH)
    _, told = run([*command, "--out", out], code=1)
    assert "gemini/gemini-2.5-flash" in told
    assert not out.exists()
    assert not unfinished_folder(out).exists()
