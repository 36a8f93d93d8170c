"""The parts of deployments/compose.yaml from Debian's packages: two evaluations at once, the server killed twice.

No test of `make test`: `make test-stack` runs it where PostgreSQL 15 and Redis are installed (`apt-get install
postgresql redis-server`).  Its figures are in deployments/README.md.  The server gets the settings of compose.yaml,
with other addresses.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "support"))
from faulty_model import running as model_server  # noqa: E402
from forms import sectioned  # noqa: E402
from loopback import free_ports  # noqa: E402
from prefect_stack import Stack, kill_leftovers, laid_out  # noqa: E402

POSTGRES = Path("/usr/lib/postgresql/15/bin")
MODEL = "openai/judge;lat=1500"  # so that each evaluation takes about a minute
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
EVALUATIONS = ("eval-search/search-weekly", "eval-search/search-nightly")


@dataclass(frozen=True)
class TeamStack(Stack):
    """A stack with the settings of compose.yaml's server."""

    settings: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        own = super().environment | {"OPENAI_API_KEY": "none", **self.settings}
        return {name: value for name, value in own.items() if "LOOP_SECONDS" not in name}


def composed(postgres: int, redis: int, password: str) -> dict[str, str]:
    """The environment of compose.yaml's server, but for where it listens, with both services on loopback."""
    compose = yaml.safe_load((ROOT / "deployments" / "compose.yaml").read_text("utf-8"))
    given = compose["services"]["server"]["environment"]
    settings = {
        name: re.sub(r"\$\{\w+:\?[^}]*\}", password, value)
        .replace("@postgres:5432", f"@127.0.0.1:{postgres}")
        .replace("@redis:6379", f"@127.0.0.1:{redis}")
        for name, value in given.items()
        if not name.startswith(("PREFECT_SERVER_API_", "PREFECT_SERVER_UI_API"))
    }
    assert sum("127.0.0.1" in value for value in settings.values()) == 3, settings
    return settings


