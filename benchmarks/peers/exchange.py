"""What `llm_peers.py` and the peers' scripts agree on: the prompt, the reply's shape, and the figures of one run.

It runs in the interpreter of each peer, so it needs pydantic only.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

NOTE = "휴가는 팀장에게 신청한다. The deploy runs every Friday. " * 40
ANSWER = {"unanswerable": True, "confidence": 0.75, "reason": "no note tells it"}
WARM = 16
Ask = Callable[[str], Awaitable[bool]]


class Verdict(BaseModel):
    """The reply that all ask for."""

    model_config = ConfigDict(extra="forbid")

    unanswerable: bool
    confidence: float = Field(ge=0, le=1)
    reason: str


class Job:
    """What one run is to do.

    Attributes:
        folder: where a run keeps what its resumption needs; None for a run that keeps nothing.
        warm: ask some questions first, which are not measured.
    """

    def __init__(self) -> None:
        self.url, self.model, calls, in_flight, folder = sys.argv[1:6]
        self.calls, self.in_flight = int(calls), int(in_flight)
        self.folder = Path(folder) if folder else None
        self.warm = WARM if "warm" in sys.argv[6:] else 0


def prompt(question: str) -> str:
    """One question with its note; the fake server gives the answer between the marks, whatever the client sends."""
    schema = json.dumps(Verdict.model_json_schema())
    return f"{NOTE}\n{question}\nAnswer as JSON by this schema: {schema}\n<<ANSWER {json.dumps(ANSWER)}>>"


async def measured(ask: Ask, job: Job) -> dict[str, float]:
    """How many were lost, and the seconds that it took."""
    questions = iter([f"질문 {number}" for number in range(job.calls)])
    lost = 0

    async def work() -> None:
        nonlocal lost
        for question in questions:
            ended = await ask(prompt(question))
            lost += not ended

    await asyncio.gather(*(ask(prompt(f"warm {number}")) for number in range(job.warm)))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(job.in_flight)))
    return {"lost": lost, "wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def tell(package: str, figures: dict[str, float], micro_usd: int | None = None) -> None:
    """Give the figures to `llm_peers.py`: the last line of standard output."""
    try:
        number = version(package)
    except PackageNotFoundError:  # it runs from its source
        number = "here"
    print(json.dumps({"version": number, "micro_usd": micro_usd, **figures}))
