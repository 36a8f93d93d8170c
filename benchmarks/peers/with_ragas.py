"""ragas as its documentation has it: `llm_factory`, and its disk cache for a run that may be resumed."""

import asyncio

from exchange import Job, Verdict, measured, tell
from openai import AsyncOpenAI
from ragas.cache import DiskCacheBackend
from ragas.llms import llm_factory

job = Job()
llm = llm_factory(
    job.model,
    client=AsyncOpenAI(base_url=job.url, api_key="none"),
    cache=DiskCacheBackend(str(job.folder)) if job.folder else None,
)


async def ask(question: str) -> bool:
    try:
        await llm.agenerate(question, Verdict)
    except Exception:  # noqa: BLE001  whatever it is, the item is lost
        return False
    return True


tell("ragas", asyncio.run(measured(ask, job)))