@contextlib.contextmanager
def process(command: list[str], log: Path, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A service until the block ends."""
    with log.open("wb") as output:
        started = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **more)
    try:
        yield started
    finally:
        started.send_signal(signal.SIGINT)  # PostgreSQL's fast way out
        started.wait(30)


@contextlib.contextmanager
def postgres(folder: Path, port: int, password: str) -> Iterator[None]:
    """A PostgreSQL of its own, run by a user who is not root, with an empty database `prefect`."""
    data = folder / "postgres"
    data.mkdir()
    user = "postgres" if os.geteuid() == 0 else None
    (folder / "password").write_text(password)
    if user:
        shutil.chown(data, user)
        (folder / "password").chmod(0o644)

    def run(program: str, *arguments: object, **more: Any) -> None:
        command = [POSTGRES / program, *map(str, arguments)]
        subprocess.run(command, check=True, user=user, cwd=data, stdout=subprocess.DEVNULL, **more)

    login = ("-U", "prefect", "-A", "scram-sha-256", "--pwfile", folder / "password")
    run("initdb", "-D", data, *login)
    listening = ["-c", "listen_addresses=127.0.0.1", "-p", str(port), "-k", str(data)]
    with process(
        [str(POSTGRES / "postgres"), "-D", str(data), *listening], folder / "postgres.log",
        user=user, cwd=data,
    ):  # fmt: skip
        address = ("-h", "127.0.0.1", "-p", port, "-U", "prefect")
        deadline = time.monotonic() + 60
        while subprocess.run(
            [POSTGRES / "pg_isready", *map(str, address)], check=False, stdout=subprocess.DEVNULL
        ).returncode:
            assert time.monotonic() < deadline, (folder / "postgres.log").read_text()
            time.sleep(0.2)
        run("createdb", *address, "prefect", env=os.environ | {"PGPASSWORD": password})
        yield


@contextlib.contextmanager
def redis(folder: Path, port: int, password: str) -> Iterator[None]:
    """A Redis as compose.yaml starts it."""
    options = ["--appendonly", "yes", "--requirepass", password, "--bind", "127.0.0.1"]
    command = ["redis-server", "--port", str(port), "--dir", str(folder), *options]
    with process(command, folder / "redis.log"):
        yield


def start(stack: Stack, name: str, url: str) -> str:
    """Id of a run of a deployment that asks the slow model."""
    deployment = stack.ask(f"/deployments/name/{name}")
    more = {"model": MODEL, "api_base": url, "max_in_flight": 4, "model_timeout_s": 60}
    more |= {"max_cost_usd": None, "unanswerable_mode": "llm"}
    more |= {"store_mode": "off"}
    given = {"options": sectioned(deployment["parameters"]["options"], **more)}
    path = f"/deployments/{deployment['id']}/create_flow_run"
    return stack.ask(path, {"parameters": given})["id"]


def states(stack: Stack, runs: list[str]) -> list[str]:
    """How each run stands."""
    found = stack.ask("/flow_runs/filter", {"flow_runs": {"id": {"any_": runs}}})
    by_id = {run["id"]: run for run in found}
    return [by_id[run]["state"]["type"] for run in runs]


def asked(stack: Stack, what: str, run: str) -> list[Any]:
    """The task runs, artifacts or logs of a flow run."""
    one = {"id": {"any_": [run]}}
    body = {"logs": {"flow_run_id": {"any_": [run]}}} if what == "logs" else {"flow_runs": one}
    return stack.ask(f"/{what}/filter", body)


def answers(stack: Stack) -> bool:
    """Whether the server is there."""
    with contextlib.suppress(OSError, urllib.error.HTTPError):
        return bool(stack.ask("/health"))
    return False


def check(stack: Stack, runs: list[str], seen: int) -> None:
    """That nothing is lost, with the figures of it."""
    for name, run in zip(EVALUATIONS, runs, strict=True):
        found = stack.ask(f"/flow_runs/{run}")
        assert found["state"]["type"] == "COMPLETED", found["state"]
        # Records of task runs come through Redis, a little later.
        ends = stack.wait_for(
            lambda run=run: (
                (tasks := asked(stack, "task_runs", run))
                and all(task["state"]["type"] == "COMPLETED" for task in tasks)
                and tasks
            ),
            60,
            f"the task runs of {name}",
        )
        artifacts = {artifact["key"] for artifact in asked(stack, "artifacts", run)}
        [out] = [
            folder
            for folder in (stack.clone / "eval" / "out" / name.partition("/")[2]).iterdir()
            if (folder / "run.json").is_file()
        ]
        attempts = (out / "attempts.jsonl").read_text("utf-8").splitlines()
        items = (out / "per_item.jsonl").read_text("utf-8").splitlines()
        llm = json.loads((out / "summary.json").read_text("utf-8"))["llm"]
        logs = asked(stack, "logs", run)
        print(
            f"{name}: {len(items)} items, {len(attempts)} requests, {len(ends)} task runs, "
            f"{len(logs)} log lines, {found['total_run_time']:.0f} s, outcomes {llm['outcomes']}, "
            f"artifacts {', '.join(sorted(filter(None, artifacts)))}"
        )
        names = sorted(task["name"] for task in ends)
        scored = [re.findall(r"\d+", name) for name in names if name.startswith("score ")]
        assert sum(int(end) - int(first) for first, end in scored) == len(items), names
        assert {"prepare", "judge", "report"} < set(names), names
        assert len(artifacts) == 2
    print(f"requests that the model server saw: {seen}")


def main() -> None:
    """Run it all, and tell the figures."""
    folder = Path(tempfile.mkdtemp(prefix="team-"))
    folder.chmod(0o755)  # PostgreSQL's user goes through it
    password, ports = secrets.token_hex(16), free_ports()
    stack = TeamStack(*laid_out(folder), composed(*ports, password))
    clock = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - clock:6.1f} s  {what}", flush=True)

    with contextlib.ExitStack() as services:
        services.callback(shutil.rmtree, folder, ignore_errors=True)
        services.callback(kill_leftovers, stack.home)
        services.enter_context(postgres(folder, ports[0], password))
        services.enter_context(redis(folder, ports[1], password))
        model = services.enter_context(model_server())
        tell("PostgreSQL and Redis stand")
        serving = services.enter_context(contextlib.ExitStack())
        server = serving.enter_context(stack.running("server"))
        stack.wait_for(lambda: answers(stack), 120, "a server")
        tell("server stands")
        services.enter_context(stack.running("worker"))
        deployed = stack.make("deploy")
        assert deployed.returncode == 0, deployed.stdout + deployed.stderr
        tell("deployed")
        runs = [start(stack, name, model.url) for name in EVALUATIONS]
        moments = {
            "both begin": lambda: states(stack, runs) == ["RUNNING"] * 2,
            "both ask the model": lambda: model.seen.total >= 20,
        }
        for what, come in moments.items():
            stack.wait_for(come, 120, what)
            os.killpg(server.pid, signal.SIGKILL)
            tell(f"{what} ({model.seen.total} requests made): the server is killed")
            killed = time.monotonic()
            server = serving.enter_context(stack.running("server"))
            stack.wait_for(lambda: answers(stack), 120, "a server again")
            tell(f"server stands again, {time.monotonic() - killed:.1f} s later")
        stack.wait_for(lambda: set(states(stack, runs)) <= ENDED, 300, "the end of both")
        tell("both have ended")
        check(stack, runs, model.seen.total)
        services.pop_all().close()
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
