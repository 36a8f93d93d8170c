"""A folder of sessions: `NAME.jsonl` holds the messages, `NAME.extracted.json` the entries extracted from them."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from gigamind.errors import InputError, reason_of
from gigamind.evidence.result import AlignOptions
from gigamind.evidence.schema import read_text
from gigamind.i18n import Text, n_
from gigamind.loading import numbered_lines
from gigamind.memory.events import DEFAULT_LOG, EventLog
from gigamind.memory.pipeline import Entry, graduate, parse_extraction, parse_session
from gigamind.outcome import Failure, attempt

MAX_BYTES = 100_000_000  # of a file of messages or of entries
_MESSAGES = ".jsonl"
_EXTRACTED = ".extracted.json"

# Prefect takes about 6 ms per task and displays up to a hundred well; a session takes 5 ms or more.
_LEAST_IN_BATCH = 100
_MOST_BATCHES = 64
_MOST_ROWS = 1000
_CELL_CHARS = 500
_QUOTES_REPORTED = 20
_QUOTE_CHARS = 200


class FolderOptions(AlignOptions):
    """Options of graduating a folder of sessions."""

    folder: Path = Field(
        description="folder of sessions: NAME.jsonl next to NAME.extracted.json; subfolders are not read"
    )
    log: Path = Field(
        default=DEFAULT_LOG,
        description="path of the event log; gigamind creates the file if it does not exist",
    )


class SessionReport(TypedDict):
    """The result of one session; JSON values only.

    Attributes:
        blocked: entries that stay candidates because a quote was not found or does not prove enough.
        failed_quotes: quotes that were not found; at most 20, each cut to 200 characters.
        reasons: why the session could not be graduated; otherwise why each blocked entry was not.
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
    """Return the sorted names of the sessions in a folder, even if one of their files is missing.

    Raises InputError if there is no such folder, or no session in it.
    """
    try:
        # Hidden files are skipped: macOS writes a "._NAME.jsonl" beside every file on other file systems.
        files = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise InputError(
            "{folder} cannot be read: {reason}. Pass a folder of sessions.",
            folder=folder,
            reason=reason_of(error),
        ) from error
    pairs = ((file, suffix) for file in files for suffix in (_MESSAGES, _EXTRACTED))
    names = {file.removesuffix(suffix) for file, suffix in pairs if file.endswith(suffix)}
    if not names:
        raise InputError(
            "{folder} has no sessions. A session is a file NAME{messages} next to NAME{extracted}.",
            folder=folder,
            messages=_MESSAGES,
            extracted=_EXTRACTED,
        )
    return sorted(names)


def session_batches(options: FolderOptions) -> list[list[str]]:
    """Return the sessions of a folder in batches of 100 or more, at most 64; raises as `session_names`."""
    names = session_names(options.folder)
    size = max(_LEAST_IN_BATCH, math.ceil(len(names) / _MOST_BATCHES))
    return [names[start : start + size] for start in range(0, len(names), size)]


def graduate_batch(options: FolderOptions, names: Sequence[str]) -> list[SessionReport]:
    """Graduate some sessions of a folder; raises as `EventLog`."""
    with EventLog(options.log) as log:
        return list(graduate_each(options, names, log))


def graduate_each(
    options: FolderOptions, names: Iterable[str], log: EventLog
) -> Iterator[SessionReport]:
    """Graduate sessions of a folder one after the other, and yield a report as each ends."""
    for name in names:
        outcome = attempt(name, partial(_graduate, options, name, log))
        called = session_id(name).encode(errors="backslashreplace").decode()
        if isinstance(outcome, Failure):
            escaped = outcome.message.encode(errors="backslashreplace").decode()
            # An equal message keeps its translation.
            reason = outcome.message if outcome.message == escaped else escaped
            yield {**_graduated(called, ()), "status": "failed", "reasons": [reason]}
        else:
            yield _graduated(called, outcome.value)


def problem(reports: Sequence[SessionReport]) -> Text:
    """Return how many sessions could not be graduated, and why the first one could not; "" if all were."""
    failed = [report for report in reports if report["status"] == "failed"]
    if not failed:
        return ""
    return n_(
        "{failed} of {n} session could not be processed. First error: {reason}",
        "{failed} of {n} sessions could not be processed. First error: {reason}",
        n=len(reports),
        failed=len(failed),
        reason=failed[0]["reasons"][0],
    )


def table(reports: Iterable[SessionReport]) -> list[dict[str, str | int]]:
    """Return one row of scalars per session, at most 1 000: failed sessions first, then those with blocked entries."""
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
    """Return the Prefect event of a graduated session: `event`, `resource` and `payload`."""
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
    """Return the name as NFC, so that a file copied from macOS identifies the same session."""
    return unicodedata.normalize("NFC", name)


def _graduate(options: FolderOptions, name: str, log: EventLog) -> list[Entry]:
    messages, extracted = (options.folder / f"{name}{suffix}" for suffix in (_MESSAGES, _EXTRACTED))
    for file, other in ((messages, extracted), (extracted, messages)):
        if not file.exists():
            raise InputError(
                "{file} is missing, but {other} exists. A session needs both files.",
                file=file,
                other=other.name,
            )
    lines = list(numbered_lines(read_text(messages, MAX_BYTES)))
    session = parse_session(session_id(name), lines, str(messages))
    extraction = parse_extraction(read_text(extracted, MAX_BYTES), str(extracted))
    return graduate(session, extraction, log, options.alignment)


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
