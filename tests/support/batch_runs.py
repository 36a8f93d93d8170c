"""Runs that ask a model, each in a process of its own that may be killed.

Run as a script it loads everything once, and then makes a process for each job that it reads: a line of JSON in, a line
with the process's id out, and one with its exit status.
"""

import asyncio
import json
import os
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from asked_model import reply_to

from gigamind.evaluation.shards import unfinished_folder
from gigamind.llm.ask import LanguageModel
from gigamind.llm.batches.batcher import Batches
from gigamind.llm.budget import Budget
from gigamind.llm.ledger import Ledger, Price, Totals
from gigamind.llm.loading import load_instructor, load_litellm
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.runs.store import ItemKey, RunStore, evaluate_all

PRICE = Price(1_000_000, 2_000_000, 100_000, written=1_250_000)
POLL_S = 0.02


async def judge(
    out: Path, url: str, model: str, items: int, *, resume: bool, in_flight: int | None = None
) -> None:
    """Ask about so many items, and keep what is said beside `out`: in batches, or with so many in flight."""
    folder = unfinished_folder(out)
    with RunStore(folder, {"dataset": "d"}, resume=resume) as store:
        ledger = Ledger(folder / "attempts.jsonl")
        settings = ModelSettings(model, api_base=url, max_in_flight=in_flight or items)
        asked = LanguageModel(
            settings,
            prices={model: PRICE},
            ledger=ledger,
            budget=Budget.of(ModelOptions(max_cost_usd=10), Totals.of(ledger.rows)),
            batches=None if in_flight else Batches(out, folder, POLL_S, lambda _: None),
        )

        async def evaluate(key: ItemKey, item: str) -> Any:
            return (await reply_to(asked, item, key.item_id)).model_dump()

        texts = {ItemKey(f"q{n}"): f"질문 {n}" for n in range(items)}
        try:
            await evaluate_all(texts, evaluate, store, max_in_flight=in_flight or items)
        finally:
            await asked.close()


class Runner:
    """The script as a process, which makes the others."""

    def __init__(self) -> None:
        environment = {**os.environ, "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def start(
        self,
        out: Path,
        url: str,
        model: str,
        items: int,
        *,
        resume: bool = False,
        in_flight: int | None = None,
    ) -> int:
        """The id of a process that does `judge`."""
        assert self._process.stdin
        job = (str(out), url, model, items, resume, in_flight)
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def wait(self) -> int:
        """How that process ended: 0, or less the signal that killed it."""
        return int(self._line())

    def close(self) -> None:
        """End the script."""
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


def main() -> None:
    """Do the jobs of standard input."""
    for line in sys.stdin:
        process = os.fork()
        if not process:
            out, *asked, resume, in_flight = json.loads(line)
            try:
                asyncio.run(judge(Path(out), *asked, resume=resume, in_flight=in_flight))
            except BaseException:  # noqa: BLE001  a fork must not go on with its parent's work
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


def load_all() -> None:
    """Import what a run imports late."""
    load_litellm(), load_instructor()
    for name in ("openai.resources", "anthropic.resources.messages", "httpcore", "httpcore2"):
        import_module(name)


if __name__ == "__main__":
    load_all()
    main()
