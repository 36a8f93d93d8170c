"""A folder of sessions: `NAME.jsonl` holds the messages, `NAME.extracted.json` beside it what was extracted from them.

Subfolders are not searched.  A session that cannot be graduated is reported, and the others go on.
"""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from gigamind.errors import InputError
from gigamind.evidence.schema import read_text
from gigamind.evidence.settings import AlignOptions
from gigamind.loading import numbered_lines
from gigamind.memory.entries import Entry
from gigamind.memory.events import DEFAULT_LOG, EventLog
from gigamind.memory.pipeline import graduate
from gigamind.memory.schema import parse_extraction, parse_session
from gigamind.outcome import Failure, attempt

MAX_BYTES = 100_000_000  # of a file of messages, and of one of entries
_MESSAGES = ".jsonl"
_EXTRACTED = ".extracted.json"

# Prefect costs some 6 ms a task and shows at most a hundred well; a session takes 5 ms and more.
_LEAST_IN_BATCH = 100
_MOST_BATCHES = 64
_MOST_ROWS = 1000
_CELL_CHARS = 500
_QUOTES_REPORTED = 20
_QUOTE_CHARS = 200


class FolderOptions(AlignOptions):
    """What to graduate, and where to."""

    folder: Path = Field(
        description="folder of sessions: NAME.jsonl next to NAME.extracted.json; subfolders are not read"
    )
    log: Path = Field(default=DEFAULT_LOG, description="the event log; created if it is missing")


class SessionReport(TypedDict):
    """What became of one session; JSON values only.

    Attributes:
        blocked: entries that stay candidates, for a quote that was not found or one that proves too little.
        failed_quotes: quotes that were not found; at most 20, each cut to 200 characters.
        reasons: why the session could not be graduated; else why each blocked entry is.
    """

    session: str
    status: Literal["graduated", "failed"]
    entries: int
    verified: int
    blocked: int
    quotes_aligned: int
    quotes_failed: int
    failed_quotes: list[str]
    reasons: list[str]


def session_names(folder: Path) -> list[str]:
    """Names of the sessions in a folder, sorted, those of which one file is missing included.

    Raises:
        InputError: there is no such folder, or no session in it.
    """
    try:
        # Hidden files are none of ours: a Mac leaves a "._NAME.jsonl" beside every file on a foreign disk.
        files = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}); give a folder") from error
    names = {
        file.removesuffix(suffix)
        for file in files
        for suffix in (_MESSAGES, _EXTRACTED)
        if file.endswith(suffix)
    }
    if not names:
        raise InputError(
            f"{folder}: no sessions; it must hold NAME{_MESSAGES}, and NAME{_EXTRACTED} beside it"
        )
    return sorted(names)


def session_batches(options: FolderOptions) -> list[list[str]]:
    """The names of a folder's sessions in batches of 100 or more, at most 64 of them.

    Raises:
        InputError: see `session_names`.
    """
    names = session_names(options.folder)
    size = max(_LEAST_IN_BATCH, math.ceil(len(names) / _MOST_BATCHES))
    return [names[start : start + size] for start in range(0, len(names), size)]


def graduate_batch(options: FolderOptions, names: Sequence[str]) -> list[SessionReport]:
    """Graduate some sessions of a folder.

    Raises:
        InputError: `options.log` is no event log.
        EvaluationError: another process keeps writing to it.
    """
    with EventLog(options.log) as log:
        return list(graduate_each(options, names, log))


def graduate_each(
    options: FolderOptions, names: Iterable[str], log: EventLog
) -> Iterator[SessionReport]:
    """Graduate sessions of a folder one after the other, each reported as it ends."""
    for name in names:
        outcome = attempt(name, partial(_graduate, options, name, log))
        called = session_id(name).encode(errors="backslashreplace").decode()
        if isinstance(outcome, Failure):
            yield _failed(called, outcome.message)
        else:
            yield _graduated(called, outcome.value)


def problem(reports: Sequence[SessionReport]) -> str:
    """How many sessions could not be graduated, and why the first could not; empty when all were."""
    failed = [report for report in reports if report["status"] == "failed"]
    if not failed:
        return ""
    return f"{len(failed)} of {len(reports)} sessions could not be graduated; the first: {failed[0]['reasons'][0]}"


def table(reports: Iterable[SessionReport]) -> list[dict[str, str | int]]:
    """One row of scalars a session: at most 1 000, those that failed first, then those with blocked entries."""
    worst_first = sorted(
        reports, key=lambda report: (report["status"] != "failed", not report["blocked"])
    )
    return [
        {
            "session": report["session"],
            "status": report["status"],
            "entries": report["entries"],
            "verified": report["verified"],
            "blocked": report["blocked"],
            "quotes aligned": report["quotes_aligned"],
            "quotes failed": report["quotes_failed"],
            "reasons": " ".join(report["reasons"])[:_CELL_CHARS],
        }
        for report in worst_first[:_MOST_ROWS]
    ]


def aligned_event(report: SessionReport) -> dict[str, Any]:
    """What there is to tell of a graduated session: `event`, `resource` and `payload`, as Prefect names them."""
    return {
        "event": "gigamind.evidence.aligned",
        "resource": {
            "prefect.resource.id": f"gigamind.session.{report['session']}",
            "prefect.resource.name": report["session"],
        },
        "payload": {
            "aligned_count": report["quotes_aligned"],
            "failed_count": report["quotes_failed"],
            "verified_count": report["verified"],
            "blocked_count": report["blocked"],
            "failed_quotes": report["failed_quotes"],
        },
    }


def session_id(name: str) -> str:
    """The name as it identifies a session: NFC, for a file that was copied from a Mac is still the same one."""
    return unicodedata.normalize("NFC", name)


def _graduate(options: FolderOptions, name: str, log: EventLog) -> list[Entry]:
    messages, extracted = (options.folder / f"{name}{suffix}" for suffix in (_MESSAGES, _EXTRACTED))
    for file, other in ((messages, extracted), (extracted, messages)):
        if not file.exists():
            raise InputError(f"{file}: missing, though {other.name} is there")
    lines = list(numbered_lines(read_text(messages, MAX_BYTES)))
    session = parse_session(session_id(name), lines, str(messages))
    extraction = parse_extraction(read_text(extracted, MAX_BYTES), str(extracted))
    return graduate(session, extraction, log, options.alignment)


def _failed(called: str, message: str) -> SessionReport:
    reason = message.encode(errors="backslashreplace").decode()
    return {**_graduated(called, ()), "status": "failed", "reasons": [reason]}


def _graduated(called: str, entries: Sequence[Entry]) -> SessionReport:
    failed = [
        quote for entry in entries if not entry.evidence_aligned for quote in entry.failed_quotes
    ]
    blocked = [entry for entry in entries if entry.promotion_blocked]
    return SessionReport(
        session=called,
        status="graduated",
        entries=len(entries),
        verified=sum(entry.stage == "verified" for entry in entries),
        blocked=len(blocked),
        quotes_aligned=sum(len(entry.evidence) for entry in entries),
        quotes_failed=len(failed),
        failed_quotes=[quote[:_QUOTE_CHARS] for quote in failed[:_QUOTES_REPORTED]],
        reasons=[f"{entry.entry_id}: {entry.promotion_block_reason}" for entry in blocked],
    )
