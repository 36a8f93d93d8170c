"""A Prefect server and what belongs to it, started as a team starts them, for tests that need the real thing."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from forms import sectioned
from loopback import free_ports

ROOT = Path(__file__).parents[2]
START_SECONDS = 180  # on two cores that are busy with other tests
ANSWER_SECONDS = 45
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
SEARCH = "eval-search/search-nightly"


@dataclass(frozen=True)
class Stack:
    """What `make server`, `make worker` and `make deploy` start, from a clone of its own."""

    clone: Path
    home: Path
    port: int
    reports: int

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's own Prefect; a request that leaves this machine ends at a closed port."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self.home),
            "PREFECT_HOME": str(self.home / ".prefect"),
            "PREFECT_SERVER_API_PORT": str(self.port),
            "GIGAMIND_REPORTS_PORT": str(self.reports),
            # The scheduler looks every minute for schedules that were added since the deploy.
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "3",
            "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "0.2",  # of 5 s
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "GIGAMIND_CACHE_DIR": str(self.home / "cache"),
            "GIGAMIND_WORKER_ALLOWS": ";".join(
                f"{name}=http://127.0.0.1:*" for name in ("qdrant_url", "api_base", "system")
            ),
            "OMP_NUM_THREADS": "1",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def command(self, target: str) -> list[str]:
        """`make target` with the packages of this Python, which are there already."""
        return ["make", "-o", ".venv/.ready", f"BIN={Path(sys.executable).parent}", target]

    def make(
        self, target: str, seconds: float = START_SECONDS, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(target),
            cwd=self.clone,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    @contextlib.contextmanager
    def running(
        self, target: str, grace_s: float = 15, **environment: str
    ) -> Generator[subprocess.Popen[bytes]]:
        """`make target` until the block ends."""
        with (self.home / f"{target}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(target),
                cwd=self.clone,
                env=self.environment | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            _stop(process, grace_s)

    def ask(self, path: str, body: object = None, method: str | None = None) -> Any:
        """What the API answers: a GET, or a POST where there is a body, unless `method` says otherwise.

        A server on SQLite answers 503 while its database is locked, and Prefect's own client then asks again: so do we.
        On two busy cores it may not answer at all for half a minute; what only reads is then asked once more.

        Raises:
            urllib.error.HTTPError: it refuses.
        """
        reads = method is None and (body is None or path.endswith("/filter"))
        for wait in (1, 2, 4, 8):
            try:
                return self._ask_once(path, body, method)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise
                time.sleep(wait)
            except TimeoutError:
                if not reads:
                    raise
        return self._ask_once(path, body, method)

    def _ask_once(self, path: str, body: object, method: str | None) -> Any:
        request = urllib.request.Request(
            self.api + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            return json.loads(answer.read() or "null")

    def wait_for(self, found: Callable[[], Any], seconds: float, what: str) -> Any:
        """The first true value of `found`; fails with the logs when the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if value := found():
                    return value
            except urllib.error.HTTPError:
                raise  # an answer, and no server that is not yet there
            except OSError:
                pass
            time.sleep(0.25)
        logs = "\n".join(f"{log.name}:\n{log.read_text()}" for log in self.home.glob("*.log"))
        pytest.fail(f"not within {seconds} s: {what}\n{logs}")

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def deployment(self, name: str = SEARCH) -> Any:
        return self.ask(f"/deployments/name/{name}")

    def parameters(self, name: str = SEARCH, **changes: object) -> dict[str, Any]:
        """Those of the deployment, with some of its options changed."""
        options = self.deployment(name)["parameters"]["options"]
        # Those of an evaluation have sections.
        return {
            "options": sectioned(options, **changes) if "dataset" in options else options | changes
        }

    def start(
        self, name: str = SEARCH, only: dict[str, Any] | None = None, **changes: object
    ) -> Any:
        """A flow run of the deployment, with some of its options changed, or with `only` these."""
        given = self.parameters(name, **changes) if changes else {}
        if only:
            given = {"options": sectioned(only)}
        return self.ask(
            f"/deployments/{self.deployment(name)['id']}/create_flow_run",
            {"parameters": given, "enforce_parameter_schema": True},
        )

    def ended(self, run_id: str, seconds: float = 90) -> Any:
        """The flow run, once it has ended."""

        def found() -> Any:
            run = self.ask(f"/flow_runs/{run_id}")
            return run if run["state"]["type"] in ENDED else None

        return self.wait_for(found, seconds, f"the end of flow run {run_id}")

    def logs_of(self, run_id: str) -> list[Any]:
        """What stands in the Logs tab of a flow run."""
        return self.ask("/logs/filter", {"logs": {"flow_run_id": {"any_": [run_id]}}})


def kill_process_of(run: Any) -> None:
    """Kill the process of a run, should its worker have started it."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if run["id"].encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)


def laid_out(folder: Path) -> tuple[Path, Path, int, int]:
    """A clone, a home beside it, and two ports: what a `Stack` is made of."""
    # Any clone will do, also one in a folder with such a name.
    clone, home = folder / "우리 clone", folder / "home"
    home.mkdir()
    for part in ("deployments", "examples", "flows"):
        shutil.copytree(ROOT / part, clone / part)
    shutil.copy(ROOT / "Makefile", clone)
    return clone, home, *free_ports()


def keep_deployments(clone: Path, *names: str) -> None:
    """Leave only these deployments in a clone's file, for a quick deploy."""
    file = clone / "deployments" / "prefect.yaml"
    content = yaml.safe_load(file.read_text("utf-8"))
    content["deployments"] = [one for one in content["deployments"] if one["name"] in names]
    assert len(content["deployments"]) == len(names)
    file.write_text(yaml.safe_dump(content), "utf-8")


@contextlib.contextmanager
def starting(folder: Path) -> Generator[Callable[[], Stack]]:
    """A server on loopback, as `make server` starts it; the function that is given waits for it."""
    stack = Stack(*laid_out(folder))

    def started() -> Stack:
        stack.wait_for(
            lambda: server.poll() is None and stack.ask("/health"), START_SECONDS, "a server"
        )
        return stack

    try:
        with stack.running("server", grace_s=0) as server:
            yield started
    finally:
        kill_leftovers(stack.home)


@contextlib.contextmanager
def serving(folder: Path) -> Generator[Stack]:
    """The same, once it has started."""
    with starting(folder) as started:
        yield started()


def _stop(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """End a process and its group, gently at first: a worker then ends the flow runs it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def kill_leftovers(home: Path) -> None:
    """End flow runs that have outlived a killed worker: they live in sessions of their own."""
    marker = f"HOME={home}".encode()
    for entry in Path("/proc").glob("[0-9]*"):  # without /proc, there is nothing more to be done
        with contextlib.suppress(OSError):
            if marker in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
