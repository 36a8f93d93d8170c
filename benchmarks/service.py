"""How the service bears many askers at once: streams beside each other, each event counted, latency and memory.

    python benchmarks/service.py [--streams 200] [--seconds 60]

Three processes on this machine: the scripted model (100 ms until its first word, then one each 50 ms), the service over
the example vault, and the askers, who check that each stream is whole and in order.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

ROOT = Path(__file__).parents[1]
LATENCY_S = 0.1
MODEL = "openai/script;lat=100;piece=50"
QUESTIONS = (
    "연차는 며칠인가요?",
    "When are invoices paid?",
    "포르투 지사의 휴가",
    "helmet box sensors",
)

MODEL_SERVER = """
import sys, time
sys.path.insert(0, "examples")
from demo_serve import respond
from gigamind.llm.fake import running
with running() as server:
    server.respond = respond
    print(server.url, flush=True)
    time.sleep(10**6)
"""


def started(*command: str) -> subprocess.Popen[str]:
    """A process whose first line is told."""
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def resident_mb(pid: int) -> float:
    """Memory of a process now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return (
        int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        / 1024
    )


async def ask(session: aiohttp.ClientSession, url: str, question: str) -> tuple[float, int]:
    """Seconds until the first word, and events; raises where one is lost or out of order."""
    begun, first, events = time.perf_counter(), 0.0, []
    body = {"content": question, "options": {"mode": "search"}}
    async with session.post(f"{url}/api/ai/stream", json=body) as answer:
        answer.raise_for_status()
        name = ""
        async for raw in answer.content:
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
    return first, len(events)


async def load(url: str, streams: int, seconds: float, pid: int) -> dict[str, Any]:
    """Ask again and again, so many at a time."""
    deadline = time.perf_counter() + seconds
    firsts: list[float] = []
    memory: list[float] = []
    errors: list[str] = []
    events = 0

    async def asker(number: int, session: aiohttp.ClientSession) -> None:
        nonlocal events
        await asyncio.sleep(number / streams)  # people do not all ask in the same millisecond
        while time.perf_counter() < deadline:
            try:
                first, count = await ask(session, url, QUESTIONS[number % len(QUESTIONS)])
                firsts.append(first)
                events += count
            except (aiohttp.ClientError, ValueError, OSError) as error:
                errors.append(repr(error))

    async def watch() -> None:
        while time.perf_counter() < deadline:
            memory.append(resident_mb(pid))
            await asyncio.sleep(1)

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(watch(), *(asker(n, session) for n in range(streams)))
    over = np.array(firsts) - LATENCY_S
    third = len(memory) // 3
    return {
        "streams": streams,
        "answers": len(firsts),
        "events": events,
        "errors": len(errors),
        "first_error": errors[:1],
        "first_text_over_model_ms": {
            name: round(1000 * float(np.percentile(over, p))) for name, p in (("p50", 50), ("p95", 95))
        },
        "memory_mb": {
            "after_a_third": round(memory[third]),
            "end": round(memory[-1]),
        },
    }  # fmt: skip


def main() -> None:
    """Start all, ask, tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--judged", action="store_true", help="check and evaluate each answer, too")
    given = parser.parse_args()
    model = started(sys.executable, "-c", MODEL_SERVER)
    assert model.stdout
    address = model.stdout.readline().strip()
    quality = () if given.judged else ("--evaluate-share", "0")
    service = started(
        *(sys.executable, "-m", "gigamind", "serve", "--notes", "examples/vault", "--model", MODEL),
        *("--api-base", address, "--port", str(given.port), "--store-mode", "off", *quality),
        *("--asks-per-minute", "100000"),
    )  # fmt: skip
    url = f"http://127.0.0.1:{given.port}"
    try:
        asyncio.run(until_ready(url))
        told = asyncio.run(load(url, given.streams, given.seconds, service.pid))
        print(json.dumps(told, indent=2))
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
