"""A process that graduates sessions is killed with SIGKILL, many times, and nothing it acknowledged is lost."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from textwrap import dedent

import pytest

from gigamind.memory.events import read_events
from gigamind.memory.sessions import _entries_of

# Prints the id of each event once `append` has returned it: that is the acknowledgement.  Dies after `deaths` of them.
WORKER = dedent("""
    import os, signal, sys
    from pathlib import Path
    from gigamind.memory.events import EventLog
    from gigamind.memory.sessions import Extraction, Message, Session

    path, deaths = Path(sys.argv[1]), int(sys.argv[2])

    class Reporting(EventLog):
        def append(self, event_type, content):
            global deaths
            event = super().append(event_type, content)
            print(event.event_id, flush=True)
            deaths -= 1
            if deaths == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return event

    def evidence(*quotes):
        return [{"message_index": 0, "quote": quote} for quote in quotes]

    with Reporting(path) as log:
        for number in range(int(sys.argv[3])):
            messages = (Message(role="user", content=f"{number}번 노트를 저장했다. 근거가 있다."),)
            entries = [
                {"entry_id": "good", "text": "a", "evidence": evidence(f"{number}번 노트를")},
                {"entry_id": "bad", "text": "b", "evidence": evidence("없는 말")},
            ]
            extraction = Extraction.model_validate({"entries": entries})
            Session(f"s{number}", messages).graduate(extraction, log)
""")
EVENTS_A_SESSION = 5
SESSIONS = 2  # so that a process is killed within a session, and between two


def start(path, deaths, sessions):
    arguments = [sys.executable, "-c", WORKER, str(path), str(deaths), str(sessions)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def state(path):
    return {(entry.session_id, entry.entry_id): entry for entry in _entries_of(read_events(path))}


def check(path, acknowledged):
    """The log is whole, holds every acknowledged event, and shows each entry either decided or not."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    events = list(read_events(path))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert acknowledged <= {event.event_id for event in events}
    decided = {
        (event.content["extraction_id"], event.content["entry_id"]): event.event_type
        for event in events
        if "entry_id" in event.content
    }
    for entry in state(path).values():
        decision = decided.get((entry.extraction_id, entry.entry_id))
        assert (entry.stage == "verified") == (decision == "entry_promoted")
        assert entry.promotion_blocked == (decision == "promotion_blocked")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "memory.db"
    worker = start(path, 0, SESSIONS)
    acknowledged = worker.communicate()[0].split()
    assert worker.returncode == 0
    assert len(acknowledged) == SESSIONS * EVENTS_A_SESSION
    return state(path)


@pytest.mark.faults
def test_killed_between_any_two_events_it_goes_on_where_it_stopped(tmp_path, undisturbed):
    path = tmp_path / "memory.db"
    acknowledged = set()
    for deaths in range(1, EVENTS_A_SESSION + 2):  # of the first session, and into the second
        worker = start(path, deaths, SESSIONS)
        acknowledged |= set(worker.communicate()[0].split())
        assert worker.returncode == -signal.SIGKILL
        assert len(acknowledged) == deaths
        check(path, acknowledged)
    start(path, 0, SESSIONS).communicate()
    assert state(path) == undisturbed


@pytest.mark.faults
@pytest.mark.parametrize("attempt", range(5))
def test_killed_at_any_moment_it_loses_nothing_it_acknowledged(tmp_path, undisturbed, attempt):
    path = tmp_path / "memory.db"
    worker = start(path, 0, 2_000)
    first = worker.stdout.readline()
    time.sleep(0.007 * attempt)
    worker.kill()
    acknowledged = {line for line in (first + worker.communicate()[0]).split("\n") if line}
    assert worker.returncode == -signal.SIGKILL
    whole = {line for line in acknowledged if len(line) == 64}  # the last line may be torn
    check(path, whole)
    start(path, 0, SESSIONS).communicate()
    final = state(path)
    assert {key: final[key] for key in undisturbed} == undisturbed
