"""Measure what the model layer loses, pays and costs, next to plain instructor over litellm.

    python benchmarks/llm.py --draws 5 --rounds 5         # minutes; python benchmarks/llm_memory.py for the memory
    python benchmarks/llm.py --only faults ledger         # what each kind of fault costs
    python benchmarks/llm.py --only kills                 # 60 commands are killed and resumed

All sides ask the same server in a separate process on loopback, so CPU time is the client's alone.  Nothing leaves
this machine.  Quote counts and ratios, not times.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import aiohttp
from faulty_model import FAULTS, REFUSALS, FakeServer, read_behaviour, running
from flow_kills import comparable, verdict
from forked import Forked, command
from llm_server import reset, server, stats
from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Request
from gigamind.llm.completion import Completions
from gigamind.llm.ledger import Ledger, Price
from gigamind.llm.loading import load_instructor, load_litellm
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import Store

IN_FLIGHT = 16
LATENCY_S = 0.1
CUT_SHARE = 0.2
FAULT_SHARE = 0.2
LIE_SHARE = 0.3
MOMENTS, KILLED_IN_FLIGHT, WAIT_S = 20, 8, 300
# The answer may have been generated and does not arrive, so it is booked with the most that it may cost.
NEVER_COME = {"timeout", "disconnect", "reset", "html", "badjson", "empty_body"}
PLAIN = "instructor + litellm"
NOTE = "휴가는 팀장에게 신청한다. The deploy runs every Friday. " * 40


class Verdict(BaseModel):
    """Hold the reply that all sides ask for."""

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
    parser.add_argument("--only", nargs="+", choices=[*SCENARIOS], default=[*SCENARIOS])
    arguments = parser.parse_args()
    os.environ["BENCH_KEY"] = "none"
    with server() as url:
        for scenario in arguments.only:
            SCENARIOS[scenario](url, arguments)


def cut_answers(url: str, arguments: argparse.Namespace) -> None:
    for draw in range(1, arguments.draws + 1):
        truncated(url, arguments.calls, draw)


def faults(url: str, arguments: argparse.Namespace) -> None:
    """Measure each kind of fault with the same number of calls, so the mean is a server with all of them."""
    calls = max(arguments.calls // 10, 20)
    print(f"{FAULT_SHARE:.0%} of all answers have a fault, {calls} calls a kind:")
    lost: dict[str, int] = {}
    sent: dict[str, int] = {}
    for kind in sorted(FAULTS):
        lost[kind], sent[kind], _, _ = with_fault(url, kind, FAULT_SHARE, calls)
        if lost[kind] or sent[kind] > calls:
            apart = "  (refused)" if kind in REFUSALS else ""
            print(
                f"  {kind:16} lost {lost[kind] / calls:6.2%}, {sent[kind] / calls:.3f} requests a call{apart}"
            )
    kinds = [kind for kind in FAULTS if kind not in REFUSALS]
    asked = calls * len(kinds)
    lost_share = sum(lost[kind] for kind in kinds) / asked
    requests = sum(sent[kind] for kind in kinds) / asked
    of_all = f"{len(kinds)} of {len(FAULTS)} kinds are no refusals"
    print(f"  {of_all}: lost {lost_share:.2%}, {requests:.3f} requests a call")


def ledger(url: str, arguments: argparse.Namespace) -> None:
    """Measure the ledger; before the first reported usage, tokens are booked by an upper bound."""
    calls = max(arguments.calls // 2, 20)
    print(
        f"booked of what was generated, {LIE_SHARE:.0%} of all answers have a fault, {calls} calls a kind:"
    )
    ratios: dict[str, float] = {}
    for kind in sorted(FAULTS - REFUSALS):
        _, _, booked, generated = with_fault(url, kind, LIE_SHARE, calls)
        ratios[kind] = booked / generated
    come = {kind: ratio for kind, ratio in ratios.items() if kind not in NEVER_COME}
    never = {kind: ratios[kind] for kind in NEVER_COME}
    for name, group in {"answers that arrive": come, "that never come": never}.items():
        low, high = min(group, key=group.__getitem__), max(group, key=group.__getitem__)
        print(f"  {name:20} {group[low]:.4f} ({low}) to {group[high]:.4f} ({high})")
    for name, kind, share in (("no faults", "500", 0.0), ("of all kinds", "mixed", FAULT_SHARE)):
        lost, sent, booked, generated = with_fault(url, kind, share, calls)
        print(
            f"  {name}: {booked / generated:.4f}, {share:.0%} of {sent} requests have a fault, lost {lost}"
        )
    side = ours("http://127.0.0.1:9/v1", "", attempts=2, backoff_s=0.01)
    lost = asyncio.run(run(side, calls)).lost
    print(f"  never sent: {side.model.ledger.totals().micro_usd} micro-USD, lost {lost} of {calls}")


def kills(_url: str, arguments: argparse.Namespace) -> None:
    """Kill a command at moments of its run and resume it; `--calls` is ten times the number of its questions."""
    questions = max(arguments.calls // 10, 40)
    with running() as server, tempfile.TemporaryDirectory() as home:
        server.respond = verdict
        folder, moments = Path(home), [(number + 1) / (MOMENTS + 1) for number in range(MOMENTS)]
        whole = judged(folder, server, questions, "whole")
        whole.wait(WAIT_S)
        calls, expected = server.seen.total, report_of(folder / "whole")
        print(f"unbroken: {calls} requests for {questions} questions, {KILLED_IN_FLIGHT} in flight")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            rows = [
                killed(folder, server, questions, number, int(share * calls)) for share in moments
            ]
            twice = sorted(total - calls for total, _ in rows)
            equal = sum(report == expected for _, report in rows)
            ended = f"verdicts equal {equal} of {len(rows)}"
            print(f"  {number.name}: paid twice {twice[len(twice) // 2]} to {twice[-1]}, {ended}")


def killed(
    folder: Path, server: FakeServer, questions: int, number: signal.Signals, after: int
) -> tuple[int, object]:
    """Return the requests of a run that gets a signal after so many and is resumed, and its report."""
    name = f"{number.name}-{after}"
    server.seen.calls.clear()
    process = judged(folder, server, questions, name)
    while server.seen.total < after and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(number)
    process.wait(WAIT_S)
    judged(folder, server, questions, name, "--resume").wait(WAIT_S)
    return server.seen.total, report_of(folder / name)


def judged(
    folder: Path, server: FakeServer, questions: int, name: str, option: str = "--out"
) -> Forked:
    """Start `gigamind eval search` with a model as the judge, without stored replies."""
    examples = Path(__file__).resolve().parents[1] / "examples"
    data = (
        "--dataset",
        examples / "queries.jsonl",
        "--notes",
        examples / "vault",
        "--sample",
        questions,
    )
    model = ("--model", "openai/judge;lat=30", "--api-base", server.url, "--store-mode", "off")
    limits = ("--max-in-flight", KILLED_IN_FLIGHT, "--model-timeout-s", 60, "--allow-partial")
    judge = ("--mode", "keyword", "--unanswerable-mode", "llm", "--speed-passes", 0)
    return command(folder, "eval", "search", *data, *judge, *model, *limits, option, folder / name)


def report_of(folder: Path) -> object:
    return comparable(json.loads((folder / "summary.json").read_text("utf-8")))


def with_fault(url: str, kind: str, share: float, calls: int) -> tuple[int, int, int, int]:
    """Return calls lost, requests sent, micro-USD booked, micro-USD generated."""
    reset(url)
    behaviour = f";fault={kind};share={share};hang=3;ra=0.01;sid={kind}"
    side = ours(
        url, behaviour, timeout_s=0.5 if kind == "timeout" else 20, backoff_s=0.01, max_tokens=100
    )
    lost = asyncio.run(run(side, calls)).lost
    seen = stats(url)
    generated = seen["generated"]["prompt_tokens"] + 2 * seen["generated"]["completion_tokens"]
    return lost, seen["total"], side.model.ledger.totals().micro_usd, generated


def truncated(url: str, calls: int, draw: int) -> None:
    """Measure cut replies: three tries should give 1 + 0.2 + 0.04 requests and 0.008 lost."""
    behaviour = f";fault=truncated_stop;share={CUT_SHARE};sid={draw}"
    planned = read_behaviour(f"judge{behaviour}")
    print(f"20 % of all answers cut in the middle of their JSON, {calls} calls, draw {draw}:")
    for side in both(url, behaviour):
        reset(url)
        lost = asyncio.run(run(side, calls)).lost
        seen = stats(url)
        sent = seen["total"]
        cut = sum(planned.fault_of(number) is not None for number in range(1, sent + 1))
        print(
            f"  {side.name:22} lost {lost / calls:6.2%}, HTTP calls a logical call {sent / calls:.3f}, "
            f"{cut / sent:.1%} cut, {sent - calls - (cut - lost)} for no cut answer"
        )
        if side.model:
            served = seen["prompt_tokens"] + 2 * seen["completion_tokens"]
            booked = side.model.ledger.totals().micro_usd
            print(f"  {'':22} booked {booked} micro-USD, served {served}")


def overhead(url: str, arguments: argparse.Namespace) -> None:
    calls, rounds = arguments.calls, arguments.rounds
    print(
        f"client CPU a call, {IN_FLIGHT} in flight, no latency, {calls} calls, least of {rounds}:"
    )
    found = least(url, ";sid=1", calls, rounds, lambda one: one.cpu_s)
    reference = found[PLAIN].cpu_s
    for name, best in found.items():
        times, rate = best.cpu_s / reference, calls / best.wall_s
        cpu_ms = 1000 * best.cpu_s / calls
        print(f"  {name:22} {cpu_ms:5.2f} ms, {times:.2f} times {PLAIN}, {rate:.0f} calls/s")


def waiting(url: str, arguments: argparse.Namespace) -> None:
    """Measure with varying latency; with constant latency all calls stay in step, which no real model does."""
    for spread in (0.5, 0.0):
        wall(url, 20 * IN_FLIGHT, arguments.rounds, spread)


def wall(url: str, calls: int, rounds: int, spread: float) -> None:
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
    """Return the least of several rounds per side, in turn: other load only adds time."""
    found: dict[str, list[Measured]] = {}
    for _ in range(rounds):
        for side in chain(both(url, behaviour), floors(url, behaviour)):
            reset(url)
            found.setdefault(side.name, []).append(asyncio.run(run(side, calls, warm=50)))
    return {name: min(measured, key=figure) for name, measured in found.items()}


def storm(url: str, arguments: argparse.Namespace) -> None:
    calls = max(arguments.calls // 3, 20)
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
    vllm = ours(url, behaviour, model=f"hosted_vllm/judge{behaviour}")
    yield replace(vllm, name="gigamind, hosted_vllm/")
    yield transport_alone(url, behaviour)
    yield litellm_alone(url, behaviour)
    yield aiohttp_alone(url, behaviour)


def ours(
    url: str,
    behaviour: str,
    folder: Path | None = None,
    *,
    kept: bool = False,
    **settings: Any,  # noqa: ANN401  those of ModelSettings
) -> Side:
    """Run our layer; with a folder, the ledger is a file there, and so are stored replies if `kept`."""
    name = settings.pop("model", f"openai/judge{behaviour}")
    model = LanguageModel(
        ModelSettings(name, api_base=url, max_in_flight=IN_FLIGHT, **settings),
        prices={name: Price(1_000_000, 2_000_000, 1_000_000)},
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


def transport_alone(url: str, behaviour: str) -> Side:
    """Send one request and read its reply, without schema, limits or ledger."""
    client = Completions(ModelSettings(f"openai/judge{behaviour}", api_base=url))

    async def ask(question: str) -> bool:
        request = Request(tuple(messages(question)), None, {"max_tokens": 768})
        return bool((await client.send(request)).text)

    return Side("one request of ours", ask, client.close)


def plain(url: str, behaviour: str) -> Side:
    """Run instructor as documented: JSON schema, one retry, litellm's defaults."""
    instructor = load_instructor()
    client = instructor.from_litellm(
        load_litellm().acompletion, mode=instructor.Mode.JSON_SCHEMA, async_client=True
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

    return Side(PLAIN, ask, close_litellm)


def litellm_alone(url: str, behaviour: str) -> Side:
    """Run litellm without schema, limits or ledger."""
    litellm = load_litellm()
    name = f"openai/judge{behaviour}"

    async def ask(question: str) -> bool:
        await litellm.acompletion(
            model=name, messages=messages(question), api_base=url, api_key="none"
        )
        return True

    return Side("litellm alone", ask, close_litellm)


def aiohttp_alone(url: str, behaviour: str) -> Side:
    """Send the same bytes through the same sockets: the lower bound for any layer."""
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


async def close_litellm() -> None:
    await load_litellm().close_litellm_async_clients()


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
    """Return the seconds that this thread was ready but had no processor (Linux only)."""
    schedstat = Path("/proc/thread-self/schedstat").read_text(encoding="ascii")
    return int(schedstat.split()[1]) / 1e9


SCENARIOS = {
    "cut": cut_answers,
    "faults": faults,
    "ledger": ledger,
    "kills": kills,
    "overhead": overhead,
    "waiting": waiting,
    "storm": storm,
}

if __name__ == "__main__":
    main()
