"""A run in batches is killed with SIGKILL at each stage and resumed: all is judged, and nothing is paid for twice."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from fake_batch import BatchServer
from faulty_model import run

from gigamind.evaluation.shards import unfinished_folder
from gigamind.llm.ledger import Totals, read_ledger
from gigamind.runs.store import read_results

ITEMS = 8
# Some of the first replies lack a field, so that a second batch asks for them again.
MODEL = "judge;fault=missing_field;times=8;share=0.4"
STAGES = {
    "openai": [
        ("upload", 1), ("uploaded", 1), ("create", 1), ("created", 1), ("look:in_progress", 1),
        ("look:finalizing", 1), ("look:completed", 1), ("results", 1),
        ("upload", 2), ("create", 2), ("created", 2), ("results", 2),
    ],
    "anthropic": [
        ("create", 1), ("created", 1), ("look:in_progress", 1), ("look:ended", 1), ("results", 1),
        ("create", 2), ("created", 2), ("results", 2),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[BatchServer]:
    with run(BatchServer()) as server:
        yield server


class Killer:
    """Kills a process when the server comes to a stage for the so-manieth time."""

    def __init__(self, stage: str, occurrence: int) -> None:
        self._stage = stage
        self._left = occurrence
        self._process = 0
        self._known = threading.Event()

    def of(self, process: int) -> None:
        self._process = process
        self._known.set()

    def __call__(self, stage: str) -> bool:
        if stage != self._stage:
            return False
        self._left -= 1
        if self._left != 0:
            return False
        assert self._known.wait(10)
        os.kill(self._process, signal.SIGKILL)
        return True  # nobody hears it, and what comes after it is not done


def fresh(server: BatchServer) -> None:
    server.forget()
    server.at_stage = lambda _: False
    server.batches.clear()
    server.files.clear()


def unbroken(runner, server, out, model):
    """What a run gives that nobody kills, and what it is billed."""
    fresh(server)
    runner.start(out, server.url, model, ITEMS)
    assert runner.wait() == 0
    return read_results(unfinished_folder(out)), dict(server.seen.generated), server.seen.total


def check(server, out, whole):
    results, billed, asked = whole
    found = read_results(unfinished_folder(out))
    assert {key: result.value for key, result in found.items()} == {
        key: result.value for key, result in results.items()
    }
    assert server.seen.total == asked
    assert dict(server.seen.generated) == billed
    rows = read_ledger(unfinished_folder(out) / "attempts.jsonl")
    booked = Totals.of(rows)
    assert "unfinished" not in booked.by_status
    assert booked.http_calls == asked
    assert booked.prompt_tokens == billed["prompt_tokens"]
    assert booked.completion_tokens == billed["completion_tokens"]
    assert booked.pico_usd == 500_000 * booked.prompt_tokens + 1_000_000 * booked.completion_tokens
    assert booked.cost_source == "table"
    ids = Counter(row.custom_id for row in rows if row.source == "http")
    assert "" not in ids
    assert set(ids.values()) == {1}


@pytest.mark.faults
@pytest.mark.timeout(120)
@pytest.mark.parametrize("provider", STAGES)
def test_killed_at_any_stage_and_resumed_nothing_is_paid_twice(runner, server, tmp_path, provider):
    model = f"{provider}/{MODEL}"
    whole = unbroken(runner, server, tmp_path / "whole", model)
    assert whole[2] > ITEMS  # some were asked again
    for stage, occurrence in STAGES[provider]:
        fresh(server)
        out = tmp_path / f"{stage}-{occurrence}"
        server.at_stage = killer = Killer(stage, occurrence)
        killer.of(runner.start(out, server.url, model, ITEMS))
        assert runner.wait() == -signal.SIGKILL, (stage, occurrence)
        runner.start(out, server.url, model, ITEMS, resume=True)
        assert runner.wait() == 0, (stage, occurrence)
        check(server, out, whole)


@pytest.mark.faults
@pytest.mark.timeout(120)
def test_killed_at_every_stage_of_one_run_nothing_is_paid_twice(runner, server, tmp_path):
    model = f"anthropic/{MODEL}"
    whole = unbroken(runner, server, tmp_path / "whole", model)
    fresh(server)
    out, resume = tmp_path / "out", False
    for stage in dict.fromkeys(stage for stage, _ in STAGES["anthropic"]):
        server.at_stage = killer = Killer(stage, 1)
        killer.of(runner.start(out, server.url, model, ITEMS, resume=resume))
        assert runner.wait() == -signal.SIGKILL, stage
        resume = True
    runner.start(out, server.url, model, ITEMS, resume=True)
    assert runner.wait() == 0
    check(server, out, whole)
