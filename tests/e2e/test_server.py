"""`make server` by itself: it ends wholly, and says so where it cannot serve all that it promises."""

import os
import re
import signal
import socket
from pathlib import Path

import pytest
from prefect_stack import Stack, kill_leftovers, laid_out

pytestmark = [pytest.mark.prefect, pytest.mark.deployed, pytest.mark.timeout(300)]


@pytest.fixture
def stack(tmp_path: Path):
    stack = Stack(*laid_out(tmp_path))
    yield stack
    kill_leftovers(stack.home)


def listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def test_sigterm_to_make_alone_ends_the_prefect_server_and_that_of_reports(stack: Stack):
    with stack.running("server") as server:
        stack.wait_for(lambda: stack.ask("/health") and listens(stack.reports), 180, "a server")
        os.kill(server.pid, signal.SIGTERM)
        server.wait(20)
        assert (listens(stack.port), listens(stack.reports)) == (False, False)


def test_a_taken_port_for_reports_is_one_error_line(stack: Stack):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", stack.reports))
        taken.listen()
        made = stack.make("server")
    assert made.returncode == 2
    assert made.stdout == ""
    [error, *_] = made.stderr.splitlines()
    assert error.startswith("Error: ")
    assert {str(stack.reports), "GIGAMIND_REPORTS_PORT"} <= set(re.findall(r"\w+", error))
