"""A Prefect server that cannot be used is told in a line, at once, without our credentials."""

import contextlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from called import call
from loopback import Answering, listening
from prefect_stack import ROOT, Stack

from gigamind.errors import InputError, ServerError
from gigamind.publish.server import check_server

EXAMPLES = ROOT / "examples"
KEY = "pnu_secret"
Configure = Callable[..., None]


@pytest.fixture(autouse=True)
def configure(tmp_path: Path) -> Iterator[Configure]:
    """Set variables of the environment and the settings of Prefect that they stand for; no server is set at first."""
    from prefect import settings

    names = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")
    known = {name: getattr(settings, name) for name in names}
    with pytest.MonkeyPatch.context() as environment, contextlib.ExitStack() as changed:

        def change(**variables: str) -> None:
            for name, value in variables.items():
                environment.setenv(name, value)
            new = {known[name]: variables[name] for name in variables.keys() & known.keys()}
            changed.enter_context(settings.temporary_settings(new))

        for name in names:
            environment.delenv(name, raising=False)
        defaults = settings.temporary_settings(restore_defaults=set(known.values()))
        changed.enter_context(defaults)
        change(PREFECT_HOME=str(tmp_path))
        yield change


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as taken:  # bound and not listening: nobody else gets it meanwhile
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def guarded_server() -> Iterator[str]:
    """The address of a server that lets in whoever has the key."""

    class Guarded(Answering):
        def do_POST(self) -> None:
            self.body()
            if self.headers.get("Authorization") in {f"Bearer {KEY}", "Basic dTpw"}:
                self.answer(200, [])
            else:
                self.answer(401, {"exception_message": "Unauthorized"})

        def do_GET(self) -> None:
            self.send_error(404)  # no tokens against forged requests, says Prefect's client

    with listening(Guarded) as server:
        yield f"{server.url}/api"


def test_a_flow_whose_server_is_down_ends_with_one_line_within_five_seconds(
    closed_port, configure, tmp_path
):
    configure(PREFECT_API_URL=f"http://u:{KEY}@127.0.0.1:{closed_port}/api")
    given = ("--dataset", EXAMPLES / "queries.jsonl", "--notes", EXAMPLES / "vault")
    before = time.process_time()
    ended = call("eval", "search", *given, "--out", tmp_path / "out", "--flow")
    assert time.process_time() - before < 5  # it waits for nothing
    assert (ended.code, ended.stdout) == (3, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("Error: ")
    assert f"http://127.0.0.1:{closed_port}/api" in line


@pytest.mark.whole
def test_a_temporary_server_that_is_too_slow_is_one_line(tmp_path: Path, configure: Configure):
    configure(PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS="1")
    given = ("--dataset", EXAMPLES / "queries.jsonl", "--notes", EXAMPLES / "vault")
    command = [sys.executable, "-m", "gigamind", "eval", "search", *map(str, given), "--flow"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr
    assert "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS" in ended.stderr.splitlines()[-1]


def test_make_says_in_a_line_that_the_server_is_down(closed_port: int, tmp_path: Path):
    ended = Stack(ROOT, tmp_path, closed_port, closed_port).make("run")
    assert ended.returncode
    told, of_make = ended.stderr.splitlines()
    assert told.startswith("Error: ")
    assert "http://127.0.0.1" in told
    assert of_make.endswith("Error 3")


@pytest.mark.parametrize(
    ("target", "then"), [("worker", "prefect worker"), ("deploy", "deploy.py")]
)
def test_make_asks_for_the_server_before_it_starts_anything(target: str, then: str):
    make = ["make", "--dry-run", "-o", ".venv/.ready", target]
    recipe = subprocess.run(make, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert re.search(rf"check\.py (server|worker)\b.* && .*{then}", recipe, re.DOTALL)


def test_a_server_that_stays_silent_is_waited_for_as_long_as_set(configure: Configure):
    configure(GIGAMIND_SERVER_WAIT_S="0.4")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/api"
        configure(PREFECT_API_URL=url)
        start = time.monotonic()
        with pytest.raises(ServerError, match=r"http.*0\.4.*\(timed out\).*GIGAMIND_SERVER_WAIT_S"):
            check_server()
        assert 0.4 <= time.monotonic() - start < 30


def test_a_busy_server_is_asked_again_and_a_line_says_so(configure, capsys, waits):
    seen: list[int] = []

    class Busy(Answering):
        def do_POST(self) -> None:
            self.body()
            seen.append(503 if len(seen) < 2 else 200)
            self.answer(seen[-1], {})

    with listening(Busy) as server:
        configure(PREFECT_API_URL=f"{server.url}/api")
        assert check_server() == f"{server.url}/api"
    assert seen == [503, 503, 200]
    assert waits == [2, 2]
    [line] = capsys.readouterr().err.splitlines()
    assert server.url in line


def test_a_wait_that_is_no_number_is_told(configure: Configure):
    configure(PREFECT_API_URL="http://127.0.0.1:9/api")
    configure(GIGAMIND_SERVER_WAIT_S="long")
    with pytest.raises(InputError, match="GIGAMIND_SERVER_WAIT_S"):
        check_server()


def test_an_address_that_is_none_is_told(configure: Configure):
    configure(PREFECT_API_URL="127.0.0.1:4200")
    with pytest.raises(ServerError, match="correct PREFECT_API_URL"):
        check_server()


@pytest.mark.parametrize(
    ("variable", "value"), [("PREFECT_API_KEY", KEY), ("PREFECT_API_AUTH_STRING", "u:p")]
)
def test_credentials_of_the_environment_are_sent(guarded_server, configure, variable, value):
    configure(PREFECT_API_URL=guarded_server)
    configure(**{variable: value})
    assert check_server() == guarded_server


def test_credentials_that_are_refused_are_told_and_not_shown(guarded_server, configure):
    configure(PREFECT_API_URL=guarded_server)
    configure(PREFECT_API_KEY="pnu_expired")
    with pytest.raises(ServerError) as refused:
        check_server()
    assert refused.value.exit_code == 3
    assert refused.value.message.values == {"url": guarded_server, "status": 401}
    assert "expired" in str(refused.value)
    assert "pnu_" not in str(refused.value)


def test_a_key_that_only_the_profile_has_counts(guarded_server: str, configure: Configure):
    from prefect.settings import PREFECT_API_KEY, PREFECT_API_URL, temporary_settings

    configure(PREFECT_API_URL=guarded_server)
    with temporary_settings({PREFECT_API_URL: guarded_server, PREFECT_API_KEY: KEY}):
        assert check_server() == guarded_server


def test_without_a_server_there_is_nothing_to_check():
    assert check_server() is None
