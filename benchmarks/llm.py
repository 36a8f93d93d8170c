"""What the LLM layer loses, pays and costs, beside instructor over litellm used plainly, in one run.

    python benchmarks/llm.py                       # a minute; with --memory 5000 two

Both sides ask the same server, which runs in a process of its own on loopback, so that CPU time is the client's alone.
Nothing leaves this machine.  Quote counts and ratios: the times are this machine's, on this day.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel, connect
from gigamind.llm.ledger import Attempt, Ledger
from gigamind.llm.loading import load_instructor, load_litellm
from gigamind.llm.prices import Price
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import Store

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
    """Growth after the first tenth, which fills caches, with and without the store; the ledger's rows apart."""
    for kept in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            ask, model = ours(url, "", Path(folder), kept=kept)
            asyncio.run(grown(ask, model, calls, "store on" if kept else "store off"))


async def grown(ask: Ask, model: LanguageModel, calls: int, name: str) -> None:
    sizes: list[float] = []
    for part in range(10):
        questions = iter([f"{name} {part} {number}" for number in range(calls // 10)])
        await asyncio.gather(*(each(ask, questions) for _ in range(IN_FLIGHT)))
        gc.collect()
        sizes.append(rss_mb())
    rows = sum(row_bytes(row) for row in model.ledger.rows) / 2**20
    await model.close()
    told = " ".join(f"{size:.1f}" for size in sizes)
    growth = 1024 * (sizes[-1] - sizes[0]) / (0.9 * calls)
    print(f"memory, {name}: MB after each tenth of {calls} calls {told}; {growth:.2f} KB a call,")
    print(f"  {'':22} of which the ledger's rows {1024 * rows / calls:.2f} KB")


async def each(ask: Ask, questions: Iterator[str]) -> None:
    for question in questions:
        await ask(question)


def row_bytes(row: Attempt) -> int:
    """Bytes of a row and its values."""
    return sys.getsizeof(row) + sum(sys.getsizeof(value) for value in astuple(row))


def sides(url: str, behaviour: str) -> list[tuple[str, tuple[Ask, LanguageModel | None]]]:
    return [("gigamind", ours(url, behaviour)), ("instructor + litellm", plain(url, behaviour))]


def ours(
    url: str, behaviour: str, folder: Path | None = None, *, kept: bool = False
) -> tuple[Ask, LanguageModel]:
    """Our layer; with a folder its ledger is a file there, and so are its answers if `kept`."""
    name = f"openai/judge{behaviour};sid=1"
    model = connect(
        ModelSettings(name, api_base=url, max_in_flight=IN_FLIGHT),
        prices={name: Price(1_000_000, 2_000_000, 500_000)},
        store=Store(folder / "store", "readwrite") if folder and kept else None,
        ledger=Ledger(folder / "attempts.jsonl") if folder else None,
    )

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
    """Memory in use now, not at most: Linux only."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
