"""What the LLM layer loses, pays and costs, beside instructor over litellm used plainly, in one run.

    python benchmarks/llm.py --draws 5 --rounds 5         # minutes; python benchmarks/llm_memory.py for the memory

All sides ask the same server, which runs in a process of its own on loopback, so that CPU time is the client's alone.
Nothing leaves this machine.  Quote counts and ratios: the times are this machine's, on this day.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import ModuleType

import aiohttp
from llm_server import reset, server, stats
from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel, connect
from gigamind.llm.fake import read_behaviour
from gigamind.llm.ledger import Ledger
from gigamind.llm.loading import load_instructor, load_litellm
from gigamind.llm.prices import Price
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import Store

IN_FLIGHT = 16
LATENCY_S = 0.1
CUT_SHARE = 0.2
OWN_HANDLER = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
NOTE = "휴가는 팀장에게 신청한다. The deploy runs every Friday. " * 40


class Verdict(BaseModel):
    """The reply that all sides ask for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unanswerable: bool
    confidence: float = Field(ge=0, le=1)
    reason: str


@dataclass(frozen=True, slots=True)
class Side:
    """One way to ask.

    Attributes:
        ask: whether a reply came.
        model: of our own layer, with its account.
    """

    name: str
    ask: Callable[[str], Awaitable[bool]]
    close: Callable[[], Awaitable[None]]
    model: LanguageModel | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """One side in one scenario.

    Attributes:
        starved_s: that the thread of the event loop was ready and had no processor; Linux only.
    """

    lost: int
    wall_s: float
    cpu_s: float
    starved_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1, help="of which answers are cut")
    parser.add_argument("--rounds", type=int, default=3, help="of what is timed, by turns")
    arguments = parser.parse_args()
    with server() as url:
        for draw in range(1, arguments.draws + 1):
            truncated(url, arguments.calls, draw)
        overhead(url, arguments.calls, arguments.rounds)
        for spread in (0.5, 0.0):
            waiting(url, 20 * IN_FLIGHT, arguments.rounds, spread)
        storm(url, 300)


def truncated(url: str, calls: int, draw: int) -> None:
    """Three tries a call: 1 + 0.2 + 0.04 requests and 0.008 lost are to be expected; each more follows a cut answer."""
    behaviour = f";fault=truncated_stop;share={CUT_SHARE};sid={draw}"
    told = read_behaviour(f"judge{behaviour}")
    print(f"20 % of all answers cut in the middle of their JSON, {calls} calls, draw {draw}:")
    for side in both(url, behaviour):
        reset(url)
        lost = asyncio.run(run(side, calls)).lost
        seen = stats(url)
        sent = seen["total"]
        cut = sum(told.fault_of(number) is not None for number in range(1, sent + 1))
        print(
            f"  {side.name:22} lost {lost / calls:6.2%}, HTTP calls a logical call {sent / calls:.3f}, "
            f"{cut / sent:.1%} cut, {sent - calls - (cut - lost)} for no cut answer"
        )
        if side.model:
            served = seen["prompt_tokens"] + 2 * seen["completion_tokens"]
            booked = side.model.ledger.totals().micro_usd
            print(f"  {'':22} booked {booked} micro-USD, served {served}")


def overhead(url: str, calls: int, rounds: int) -> None:
    print(
        f"client CPU a call, {IN_FLIGHT} in flight, no latency, {calls} calls, least of {rounds}:"
    )
    for name, best in least(url, ";sid=1", calls, rounds, lambda one: one.cpu_s).items():
        rate = calls / best.wall_s
        print(f"  {name:22} {1000 * best.cpu_s / calls:5.2f} ms, {rate:.0f} calls/s")


def waiting(url: str, calls: int, rounds: int, spread: float) -> None:
    """Models take now more time, now less; one that takes always the same keeps all calls in step, as none does."""
    ideal = calls / IN_FLIGHT * LATENCY_S
    print(
        f"wall time of {calls} calls, {IN_FLIGHT} in flight, 100 ms latency within {spread:.0%}, least of {rounds}:"
    )
    behaviour = f";lat={1000 * LATENCY_S:g};spread={spread};sid=1"
    for name, best in least(url, behaviour, calls, rounds, lambda one: one.wall_s).items():
        times = f"{best.wall_s / ideal:.2f} times the ideal {ideal:.2f} s"
        print(f"  {name:22} {times}; {best.starved_s:.2f} s ready and without a processor")


