"""Compare what model layers lose, pay, report and cost with one misbehaving server.

    python benchmarks/llm_peers.py                              # gigamind, and instructor over litellm
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
SPREADS = (0.5, 0.0)  # with none, all calls stay in step, as they do with no model
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
    """Hold a layer and its Python; the name may end in a provider of litellm, such as `gigamind/hosted_vllm`."""

    name: str
    python: str

    def command(self, url: str, model: str, calls: int, *more: str) -> list[str]:
        script = str(PEERS / f"with_{self.name.partition('/')[0]}.py")
        return [self.python, script, url, model, str(calls), *more]

    def environment(self) -> dict[str, str]:
        """Return this process's environment; our packages only for what runs in our interpreter."""
        kept = dict(os.environ)
        if self.python != sys.executable:
            kept.pop("PYTHONPATH", None)
        return {**kept, **QUIET, "PROVIDER": self.name.partition("/")[2] or "openai"}

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
    parser.add_argument("--draws", type=int, default=1, help="of which answers are cut")
    parser.add_argument("--rounds", type=int, default=3, help="of what is timed, by turns")
    arguments = parser.parse_args()
    here = [
        Side(name, sys.executable) for name in ("gigamind", "gigamind/hosted_vllm", "instructor")
    ]
    sides = [*here, *(Side(*peer.split("=", 1)) for peer in arguments.peer)]
    resuming = [side for side in sides if side.name not in {"gigamind/hosted_vllm", "instructor"}]
    with server() as url:
        for draw in range(1, arguments.draws + 1):
            truncated(url, sides, arguments.calls, draw)
        killed(url, resuming, 120, 8)
        overhead(url, sides, arguments.calls, arguments.rounds)
        for spread in SPREADS:
            waiting(url, sides, 20 * IN_FLIGHT, arguments.rounds, spread)


def truncated(url: str, sides: Sequence[Side], calls: int, draw: int) -> None:
    """Measure cut replies: three tries should give 1 + 0.2 + 0.04 requests and 0.008 lost."""
    print(
        f"20 % of all answers cut in the middle of their JSON, {calls} logical calls, draw {draw}:",
        flush=True,
    )
    model = f"judge;fault=truncated_stop;share=0.2;sid={draw}"
    for side in sides:
        reset(url)
        found = side.run(url, model, calls, str(IN_FLIGHT), "")
        seen = stats(url)
        served = seen["prompt_tokens"] + 2 * seen["completion_tokens"]
        micro_usd = found["micro_usd"]
        share = (
            "no cost" if micro_usd is None else f"{micro_usd} micro-USD, {micro_usd / served:.2%}"
        )
        print(
            f"  {side.name:20} {found['version']:9} lost {found['lost'] / calls:6.2%}, "
            f"HTTP calls a logical call {seen['total'] / calls:.3f}, reports {share} of {served} served",
            flush=True,
        )


def overhead(url: str, sides: Sequence[Side], calls: int, rounds: int) -> None:
    print(f"CPU ms a call, {IN_FLIGHT} in flight, no latency, {calls} calls, least of {rounds}:")
    taken = least(url, sides, "judge;sid=1", calls, rounds, "cpu_s")
    for name, seconds in taken.items():
        times = f"{seconds / taken['instructor']:.2f} times instructor over litellm"
        print(f"  {name:20} {1000 * seconds / calls:6.2f}, {times}", flush=True)


def waiting(url: str, sides: Sequence[Side], calls: int, rounds: int, spread: float) -> None:
    ideal = calls / IN_FLIGHT * LATENCY_S
    model = f"judge;lat={1000 * LATENCY_S:g};spread={spread};sid=1"
    print(
        f"wall time of {calls} calls, {IN_FLIGHT} in flight, 100 ms latency within {spread:.0%}, least of {rounds}:"
    )
    for name, seconds in least(url, sides, model, calls, rounds, "wall_s").items():
        print(f"  {name:20} {seconds / ideal:.2f} times the ideal {ideal:g} s", flush=True)


def least(  # noqa: PLR0917  a script's inner function
    url: str, sides: Sequence[Side], model: str, calls: int, rounds: int, figure: str
) -> dict[str, float]:
    """Return the least of several rounds per side, in turn: other load only adds time."""
    taken: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            reset(url)
            found = side.run(url, model, calls, str(IN_FLIGHT), "", "warm")
            taken[side.name].append(found[figure])
    return {name: min(times) for name, times in taken.items()}


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
        print(f"  {side.name:20} killed at {asked}, {twice} calls paid twice", flush=True)


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
