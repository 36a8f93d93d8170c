"""Real processes, real signals: SIGTERM keeps what was done as Ctrl-C does, and an ignored Ctrl-C stays ignored."""

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from command_line import SEARCH
from forked import command
from row_files import query_row, write_rows

from gigamind.cli.main import _stoppable

pytestmark = pytest.mark.timeout(300)  # processes that load the client of a model server


# As a shell starts `command &` in a script.
IN_BACKGROUND = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")


def start(folder, *arguments, ignoring=False):
    before = IN_BACKGROUND if ignoring else ()
    return subprocess.Popen(
        [*before, sys.executable, "-m", "gigamind", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "GIGAMIND_CACHE_DIR": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(what, process):
    end = time.monotonic() + 120
    while not what() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def ended(process, number):
    process.send_signal(number)
    out, errors = process.communicate(timeout=120)
    return process.returncode, out, errors


def of_model(server, latency_ms=150):
    model = ("--model", f"openai/judge;lat={latency_ms}", "--api-base", server.url)
    return (*model, "--max-in-flight", 1, "--model-timeout-s", 20)


@pytest.fixture
def many(case):
    """A case of many questions."""
    rows = (query_row(f"q{n}", f"deploy {n}", "deploy.md") for n in range(200))
    write_rows(case / "queries.jsonl", rows)
    return case


@pytest.mark.parametrize(
    ("ignoring", "number", "code", "word"),
    [
        pytest.param(False, signal.SIGINT, 130, "Interrupted.", marks=pytest.mark.faults),
        (True, signal.SIGTERM, 143, "Terminated."),
    ],
)
def test_a_run_by_a_model_that_is_stopped_keeps_its_verdicts_and_says_how_to_go_on(
    many, server, ignoring, number, code, word
):
    judged = ("--unanswerable-mode", "llm", *of_model(server, 60), "--out", "out")
    process = command(many, *SEARCH, *judged, ignoring=ignoring)
    wait_for(lambda: server.seen.total >= 3, process)
    if ignoring:
        process.send_signal(signal.SIGINT)
        seen = server.seen.total
        wait_for(lambda: server.seen.total >= seen + 3, process)

    exit_code, out, errors = ended(process, number)

    assert (exit_code, word in errors) == (code, True), errors
    assert "Traceback" not in errors
    assert "Report: out/report.html" in out
    assert "--resume out" in out.splitlines()[0]
    assert json.loads((many / "out" / "run.json").read_text("utf-8"))["status"] == "interrupted"
    errors_file = (many / "out" / "errors.jsonl").read_text("utf-8").splitlines()
    verdicts = json.loads((many / "out" / "summary.json").read_text("utf-8"))["llm"]["outcomes"]
    assert len(errors_file) == 200 - verdicts["scored"]
    assert f" {len(errors_file)} " in out.splitlines()[0]
    assert json.loads(errors_file[-1])["error"] == "not_asked"
    kept = (many / "out.unfinished" / "items.jsonl").read_text("utf-8").splitlines()
    assert len(kept) - 1 >= server.seen.total - 2  # all but what was in flight


@pytest.fixture
def in_background():
    """Ctrl-C is ignored here."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_background")
def test_sigterm_in_the_middle_of_a_task_is_no_error_of_it_and_a_second_one_waits_for_nothing(
    caplog,
):
    steps = []

    async def work(signals):
        for step in range(signals):
            os.kill(os.getpid(), signal.SIGTERM)  # which Python answers here
            steps.append(step)
        await asyncio.sleep(60)

    async def ask(signals):
        await asyncio.wait([asyncio.create_task(work(signals))])

    for signals, done in ((1, [0]), (2, [0])):
        steps.clear()
        with _stoppable() as stop, pytest.raises(KeyboardInterrupt):
            asyncio.run(ask(signals))
        assert (stop.exit_code, steps) == (143, done)
        gc.collect()  # asyncio tells of a task when it goes
        assert [record.message for record in caplog.records if signals == 1] == []


def test_other_commands_that_ask_a_model_tell_what_was_spent_and_end_in_143(case, server):
    (case / "many").mkdir()
    for number in range(50):
        (case / "many" / f"{number}.md").write_text(f"Note {number} says so.", encoding="utf-8")
    given = ("eval", "generate-queries", "--notes", "many", "--out", "q.jsonl")
    process = command(case, *given, *of_model(server))
    wait_for(lambda: server.seen.total >= 3, process)
    code, _, errors = ended(process, signal.SIGTERM)
    assert code == 143, errors
    assert re.search(r"\b3\b.* USD", errors)
    assert "Traceback" not in errors


def test_short_commands_say_nothing_of_ctrl_c(case):
    process = start(case, "--version", ignoring=True)
    assert process.communicate(timeout=120)[1] == ""