def least(
    url: str, behaviour: str, calls: int, rounds: int, figure: Callable[[Measured], float]
) -> dict[str, Measured]:
    """The least of several rounds of each side, by turns: what others on the machine take comes on top."""
    found: dict[str, list[Measured]] = {}
    for _ in range(rounds):
        for side in chain(both(url, behaviour), floors(url, behaviour)):
            reset(url)
            found.setdefault(side.name, []).append(asyncio.run(run(side, calls, warm=50)))
    return {name: min(measured, key=figure) for name, measured in found.items()}


def storm(url: str, calls: int) -> None:
    print(f"a server that answers five at a time and 429 beyond, {calls} calls:")
    for side in both(url, ";allowed=5;lat=20;ra=0.1;sid=1"):
        reset(url)
        lost = asyncio.run(run(side, calls)).lost / calls
        made = stats(url)["total"] / calls
        print(f"  {side.name:22} lost {lost:6.2%}, HTTP calls a logical call {made:.3f}")


def both(url: str, behaviour: str) -> Iterator[Side]:
    yield ours(url, behaviour)
    yield plain(url, behaviour)


def floors(url: str, behaviour: str) -> Iterator[Side]:
    yield litellm_alone(url, behaviour)
    yield aiohttp_alone(url, behaviour)


def ours(url: str, behaviour: str, folder: Path | None = None, *, kept: bool = False) -> Side:
    """Our layer; with a folder its ledger is a file there, and so are its answers if `kept`."""
    name = f"openai/judge{behaviour}"
    os.environ[OWN_HANDLER] = "True"
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

    return Side("gigamind", ask, model.close, model)


def plain(url: str, behaviour: str) -> Side:
    """As its documentation has it: JSON schema, one retry of instructor's own, litellm's defaults."""
    instructor = load_instructor()
    client = instructor.from_litellm(
        litellm_as_it_comes().acompletion, mode=instructor.Mode.JSON_SCHEMA, async_client=True
    )

    async def ask(question: str) -> bool:
        try:
            await client.chat.completions.create(
                model=f"openai/judge{behaviour}",
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

    return Side("instructor + litellm", ask, close_litellm)


def litellm_alone(url: str, behaviour: str) -> Side:
    """No schema, no limits, no account: what the transport costs as it comes."""
    litellm = litellm_as_it_comes()
    name = f"openai/judge{behaviour}"

    async def ask(question: str) -> bool:
        await litellm.acompletion(
            model=name, messages=messages(question), api_base=url, api_key="none"
        )
        return True

    return Side("litellm alone", ask, close_litellm)


def aiohttp_alone(url: str, behaviour: str) -> Side:
    """The same bytes through the same sockets: what no layer can be faster than."""
    sessions: list[aiohttp.ClientSession] = []

    async def ask(question: str) -> bool:
        if not sessions:
            sessions.append(aiohttp.ClientSession())
        body = {"model": f"judge{behaviour}", "messages": messages(question)}
        async with sessions[0].post(f"{url}/chat/completions", json=body) as answer:
            return bool((await answer.json())["choices"])

    async def close() -> None:
        await sessions.pop().close()

    return Side("aiohttp alone", ask, close)


def litellm_as_it_comes() -> ModuleType:
    """With OpenAI's client, until one of our own models is made: sides are made and measured one after the other."""
    litellm = load_litellm()
    os.environ[OWN_HANDLER] = "False"
    return litellm


async def close_litellm() -> None:
    litellm = load_litellm()
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()


def messages(question: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Judge."}, {"role": "user", "content": NOTE + question}]


async def run(side: Side, calls: int, *, warm: int = 0) -> Measured:
    questions = iter([f"질문 {number}" for number in range(calls)])
    lost = 0

    async def work() -> None:
        nonlocal lost
        for question in questions:
            ended = await side.ask(question)  # first: `lost += not await ...` would lose counts
            lost += not ended

    await asyncio.gather(*(side.ask(f"warm {number}") for number in range(warm)))
    wall, cpu, starved = time.perf_counter(), time.process_time(), starved_s()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    wall, cpu, starved = (
        time.perf_counter() - wall,
        time.process_time() - cpu,
        starved_s() - starved,
    )
    await side.close()
    return Measured(lost, wall, cpu, starved)


def starved_s() -> float:
    """Seconds that this thread has been ready to run and had no processor: Linux only."""
    told = Path("/proc/thread-self/schedstat").read_text(encoding="ascii")
    return int(told.split()[1]) / 1e9


if __name__ == "__main__":
    main()
