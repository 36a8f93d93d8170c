"""This project's layer, with its defaults, through a provider of litellm: `openai`, or what the environment names."""

import asyncio
import os

from exchange import Job, Verdict, measured, tell

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Ledger, Price
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import Store

job = Job()
name = f"{os.environ.get('PROVIDER', 'openai')}/{job.model}"
settings = ModelSettings(name, api_base=job.url, max_in_flight=job.in_flight)
model = LanguageModel(
    settings,
    prices={name: Price(1_000_000, 2_000_000, 500_000)},
    store=Store(job.folder / "store", "readwrite") if job.folder else None,
    ledger=Ledger(job.folder / "attempts.jsonl") if job.folder else None,
)


async def ask(question: str) -> bool:
    try:
        await model.ask([{"role": "user", "content": question}], Verdict, item_id=question[-40:])
    except LlmError:
        return False
    return True


async def run() -> dict[str, float]:
    figures = await measured(ask, job)
    await model.close()
    return figures


tell("gigamind", asyncio.run(run()), model.ledger.totals().micro_usd)
