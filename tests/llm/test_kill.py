"""A run is killed with SIGKILL in the middle and resumed: nothing is lost, little is paid twice, the cost is known."""

import asyncio
import os
import signal
import time

import pytest
from batch_runs import judge

from gigamind.evaluation.shards import unfinished_folder
from gigamind.llm.ledger import Totals, read_ledger
from gigamind.runs.store import read_results

ITEMS = 120
IN_FLIGHT = 8
MODEL = "openai/judge;lat=30"


def verdicts(out):
    return {key: one.value for key, one in read_results(unfinished_folder(out)).items()}


def booked(out):
    return Totals.of(read_ledger(unfinished_folder(out) / "attempts.jsonl"))


@pytest.mark.faults
def test_killed_and_resumed_it_ends_as_an_unbroken_run_and_pays_twice_at_most_what_was_in_flight(
    fake, runner, tmp_path
):
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    process = runner.start(broken, fake.url, MODEL, ITEMS, in_flight=IN_FLIGHT)
    while fake.seen.total < 0.4 * ITEMS:
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    assert runner.wait() == -signal.SIGKILL
    assert 0 < len(verdicts(broken)) < ITEMS
    time.sleep(0.1)  # the server ends what it was answering

    asyncio.run(judge(broken, fake.url, MODEL, ITEMS, resume=True, in_flight=IN_FLIGHT))
    asked, generated = fake.seen.total, dict(fake.seen.generated)

    assert len(verdicts(broken)) == ITEMS
    assert ITEMS <= asked <= ITEMS + IN_FLIGHT
    # What was in flight may have been answered, and is booked: at worst before it was sent.
    assert asked <= booked(broken).http_calls <= asked + IN_FLIGHT
    assert booked(broken).prompt_tokens >= generated["prompt_tokens"]
    assert booked(broken).completion_tokens >= generated["completion_tokens"]
    assert booked(broken).by_status["unfinished"] <= IN_FLIGHT

    asyncio.run(judge(whole, fake.url, MODEL, ITEMS, resume=False, in_flight=IN_FLIGHT))
    assert verdicts(broken) == verdicts(whole)
