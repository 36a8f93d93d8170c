import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
START_SECONDS = 120
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Stack:
    """A server and a worker as `make server` and `make worker` start them, from a clone of its own."""

    clone: Path
    home: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's own Prefect; a request that leaves this machine ends at a closed port."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self.home),
            "PREFECT_HOME": str(self.home / ".prefect"),
            "PREFECT_SERVER_API_PORT": str(self.port),
            # The scheduler looks every minute for schedules that were added since the deploy.
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "3",
            "GIGAMIND_CACHE_DIR": str(self.home / "cache"),
            "OMP_NUM_THREADS": "1",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def command(self, target: str) -> list[str]:
        """`make target` with the packages of this Python, which are there already."""
        return ["make", "-o", ".venv/.ready", f"BIN={Path(sys.executable).parent}", target]

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(target),
            cwd=self.clone,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )

    @contextlib.contextmanager
    def running(self, target: str) -> Iterator[subprocess.Popen[bytes]]:
        """`make target` until the block ends."""
        with (self.home / f"{target}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(target),
                cwd=self.clone,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            _stop(process)

    def ask(self, path: str, body: object = None) -> Any:
        """What the API answers: a GET, or a POST where there is a body.

        A server on SQLite answers 503 while its database is locked, and Prefect's own client then asks again: so do we.

        Raises:
            urllib.error.HTTPError: it refuses.
        """
        for wait in (1, 2, 4, 8):
            try:
                return self._ask_once(path, body)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise
                time.sleep(wait)
        return self._ask_once(path, body)

    def _ask_once(self, path: str, body: object) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
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

    def deployment(self) -> Any:
        return self.ask("/deployments/name/eval-search/search-nightly")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server and a worker on loopback, with the deployments of the repository."""
    # Any clone will do, also one in a folder with such a name.
    clone = tmp_path_factory.mktemp("clone") / "우리 clone"
    for folder in ("deployments", "examples", "flows"):
        shutil.copytree(ROOT / folder, clone / folder)
    shutil.copy(ROOT / "Makefile", clone)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stack = Stack(clone, tmp_path_factory.mktemp("home"), port)
    try:
        with stack.running("server") as server:
            stack.wait_for(
                lambda: server.poll() is None and stack.ask("/health"), START_SECONDS, "a server"
            )
            with stack.running("worker"):
                deployed = stack.make("deploy")
                assert deployed.returncode == 0, deployed.stdout + deployed.stderr
                yield stack
    finally:
        _kill_leftovers(stack.home)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group, gently at first: a worker then ends the flow runs it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _kill_leftovers(home: Path) -> None:
    """End flow runs that have outlived a killed worker: they live in sessions of their own."""
    marker = f"HOME={home}".encode()
    for entry in Path("/proc").glob("[0-9]*"):  # without /proc, there is nothing more to be done
        with contextlib.suppress(OSError):
            if marker in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Debian's Chromium, without a window."""
    from selenium import webdriver

    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in programs.items() if not path]:
        pytest.fail(
            f"{' and '.join(missing)} not found: apt-get install -y chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(programs["chromedriver"]))
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser, tmp_path):
    """Open a page from its file; afterwards the console must be empty and the network untouched."""

    def show(text, width=1280):
        page = tmp_path / "report.html"
        page.write_text(text, encoding="utf-8")
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(page.as_uri())
        return browser

    yield show
    assert browser.get_log("browser") == []
    assert {address.partition(":")[0] for address in _requested(browser)} <= {"file", "data"}


def _requested(browser):
    """Addresses that the page asked for, also those that were refused."""
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]
