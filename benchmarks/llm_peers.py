"""Compare what model layers lose, pay, report and cost with one misbehaving server.

    python benchmarks/llm_peers.py --peer ragas=/path/to/python --peer inspect_ai=/path/to/python

Each tool runs in its own process and interpreter as `benchmarks/peers/with_NAME.py` uses it, with the same prompt,
reply shape and concurrency, its own default retries, and telemetry off.  The server runs on loopback.  Quote counts
and ratios, not times.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm import IN_FLIGHT
from llm_server import reset, server, stats

PEERS = Path(__file__).with_name("peers")
LATENCY_S = 0.1
SPREAD = 0.5  # with none, all calls stay in step, as they do with no model
QUIET = {
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DO_NOT_TRACK": "1",
    "OPENAI_API_KEY": "none",
    "FAKE_API_KEY": "none",
}


@dataclass(frozen=True, slots=True)
class Side:
    """Hold a layer and its Python."""

    name: str
    python: str

    def command(self, url: str, model: str, calls: int, *more: str) -> list[str]:
        script = str(PEERS / f"with_{self.name}.py")
        return [self.python, script, url, model, str(calls), *more]

    def environment(self) -> dict[str, str]:
        """Return this process's environment; our packages only for our side."""
        kept = dict(os.environ)
        if self.name != "gigamind":
            kept.pop("PYTHONPATH", None)
        return {**kept, **QUIET}

    def run(self, url: str, model: str, calls: int, *more: str) -> dict[str, float]:
        made = subprocess.run(
            self.command(url, model, calls, *more),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if made.returncode:
            raise SystemExit(f"{self.name}: {made.stderr[-2000:]}")
        return json.loads(made.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3, help="of what is timed")
    arguments = parser.parse_args()
    ours = Side("gigamind", sys.executable)
    sides = [ours, *(Side(*peer.split("=", 1)) for peer in arguments.peer)]
    with server() as url:
        truncated(url, sides, arguments.calls)
        killed(url, sides, 120, 8)
        overhead(url, sides, arguments.calls, arguments.rounds)
        waiting(url, sides, 20 * IN_FLIGHT, arguments.rounds)


def truncated(url: str, sides: Sequence[Side], calls: int) -> None:
    print(
        f"20 % of all answers cut in the middle of their JSON, {calls} logical calls:", flush=True
    )
    for side in sides:
        reset(url)
        found = side.run(
            url, "judge;fault=truncated_stop;share=0.2;sid=1", calls, str(IN_FLIGHT), ""
        )
        seen = stats(url)
        served = seen["prompt_tokens"] + 2 * seen["completion_tokens"]
        micro_usd = found["micro_usd"]
        share = (
            "no cost" if micro_usd is None else f"{micro_usd} micro-USD, {micro_usd / served:.2%}"
        )
        print(
            f"  {side.name:11} {found['version']:9} lost {found['lost'] / calls:6.2%}, "
            f"HTTP calls a logical call {seen['total'] / calls:.3f}, reports {share} of {served} served",
            flush=True,
        )


def overhead(url: str, sides: Sequence[Side], calls: int, rounds: int) -> None:
    print(f"CPU ms a call, {IN_FLIGHT} in flight, no latency, {calls} calls, least of {rounds}:")
    for side in sides:
        own = least(side, url, "judge;sid=1", calls, rounds, "cpu_s")
        client = least(Side("openai", side.python), url, "judge;sid=1", calls, rounds, "cpu_s")
        own, client = 1000 * own / calls, 1000 * client / calls
        above = own - client
        print(
            f"  {side.name:11} {own:6.2f}, the bare client {client:.2f}, above it {above:.2f}",
            flush=True,
        )


def waiting(url: str, sides: Sequence[Side], calls: int, rounds: int) -> None:
    ideal = calls / IN_FLIGHT * LATENCY_S
    model = f"judge;lat={1000 * LATENCY_S:g};spread={SPREAD};sid=1"
    print(
        f"wall time of {calls} calls, {IN_FLIGHT} in flight, 50 to 150 ms latency, least of {rounds}:"
    )
    clients = [Side("openai", sys.executable), *sides]
    for side in clients:
        taken = least(side, url, model, calls, rounds, "wall_s")
        print(f"  {side.name:11} {taken / ideal:.2f} times the ideal {ideal:g} s", flush=True)


def least(  # noqa: PLR0917  a script's inner function
    side: Side, url: str, model: str, calls: int, rounds: int, figure: str
) -> float:
    """Return the least of several rounds: other load only adds time."""
    taken: list[float] = []
    for _ in range(rounds):
        reset(url)
        taken.append(side.run(url, model, calls, str(IN_FLIGHT), "", "warm")[figure])
    return min(taken)


def killed(url: str, sides: Sequence[Side], calls: int, in_flight: int) -> None:
    print(f"killed with SIGKILL after half of {calls} calls, {in_flight} in flight, and resumed:")
    for side in sides:
        reset(url)
        with tempfile.TemporaryDirectory() as folder:
            more = (str(in_flight), folder)
            kill_at(url, side, calls // 2, side.command(url, "judge;lat=30;sid=1", calls, *more))
            asked = stats(url)["total"]
            side.run(url, "judge;lat=30;sid=1", calls, *more)
        twice = stats(url)["total"] - calls
        print(f"  {side.name:11} killed at {asked}, {twice} calls paid twice", flush=True)


def kill_at(url: str, side: Side, seen: int, command: list[str]) -> None:
    started = subprocess.Popen(
        command, env=side.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while stats(url)["total"] < seen and started.poll() is None:
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.wait()
    time.sleep(0.2)  # the server ends what it was answering


if __name__ == "__main__":
    main()
