"""The event log: append-only, ordered and durable, with one writer, in one SQLite file.

Appending an event again adds nothing. An event that `append` returned survives a killed process and a power failure.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from gigamind.errors import EvaluationError, InputError, reason_of

DEFAULT_LOG = Path(".gigamind/memory.db")
_EventType = Literal[
    "session_ingested",
    "memory_extracted",
    "evidence_aligned",
    "entry_promoted",
    "promotion_blocked",
]
_SCHEMA_VERSION = 1
_APPLICATION_ID = 0x6769676D  # "gigm": distinguishes an event log from other SQLite databases

_CREATE = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    event_type TEXT NOT NULL,
    created_at TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    content TEXT NOT NULL
);
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
"""


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `seq` counts from 1, `event_id` is the SHA-256 of type, version and content, `created_at` in UTC."""

    seq: int
    event_id: str
    event_type: _EventType
    created_at: str
    schema_version: int
    content: Mapping[str, object]


class EventLog(AbstractContextManager["EventLog"]):
    """The only writer of a log; a context manager.

    A second writer, in this or another process, waits until the first one closes or exits.

    Raises:
        InputError: the file is no event log, or cannot be written.
        EvaluationError: another writer is still active after `wait_seconds`.
    """

    def __init__(self, path: Path, *, wait_seconds: float = 30) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                "{folder} cannot be created: {reason}", folder=path.parent, reason=reason_of(error)
            ) from error
        self._lock = _locked(path.with_name(f"{path.name}-writer"), wait_seconds)
        try:
            self._database = _opened(path, create=True)
        except BaseException:
            self._lock.close()
            raise

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()
        self._lock.close()

    def append(self, event_type: _EventType, content: Mapping[str, object]) -> Event:
        """Add an event, or return the equal event of the log; durable on return.

        Raises EvaluationError if the disk is full or faulty; the log is then unchanged.
        """
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        event_id = _id_of(event_type, _SCHEMA_VERSION, text)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            with self._database:
                self._database.execute(
                    "INSERT INTO events (event_id, event_type, created_at, schema_version, content) "
                    "SELECT ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM events WHERE event_id = ?)",
                    (event_id, event_type, now, _SCHEMA_VERSION, text, event_id),
                )
        except sqlite3.OperationalError as error:
            raise EvaluationError(
                "The event log cannot be written: {reason}", reason=str(error)
            ) from error
        query = f"{_SELECT} WHERE event_id = ?"
        return _event(self._database.execute(query, (event_id,)).fetchone())


def read_events(path: Path, *, after: int = 0) -> Iterator[Event]:
    """Yield the events of a log in order, after seq `after`. Never blocks a writer or waits for one.

    Raises InputError if there is no event log at `path`, or one of its events is damaged.
    """
    if not path.is_file():
        raise InputError(
            "{file} does not exist. `gigamind memory graduate` creates the event log.", file=path
        )
    with closing(_opened(path, create=False)) as database:
        database.execute("PRAGMA query_only = ON")
        yield from map(_event, database.execute(f"{_SELECT} WHERE seq > ? ORDER BY seq", (after,)))


_SELECT = "SELECT seq, event_id, event_type, created_at, schema_version, content FROM events"


def _id_of(event_type: str, schema_version: int, content: str) -> str:
    return sha256(f"{event_type}\n{schema_version}\n{content}".encode()).hexdigest()


def _event(row: tuple[int, str, _EventType, str, int, str]) -> Event:
    seq, event_id, event_type, created_at, schema_version, content = row
    if event_id != _id_of(event_type, schema_version, content):
        raise InputError(
            "Event {seq} of the event log was damaged or edited. Restore the log file from a backup.",
            seq=seq,
        )
    return Event(seq, event_id, event_type, created_at, schema_version, json.loads(content))


def _opened(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open the database; `create` turns a new or empty file into an event log."""
    database = sqlite3.connect(path, timeout=30, isolation_level="IMMEDIATE")
    try:
        _prepare(database, path, create=create)
    except sqlite3.OperationalError as error:
        database.close()
        raise InputError(
            "The event log {file} cannot be opened: {reason}. Check its permissions and the disk space.",
            file=path,
            reason=str(error),
        ) from error
    except sqlite3.DatabaseError as error:
        database.close()
        raise InputError(
            "{file} is not a gigamind event log: {reason}", file=path, reason=str(error)
        ) from error
    except InputError:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path, *, create: bool) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if create and (application, version, tables) == (0, 0, 0):
        database.executescript(
            f"PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; {_CREATE}"
            f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
        )
    elif application != _APPLICATION_ID:
        raise InputError("{file} is not a gigamind event log.", file=path)
    elif version != _SCHEMA_VERSION:
        raise InputError(
            "{file} has schema version {version}; this release reads version {supported}.",
            file=path,
            version=version,
            supported=_SCHEMA_VERSION,
        )
    database.execute("PRAGMA synchronous = FULL")


def _locked(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """Take a lock that the operating system releases when the process dies, on every platform: SQLite's own."""
    lock = None
    try:
        lock = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if lock:
            lock.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise InputError(
                "{file} cannot be written: {reason}", file=path, reason=str(error)
            ) from error
        raise EvaluationError(
            "{file}: another process was still writing to the file after {seconds:g} seconds. Try again later.",
            file=path,
            seconds=wait_seconds,
        ) from error
    return lock
