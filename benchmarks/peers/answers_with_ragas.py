"""ragas over answers and their notes: faithfulness and factual correctness, 16 answers at a time."""

import asyncio
import json
import sys
from pathlib import Path

from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import FactualCorrectness, Faithfulness

url, dataset = sys.argv[1:3]
llm = llm_factory("by-schema", client=AsyncOpenAI(base_url=url, api_key="none"))
faithful, factual = Faithfulness(llm=llm), FactualCorrectness(llm=llm)
side_by_side = asyncio.Semaphore(16)


async def evaluate(row: dict) -> None:
    async with side_by_side:
        await faithful.ascore(row["question"], row["answer"], row["notes"])
        await factual.ascore(row["answer"], row["answer"])


async def main(rows: list[dict]) -> None:
    await asyncio.gather(*map(evaluate, rows))


asyncio.run(main(json.loads(Path(dataset).read_text("utf-8"))))
