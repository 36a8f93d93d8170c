"""Load the service with many concurrent streams: check each event, measure latency and memory.

    python benchmarks/service.py [--streams 200] [--seconds 60]

Three processes on this machine: the scripted model (100 ms until its first word, then one per 200 ms: five seconds an
answer, as 200 tokens at 40 per second), the service over the example vault, and the clients, who check that each
stream is complete and in order.  They start within five seconds.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import numpy as np
import psutil

ROOT = Path(__file__).parents[1]
_ANSWER_S = 5.0
MODEL = "openai/script;lat=100;piece=200"
QUESTIONS = (
    "연차는 며칠인가요?",
    "When are invoices paid?",
    "포르투 지사의 휴가",
    "helmet box sensors",
)

MODEL_SERVER = """
import sys, time
sys.path.insert(0, "examples")
from fake_model import MockServer, run
with run(MockServer()) as server:
    print(server.url, flush=True)
    time.sleep(10**6)
"""


def started(*command: str) -> subprocess.Popen[str]:
    """Start a process and return its first line."""
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


class Heard(NamedTuple):
    """Hold seconds until the first byte and the first word, and the number of events."""

    byte_s: float
    word_s: float
    events: int


async def ask_model(session: aiohttp.ClientSession, url: str, question: str) -> Heard:
    """The same of the model alone, asked for as long an answer."""
    begun, first, count = time.perf_counter(), 0.0, 0
    note = '<note-x index="1" title="x">\n' + f"{question} " * 8 + "\n</note-x>"
    content = f"{note}\n\n질문 (JSON 문자열): {json.dumps(question, ensure_ascii=False)}"
    body = {"model": MODEL.partition("/")[2], "stream": True, "max_tokens": 1024}
    messages = [{"role": "user", "content": content}]
    async with session.post(
        f"{url}/chat/completions", json=body | {"messages": messages}
    ) as answer:
        async for line in answer.content:
            if line.startswith(b"data:"):
                first = first or time.perf_counter() - begun
                count += 1
    return Heard(first, first, count)


async def ask(session: aiohttp.ClientSession, url: str, question: str) -> Heard:
    """One answer of the service; raises where an event is lost or out of order."""
    begun, byte_s, first, events = time.perf_counter(), 0.0, 0.0, []
    body = {"content": question, "options": {"mode": "search"}}
    async with session.post(f"{url}/api/ai/stream", json=body) as answer:
        answer.raise_for_status()
        name = ""
        async for raw in answer.content:
            byte_s = byte_s or time.perf_counter() - begun
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                if not name and not first:
                    first = time.perf_counter() - begun
                events.append((name, line[6:]))
                name = ""
    names = [name for name, _ in events]
    text = "".join(
        json.loads(data)["chunk"] for name, data in events if not name and data != "[DONE]"
    )
    whole = text.endswith((".", "]")) and names[0] == "metadata"
    if not whole or names[-2:] != ["quality", "qa_evaluation"] or events[-3][1] != "[DONE]":
        raise ValueError(f"an incomplete stream: {names} {text!r}")
    return Heard(byte_s, first, len(events))


async def load(
    url: str, streams: int, seconds: float, pid: int, one: Callable[..., Awaitable[Heard]] = ask
) -> dict[str, Any]:
    """Ask again and again, so many at a time."""
    deadline = time.perf_counter() + seconds
    heard: list[Heard] = []
    memory: list[float] = []
    errors: list[str] = []
    watched = psutil.Process(pid)

    async def asker(number: int, session: aiohttp.ClientSession) -> None:
        await asyncio.sleep(
            _ANSWER_S * number / streams
        )  # people do not all ask in the same second
        while time.perf_counter() < deadline:
            try:
                heard.append(await one(session, url, QUESTIONS[number % len(QUESTIONS)]))
            except (aiohttp.ClientError, ValueError, OSError) as error:
                errors.append(repr(error))

    async def watch() -> None:
        while time.perf_counter() < deadline:
            memory.append(watched.memory_info().rss / 2**20)
            await asyncio.sleep(1)

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(watch(), *(asker(n, session) for n in range(streams)))
    third = len(memory) // 3
    return {
        "streams": streams,
        "answers": len(heard),
        "events": sum(one.events for one in heard),
        "errors": len(errors),
        "first_error": errors[:1],
        "first_byte_ms": percentiles([one.byte_s for one in heard]),
        "first_word_ms": percentiles([one.word_s for one in heard]),
        "memory_mb": {"after_a_third": round(memory[third]), "end": round(memory[-1])},
    }


def percentiles(seconds: list[float]) -> dict[str, int]:
    """Return percentiles in milliseconds."""
    return {f"p{p}": round(1000 * float(np.percentile(seconds, p))) for p in (50, 95)}


def main() -> None:
    """Start everything, ask, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--port", type=int, default=8765)
    given = parser.parse_args()
    with stack(given.port) as (model, address, service, url):
        alone = asyncio.run(load(address, given.streams, given.seconds, model, ask_model))
        through_service = asyncio.run(load(url, given.streams, given.seconds, service))
        print(json.dumps({"model alone": alone, "service": through_service}, indent=2))


@contextmanager
def stack(port: int) -> Generator[tuple[int, str, int, str]]:
    """Start the scripted model and the service; return process and address of each."""
    model = started(sys.executable, "-c", MODEL_SERVER)
    assert model.stdout
    address = model.stdout.readline().strip()
    service = started(
        *(sys.executable, "-m", "gigamind", "serve", "--notes", "examples/vault", "--model", MODEL),
        *("--api-base", address, "--port", str(port), "--store-mode", "off"),
        *("--evaluate-share", "0", "--asks-per-minute", "100000"),
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        asyncio.run(until_ready(url))
        yield model.pid, address, service.pid, url
    finally:
        service.terminate()
        service.wait(40)
        model.kill()


async def until_ready(url: str) -> None:
    """Until questions can be asked."""
    async with aiohttp.ClientSession() as session:
        for _ in range(600):
            try:
                async with session.get(f"{url}/readyz") as answer:
                    if answer.ok:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
    raise TimeoutError(url)


if __name__ == "__main__":
    main()
