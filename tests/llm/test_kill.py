"""A run is killed with SIGKILL in the middle and resumed: nothing is lost, little is paid twice, the cost is known."""

import signal
import subprocess
import sys
import time
from textwrap import dedent

import pytest

from gigamind.llm.ledger import read_ledger, totals
from gigamind.runs.store import read_results

ITEMS = 120
IN_FLIGHT = 8
WORKER = dedent("""
    import asyncio, sys
    from pathlib import Path
    from pydantic import BaseModel
    from gigamind.llm.ask import connect
    from gigamind.llm.ledger import Ledger
    from gigamind.llm.prices import Price
    from gigamind.llm.settings import ModelSettings
    from gigamind.runs.resume import evaluate_all
    from gigamind.runs.store import RunStore

    class Verdict(BaseModel):
        unanswerable: bool
        confidence: float
        reason: str

    folder, url, items, in_flight, resume = sys.argv[1:]
    name = "openai/judge;lat=30"

    async def run():
        settings = ModelSettings(name, api_base=url, max_in_flight=int(in_flight))
        ledger = Ledger(Path(folder) / "attempts.jsonl")
        model = connect(settings, prices={name: Price(1_000_000, 2_000_000, 500_000)}, ledger=ledger)

        async def evaluate(item_id, item):
            messages = [{"role": "user", "content": item}]
            return (await model.ask(messages, Verdict, item_id=item_id)).model_dump()

        given = {f"q{n}": f"질문 {n}" for n in range(int(items))}
        with RunStore(Path(folder), {"dataset": "d"}, resume=resume == "resume") as store:
            await evaluate_all(given, evaluate, store, max_in_flight=int(in_flight))
        await model.close()

    asyncio.run(run())
""")


def start(folder, url, mode):
    arguments = [str(folder), url, str(ITEMS), str(IN_FLIGHT), mode]
    return subprocess.Popen([sys.executable, "-c", WORKER, *arguments])


def verdicts(folder):
    return {name: result.value for name, result in read_results(folder).items()}


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_killed_in_the_middle_and_resumed_it_pays_twice_at_most_what_was_in_flight(
    fake_server, tmp_path, share
):
    broken = start(tmp_path / "broken", fake_server.url, "new")
    while fake_server.seen.total < share * ITEMS and broken.poll() is None:
        time.sleep(0.005)
    broken.kill()
    assert broken.wait() == -signal.SIGKILL
    kept = len(read_results(tmp_path / "broken"))
    assert 0 < kept < ITEMS
    time.sleep(0.1)  # the server ends what it was answering

    assert start(tmp_path / "broken", fake_server.url, "resume").wait() == 0
    asked, seen = fake_server.seen.total, fake_server.seen

    assert len(verdicts(tmp_path / "broken")) == ITEMS
    assert ITEMS <= asked <= ITEMS + IN_FLIGHT
    rows = read_ledger(tmp_path / "broken" / "attempts.jsonl")
    assert asked - IN_FLIGHT <= totals(rows).http_calls <= asked
    assert totals(rows).prompt_tokens <= seen.prompt_tokens


def test_resumed_it_comes_to_the_verdicts_of_an_unbroken_run(fake_server, tmp_path):
    assert start(tmp_path / "whole", fake_server.url, "new").wait() == 0
    seen = fake_server.seen
    found = totals(read_ledger(tmp_path / "whole" / "attempts.jsonl"))
    assert found.micro_usd == seen.prompt_tokens + 2 * seen.completion_tokens

    broken = start(tmp_path / "broken", fake_server.url, "new")
    while seen.total < 1.5 * ITEMS and broken.poll() is None:
        time.sleep(0.005)
    broken.kill()
    assert broken.wait() == -signal.SIGKILL
    assert start(tmp_path / "broken", fake_server.url, "resume").wait() == 0

    assert verdicts(tmp_path / "broken") == verdicts(tmp_path / "whole")
