"""A run is killed with SIGKILL in the middle and resumed: nothing is lost, little is paid twice, the cost is known."""

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Ledger, Price, read_ledger, totals
from gigamind.llm.settings import ModelSettings
from gigamind.runs.store import ItemKey, RunStore, evaluate_all, read_results

ITEMS = 120
IN_FLIGHT = 8
MODEL = "openai/judge;lat=30"


class Verdict(BaseModel):
    unanswerable: bool
    confidence: float
    reason: str


def run(folder, url, *, resume):
    """Asks the model about every item, and keeps what it says in the folder."""

    async def asked():
        settings = ModelSettings(MODEL, api_base=url, max_in_flight=IN_FLIGHT)
        ledger = Ledger(folder / "attempts.jsonl")
        prices = {MODEL: Price(1_000_000, 2_000_000, 500_000)}
        model = LanguageModel(settings, prices=prices, ledger=ledger)

        async def evaluate(key, item):
            messages = [{"role": "user", "content": item}]
            return (await model.ask(messages, Verdict, item_id=key.item_id)).model_dump()

        items = {ItemKey(f"q{n}"): f"질문 {n}" for n in range(ITEMS)}
        try:
            with RunStore(folder, {"dataset": "d"}, resume=resume) as store:
                await evaluate_all(items, evaluate, store, max_in_flight=IN_FLIGHT)
        finally:
            await (
                model.close()
            )  # else its connections would fail whichever test they are collected in

    asyncio.run(asked())


def start(folder, url):
    """The same in a process of its own, which this file is when it is run."""
    return subprocess.Popen([sys.executable, __file__, str(folder), url])


def verdicts(folder):
    return {key: result.value for key, result in read_results(folder).items()}


@pytest.mark.faults
def test_killed_and_resumed_it_ends_as_an_unbroken_run_and_pays_twice_at_most_what_was_in_flight(
    fake_server, tmp_path
):
    broken = start(tmp_path / "broken", fake_server.url)
    while fake_server.seen.total < 0.4 * ITEMS and broken.poll() is None:
        time.sleep(0.005)
    broken.kill()
    assert broken.wait() == -signal.SIGKILL
    kept = len(read_results(tmp_path / "broken"))
    assert 0 < kept < ITEMS
    time.sleep(0.1)  # the server ends what it was answering

    run(tmp_path / "broken", fake_server.url, resume=True)
    asked, seen = fake_server.seen.total, fake_server.seen

    assert len(verdicts(tmp_path / "broken")) == ITEMS
    assert ITEMS <= asked <= ITEMS + IN_FLIGHT
    rows = read_ledger(tmp_path / "broken" / "attempts.jsonl")
    # What was in flight may have been answered, and is booked: at worst before it was sent.
    assert asked <= totals(rows).http_calls <= asked + IN_FLIGHT
    assert totals(rows).prompt_tokens >= seen.generated["prompt_tokens"]
    assert totals(rows).completion_tokens >= seen.generated["completion_tokens"]
    assert totals(rows).by_status["unfinished"] <= IN_FLIGHT

    run(tmp_path / "whole", fake_server.url, resume=False)
    assert verdicts(tmp_path / "broken") == verdicts(tmp_path / "whole")


def test_a_run_costs_what_the_server_has_counted(fake_server, tmp_path):
    run(tmp_path, fake_server.url, resume=False)
    seen, found = fake_server.seen, totals(read_ledger(tmp_path / "attempts.jsonl"))
    assert found.micro_usd == seen.prompt_tokens + 2 * seen.completion_tokens


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], resume=False)
