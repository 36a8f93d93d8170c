"""Kill flow, worker and server in the middle of each stage of a deployment's run, and check the next run.

.venv/bin/python benchmarks/flow_kills.py                       # 12 moments: some ten minutes
.venv/bin/python benchmarks/flow_kills.py --targets server --stages judge report

Measured for each moment: how the killed run ended; when a next run had ended, as its deployment may not accept it at
first; whether its report equals an unbroken run's, except for times and payments; how many calls were paid twice.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from faulty_model import FakeServer, running
from prefect_stack import SEARCH, Stack, serving

IN_FLIGHT = 4
OPTIONS = {
    "dataset": "examples/queries.jsonl",
    "notes": "examples/vault",
    "mode": "keyword",
    "speed_passes": 0,
    "sample": "60",
    "unanswerable_mode": "llm",
    "model": "openai/judge;lat=300",
    "max_in_flight": IN_FLIGHT,
    "model_timeout_s": 60,
}
# The line of the log that begins a stage; judging is seen by the model itself.
BEGINS = {
    "prepare": "Beginning flow run",
    "score": "Task run 'prepare' - Finished",
    "judge": "",
    "report": "Task run 'judge' - Finished",
}
VICTIMS = {"flow": "prefect.engine", "worker": "prefect worker", "server": "prefect"}
PAID = {
    *("calls", "cache_hits", "prompt_tokens", "completion_tokens", "cached_tokens", "by_role"),
    *("usd", "usd_source", "answered_by"),
}


def verdict(body: dict[str, Any]) -> dict[str, Any]:
    """Return the same verdict for the same question, whatever the random marks around its notes."""
    answered = bool(len(body["messages"][-1]["content"]) % 2)
    return {"answered": answered, "answer": "", "sources": [], "confidence": "high"}


def comparable(value: Any) -> Any:  # noqa: ANN401  JSON values
    """Return a report without times and payments."""
    if isinstance(value, dict):
        left = {name for name in value if name.endswith("_ms")} | PAID | {"performance"}
        return {name: comparable(inner) for name, inner in value.items() if name not in left}
    return [comparable(inner) for inner in value] if isinstance(value, list) else value


@dataclass
class Lab:
    """Run a server, a worker and a slow model; restart what was killed, as a supervisor does."""

    stack: Stack
    model: FakeServer
    started: contextlib.ExitStack
    expected: Any = None
    calls: int = 0
    lasts: dict[str, float] = field(default_factory=dict)

    def begin(self, target: str) -> None:
        """Start the server or a worker."""
        self.started.enter_context(self.stack.running(target))
        if target == "server":
            self.stack.wait_for(lambda: self.stack.ask("/health"), 120, "the server")

    def start(self, moment: str) -> str:
        """Start a run of the deployment with its own out folder and stored replies."""
        given = {"api_base": self.model.url, "out": f"kills/{moment}"}
        given["store"] = str(self.stack.home / "replies" / moment)
        return self.stack.start(SEARCH, OPTIONS | given)["id"]

    def measure(self) -> None:
        """Run without interruption; return its report, its cost and the duration of its stages."""
        run_id, log = self.start("unbroken"), self.new_log()
        began: dict[str, float] = {}
        for stage in ("prepare", "score", "judge", "report"):
            self.wait(lambda stage=stage: self.has_begun(stage, log))
            began[stage] = time.monotonic()
        self.wait(lambda: "Task run 'report' - Finished" in log())
        ends = [*list(began.values())[1:], time.monotonic()]
        self.lasts = {stage: end - began[stage] for stage, end in zip(began, ends, strict=True)}
        assert self.stack.ended(run_id)["state"]["name"] == "Completed"
        self.expected, self.calls = self.report("unbroken"), self.model.seen.total

    def new_log(self) -> Callable[[], str]:
        """Return what flow runs wrote to the worker's log since the last call."""
        file = self.stack.home / "worker.log"
        offset = file.stat().st_size
        return lambda: file.read_bytes()[offset:].decode(errors="replace")

    def has_begun(self, stage: str, log: Callable[[], str]) -> bool:
        return BEGINS[stage] in log() if BEGINS[stage] else bool(self.model.seen.total)

    @staticmethod
    def wait(found: Callable[[], bool], seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while not found():
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.005)

    def kill(self, target: str) -> None:
        """Send SIGKILL to the flow run's process, the worker's, or all of the server's."""
        marker = f"HOME={self.stack.home}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                mine = marker in (entry / "environ").read_bytes().split(b"\0")
                others = any(VICTIMS[one] in command for one in ("flow", "worker"))
                others |= "_workspace_supervisor" in command
                if mine and VICTIMS[target] in command and not (target == "server" and others):
                    os.kill(int(entry.name), signal.SIGKILL)

    def report(self, moment: str) -> dict[str, Any]:
        outs = [out for out in (self.stack.clone / "kills" / moment).iterdir() if not out.suffix]
        last = max(outs, key=lambda out: out.stat().st_mtime)
        return comparable(json.loads((last / "summary.json").read_text("utf-8")))

    def try_moment(self, target: str, stage: str) -> dict[str, Any]:
        moment = f"{target}-{stage}"
        self.model.seen.calls.clear()
        self.model.seen.bodies.clear()
        run_id, log = self.start(moment), self.new_log()
        self.wait(lambda: self.has_begun(stage, log))
        time.sleep(self.lasts[stage] / 2)
        self.kill(target)
        if target != "flow":
            self.begin(target)
        state: dict[str, Any] = {}
        waited = time.monotonic()
        while state.get("type") != "COMPLETED" and time.monotonic() - waited < 400:
            next_id = self.start(moment)
            state = self.stack.ended(next_id, 400)["state"]
        first = self.stack.ask(f"/flow_runs/{run_id}")["state"]
        return {
            "moment": moment,
            "killed run": first["name"],
            "next run": state["name"],
            "next ended after s": round(time.monotonic() - waited),
            "equal": self.report(moment) == self.expected,
            "paid twice": self.model.seen.total - self.calls,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--targets", nargs="+", choices=VICTIMS, default=list(VICTIMS))
    parser.add_argument("--stages", nargs="+", choices=BEGINS, default=list(BEGINS))
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        running() as model,
        serving(Path(folder)) as stack,
        contextlib.ExitStack() as started,
    ):
        model.respond = verdict
        lab = Lab(stack, model, started)
        deployed = stack.make("deploy")
        assert deployed.returncode == 0, deployed.stderr
        lab.begin("worker")
        lab.measure()
        print(json.dumps({"calls": lab.calls, "stages": lab.lasts}), flush=True)
        for stage in chosen.stages:
            for target in chosen.targets:
                print(json.dumps(lab.try_moment(target, stage)), flush=True)


if __name__ == "__main__":
    main()
