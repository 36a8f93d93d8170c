import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime

import pytest

from gigamind.errors import EvaluationError, InputError
from gigamind.memory.events import EventLog, read_events


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "memory.db"


def test_events_are_read_back_in_order(path):
    with EventLog(path) as log:
        first = log.append("session_ingested", {"b": "가", "a": [1, None]})
        second = log.append("entry_promoted", {"a": 1.5})
    assert list(read_events(path)) == [first, second]
    assert (first.seq, second.seq) == (1, 2)
    assert first.content == {"a": [1, None], "b": "가"}
    assert list(read_events(path, after=1)) == [second]


def test_the_same_content_is_one_event_whatever_the_order_of_its_keys(path):
    with EventLog(path) as log:
        first = log.append("session_ingested", {"a": 1, "b": 2})
        assert log.append("session_ingested", {"b": 2, "a": 1}) == first
        assert log.append("memory_extracted", {"a": 1, "b": 2}) != first
    with EventLog(path) as log:
        assert log.append("session_ingested", {"a": 1, "b": 2}) == first
        assert log.append("session_ingested", {"a": 2}).seq == 3  # repeating used no number up
    assert len(list(read_events(path))) == 3


def test_an_event_carries_utc_time_and_its_schema_version(path):
    before = datetime.now(UTC)
    with EventLog(path) as log:
        event = log.append("session_ingested", {})
    when = datetime.fromisoformat(event.created_at)
    assert when.utcoffset().total_seconds() == 0
    assert abs((when - before).total_seconds()) < 60
    assert event.schema_version == 1


@pytest.mark.parametrize("change", ["UPDATE events SET content = '{}'", "DELETE FROM events"])
def test_the_log_cannot_be_changed(path, change):
    with EventLog(path) as log:
        log.append("session_ingested", {"a": 1})
    with closing(sqlite3.connect(path)) as database:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute(change)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_second_writer_is_told_to_wait_and_a_reader_is_not(path):
    with EventLog(path) as log:
        log.append("session_ingested", {})
        with pytest.raises(EvaluationError, match="writer"):
            EventLog(path, wait_seconds=0.05)
        assert len(list(read_events(path))) == 1
    EventLog(path, wait_seconds=0.05).close()


@pytest.mark.parametrize(
    "content",
    [b"", b"not a database, but long enough to be read as one" * 50],
    ids=["empty", "junk"],
)
def test_a_file_that_is_no_log_is_refused_by_readers(tmp_path, content):
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"memory\.db"):
        list(read_events(path))


def test_another_database_is_never_written_to(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE mine (x)")
        database.commit()
    with pytest.raises(InputError, match=r"other\.db"):
        EventLog(path)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


def test_a_log_of_a_later_release_is_refused(path):
    EventLog(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 2")
    with pytest.raises(InputError) as error:
        EventLog(path)
    assert error.value.message.values["version"] == 2


def test_content_that_is_not_json_is_not_appended(path):
    with EventLog(path) as log:
        with pytest.raises(TypeError):
            log.append("session_ingested", {"a": object()})
        assert json.dumps([event.seq for event in read_events(path)]) == "[]"


def test_a_place_where_no_log_can_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file"):
        EventLog(tmp_path / "file" / "memory.db")
    (tmp_path / "memory.db-writer").mkdir()
    with pytest.raises(InputError, match=r"memory\.db-writer"):
        EventLog(tmp_path / "memory.db")


def test_a_full_disk_loses_no_event_that_was_written(path):
    code = f"""
import resource
from pathlib import Path
from gigamind.errors import EvaluationError
from gigamind.memory.events import EventLog
with EventLog(Path({str(path)!r})) as log:
    log.append("session_ingested", {{"text": "first"}})
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # a write beyond it fails
    try:
        log.append("session_ingested", {{"text": "가" * 100_000}})
    except EvaluationError as error:
        print(error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout
    assert [event.content for event in read_events(path)] == [{"text": "first"}]
