"""What the LLM layer loses, pays and costs, beside instructor over litellm used plainly, in one run.

    python benchmarks/llm.py                       # a minute; with --memory 5000 two

Both sides ask the same server, which runs in a process of its own on loopback, so that CPU time is the client's alone.
Nothing leaves this machine.  Quote counts and ratios: the times are this machine's, on this day.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel, connect
from gigamind.llm.loading import load_instructor, load_litellm
from gigamind.llm.prices import Price
from gigamind.llm.settings import ModelSettings

IN_FLIGHT = 16
NOTE = "휴가는 팀장에게 신청한다. The deploy runs every Friday. " * 40
Ask = Callable[[str], Awaitable[bool]]


class Verdict(BaseModel):
    """The reply that both sides ask for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unanswerable: bool
    confidence: float = Field(ge=0, le=1)
    reason: str


@dataclass(frozen=True, slots=True)
class Measured:
    """One side in one scenario."""

    lost: int
    wall_s: float
    cpu_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--memory", type=int, default=0, help="calls to watch the memory over")
    arguments = parser.parse_args()
    with server() as url:
        truncated(url, arguments.calls)
        overhead(url, arguments.calls)
        waiting(url, 20 * IN_FLIGHT)
        storm(url, 300)
        if arguments.memory:
            memory(url, arguments.memory)


def truncated(url: str, calls: int) -> None:
    print(f"20 % of all answers cut in the middle of their JSON, {calls} logical calls:")
    for name, made in sides(url, ";fault=truncated_stop;share=0.2"):
        ask, model = made
        reset(url)
        measured = asyncio.run(run(ask, calls))
        seen = stats(url)
        print(
            f"  {name:22} lost {measured.lost / calls:6.2%}, HTTP calls a logical call {seen['total'] / calls:.3f}"
        )
        if model:
            served = seen["prompt_tokens"] + 2 * seen["completion_tokens"]
            booked = model.ledger.totals().micro_usd
            print(f"  {'':22} booked {booked} micro-USD, served {served}")


def overhead(url: str, calls: int) -> None:
    print(f"client CPU a call, {IN_FLIGHT} in flight, no latency, {calls} calls:")
    for name, (ask, _) in [*sides(url, ""), ("litellm alone", (bare(url), None))]:
        measured = asyncio.run(run(ask, calls, warm=50))
        rate = calls / measured.wall_s
        print(f"  {name:22} {1000 * measured.cpu_s / calls:5.2f} ms, {rate:.0f} calls/s")


def waiting(url: str, calls: int) -> None:
    ideal = calls / IN_FLIGHT * 0.1
    print(
        f"wall time of {calls} calls, {IN_FLIGHT} in flight, 100 ms latency, ideal {ideal:.2f} s:"
    )
    for name, (ask, _) in sides(url, ";lat=100"):
        measured = asyncio.run(run(ask, calls, warm=IN_FLIGHT))
        print(f"  {name:22} {measured.wall_s:.2f} s, {measured.wall_s / ideal:.2f} times the ideal")


def storm(url: str, calls: int) -> None:
    print(f"a server that answers five at a time and 429 beyond, {calls} calls:")
    for name, (ask, _) in sides(url, ";allowed=5;lat=20;ra=0.1"):
        reset(url)
        measured = asyncio.run(run(ask, calls))
        made = stats(url)["total"] / calls
        print(
            f"  {name:22} lost {measured.lost / calls:6.2%}, HTTP calls a logical call {made:.3f}"
        )


def memory(url: str, calls: int) -> None:
    ask, _ = ours(url, "")
    asyncio.run(run(ask, calls // 10))
    before = rss_mb()
    asyncio.run(run(ask, calls))
    print(f"memory over {calls} calls: {before:.1f} MB, then {rss_mb():.1f} MB")


def sides(url: str, behaviour: str) -> list[tuple[str, tuple[Ask, LanguageModel | None]]]:
    return [("gigamind", ours(url, behaviour)), ("instructor + litellm", plain(url, behaviour))]


def ours(url: str, behaviour: str) -> tuple[Ask, LanguageModel]:
    name = f"openai/judge{behaviour};sid=1"
    settings = ModelSettings(name, api_base=url, max_in_flight=IN_FLIGHT)
    model = connect(settings, prices={name: Price(1_000_000, 2_000_000, 500_000)})

    async def ask(question: str) -> bool:
        try:
            await model.ask(messages(question), Verdict, item_id=question)
        except LlmError:
            return False
        return True

    return ask, model


def plain(url: str, behaviour: str) -> tuple[Ask, None]:
    """As its documentation has it: JSON schema, one retry of instructor's own, litellm's defaults."""
    instructor = load_instructor()
    client = instructor.from_litellm(
        load_litellm().acompletion, mode=instructor.Mode.JSON_SCHEMA, async_client=True
    )
    name = f"openai/judge{behaviour};sid=1"

    async def ask(question: str) -> bool:
        try:
            await client.chat.completions.create(
                model=name,
                messages=messages(question),
                response_model=Verdict,
                max_retries=1,
                api_base=url,
                api_key="none",
                max_tokens=768,
            )
        except Exception:  # noqa: BLE001  whatever it is, the item is lost
            return False
        return True

    return ask, None


def bare(url: str) -> Ask:
    litellm = load_litellm()

    async def ask(question: str) -> bool:
        await litellm.acompletion(
            model="openai/judge", messages=messages(question), api_base=url, api_key="none"
        )
        return True

    return ask


def messages(question: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Judge."}, {"role": "user", "content": NOTE + question}]


async def run(ask: Ask, calls: int, *, warm: int = 0) -> Measured:
    questions = iter([f"질문 {number}" for number in range(calls)])
    lost = 0

    async def work() -> None:
        nonlocal lost
        for question in questions:
            ended = await ask(question)  # first: `lost += not await ...` would lose counts
            lost += not ended

    await asyncio.gather(*(ask(f"warm {number}") for number in range(warm)))
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    measured = Measured(lost, time.perf_counter() - wall, time.process_time() - cpu)
    await load_litellm().close_litellm_async_clients()
    return measured


@contextmanager
def server() -> Generator[str]:
    command = [sys.executable, "-u", "-m", "gigamind", "llm", "fake-server", "--port", "0"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        yield started.stdout.readline().split()[0]
    finally:
        started.terminate()
        started.wait()


def stats(url: str) -> dict[str, int]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
        return json.load(answer)


def reset(url: str) -> None:
    request = urllib.request.Request(url.removesuffix("/v1") + "/reset", method="POST")
    urllib.request.urlopen(request).close()


def rss_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
