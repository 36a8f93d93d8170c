"""Turns sessions into entries that are verified or state why not; each step is an event, written before the next.

In a folder of sessions, `NAME.jsonl` holds the messages, `NAME.extracted.json` the entries extracted from them.
"""

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast, get_args

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from gigamind.checksum import text_hash
from gigamind.errors import InputError, reason_of
from gigamind.evidence.align import align_all
from gigamind.evidence.critical import Unstated
from gigamind.evidence.result import Aligned, Alignment, AlignResult, Quote
from gigamind.evidence.schema import (
    DEFAULT,
    AlignConfig,
    AlignOptions,
    Encodable,
    Strict,
    read_text,
)
from gigamind.evidence.stated import stated
from gigamind.i18n import Text, n_
from gigamind.loading import numbered_lines, parsed
from gigamind.memory.events import DEFAULT_LOG, Event, EventLog
from gigamind.outcome import Failure, attempt

_Identifier = Annotated[Encodable, StringConstraints(min_length=1, max_length=200)]


class Message(Strict):
    """One message of a session; its line number in the file, from 0, is its index."""

    role: _Identifier
    content: Encodable


class QuotedEvidence(Strict):
    """A quote that an extractor gives as evidence."""

    message_index: int = Field(alias="messageIndex", ge=0)
    quote: Encodable


class ExtractedEntry(Strict):
    """One statement worth remembering; its id is unique within the reply."""

    entry_id: _Identifier = Field(alias="entryId")
    text: Encodable = Field(min_length=1)
    evidence: list[QuotedEvidence]


class Extraction(Strict):
    """The reply of an extractor for one session."""

    entries: list[ExtractedEntry]

    @classmethod
    def read(cls, file: str) -> Self:
        """Return the entries of a JSON file; raises as `parse`."""
        return cls.parse(read_text(Path(file), _MAX_BYTES), file)

    @classmethod
    def parse(cls, text: str, name: str) -> Self:
        """Return the entries of a JSON file; raise InputError if it is no extraction, or two entries share an id."""
        extraction = parsed(cls, text, name)
        counts = Counter(entry.entry_id for entry in extraction.entries)
        repeated = [entry_id for entry_id, count in counts.items() if count > 1]
        if repeated:
            raise InputError(
                "{file}: {n} entries have the same entryId {id!r}. Give each entry a unique entryId.",
                file=name,
                n=counts[repeated[0]],
                id=repeated[0],
            )
        return extraction


def _session_id(name: str) -> str:
    """Return the id of a session by the name of its file: as NFC, so that a file copied from macOS has the same id."""
    return unicodedata.normalize("NFC", name)


@dataclass(frozen=True, slots=True)
class Session:
    """The messages of one conversation, in order; `session_id` is chosen by the caller."""

    session_id: str
    messages: tuple[Message, ...]

    @classmethod
    def read(cls, file: str, session_id: str | None = None) -> Self:
        """Return the session in a JSONL file, by default with the name of the file; raises as `parse`."""
        lines = list(numbered_lines(read_text(Path(file), _MAX_BYTES)))
        return cls.parse(session_id or _session_id(Path(file).stem), lines, file)

    @classmethod
    def parse(cls, session_id: str, lines: Sequence[tuple[int, str]], name: str) -> Self:
        """Return the session in the numbered lines of a JSONL file.

        Raises InputError without a message, for an invalid line (with file and line), and if the id is not UTF-8.
        """
        try:
            session_id.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                "The session name {name} is not UTF-8. Rename the session.", name=ascii(session_id)
            ) from error
        messages = tuple(parsed(Message, line, f"{name}:{number}") for number, line in lines)
        if not messages:
            raise InputError(
                "{file} has no messages. Write one JSON object per line, for example {example}.",
                file=name,
                example='{"role": "user", "content": "..."}',
            )
        return cls(session_id, messages)

    def graduate(
        self, extraction: Extraction, log: EventLog, config: AlignConfig = DEFAULT
    ) -> "list[Entry]":
        """Align the evidence of the entries extracted from this session, and promote the entries that it proves.

        Repeating it for the same messages and the same reply adds nothing; after a crash it resumes where it stopped.
        Raises InputError if a message is too long to search.
        """
        entries, name = extraction.entries, {"session_id": self.session_id}
        # The hashes of the messages: enough to recognise them, without copying a private conversation.
        messages = [
            {"role": message.role, "sha256": text_hash(message.content)}
            for message in self.messages
        ]
        ingested = log.append("session_ingested", name | {"messages": messages})
        source = {"source_event_id": ingested.event_id}
        dumped = [entry.model_dump() for entry in entries]
        extracted = log.append("memory_extracted", {**source, **name, "entries": dumped})
        sources = [message.content for message in self.messages]
        quotes = [
            Quote(evidence.quote, evidence.message_index, entry.entry_id)
            for entry in entries
            for evidence in entry.evidence
        ]
        result = align_all(quotes, sources, config=config)
        aligned = log.append("evidence_aligned", _aligned(ingested, extracted, result, sources))
        decisions: list[Event] = []
        for entry in entries:
            evidence = result.of_entry(entry.entry_id)
            reason, failed = _refusal(evidence)
            if not reason and (reason := _unsupported(entry.text, evidence, sources)):
                failed = evidence.outcomes
            decisions.append(_decision(extracted, aligned, entry, (reason, failed), log))
        return _entries_of([extracted, aligned, *decisions])


@dataclass(frozen=True, slots=True)
class Entry:
    """One extracted statement.

    Attributes:
        extraction_id: the `memory_extracted` event of the entry; entry ids are unique within it.
        stage: candidate until promoted.
        evidence_aligned: it has quotes and none failed; None before its evidence was aligned.
        evidence: records of the aligned quotes, as in `gigamind.evidence.result`.
        failed_quotes: quotes that were not found, or that do not prove enough to promote.
        promotion_block_reason: why it is not verified; None unless `promotion_blocked`.
    """

    session_id: str
    extraction_id: str
    entry_id: str
    text: str
    stage: Literal["candidate", "verified"] = "candidate"
    evidence_aligned: bool | None = None
    evidence: tuple[Mapping[str, object], ...] = ()
    failed_quotes: tuple[str, ...] = ()
    promotion_blocked: bool = False
    promotion_block_reason: str | None = None


def _entries_of(events: Iterable[Event]) -> list[Entry]:
    """Return the entries that events describe, in the order of extraction."""
    entries: dict[tuple[str, str], Entry] = {}  # by extraction and id
    for event in events:
        content = cast("Mapping[str, Any]", event.content)
        if event.event_type == "memory_extracted":
            for given in content["entries"]:
                name = given["entry_id"]
                entry = Entry(content["session_id"], event.event_id, name, given["text"])
                entries[event.event_id, name] = entry
        elif event.event_type == "evidence_aligned":
            aligned, failed = map(_by_entry, (content["evidence"], content["failed_quotes"]))
            for (extraction, name), entry in entries.items():
                if extraction == content["extraction_id"]:
                    entries[extraction, name] = Entry(
                        entry.session_id,
                        extraction,
                        name,
                        entry.text,
                        evidence_aligned=bool(aligned[name]) and not failed[name],
                        evidence=tuple(aligned[name]),
                        failed_quotes=tuple(record["quote"] for record in failed[name]),
                    )
        elif event.event_type != "session_ingested":
            key = content["extraction_id"], content["entry_id"]
            entries[key] = replace(entries[key], **_decided(content))
    return list(entries.values())


def _by_entry(records: Iterable[Mapping[str, Any]]) -> Mapping[str, list[Mapping[str, Any]]]:
    found: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        found[record["entry_id"]].append(record)
    return found


def _decided(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that its promotion, or what blocked it, changes."""
    if "reason" not in content:
        return {"stage": "verified"}
    return {
        "failed_quotes": tuple(content["failed_quotes"]),
        "promotion_blocked": True,
        "promotion_block_reason": content["reason"],
    }


def _refusal(evidence: AlignResult) -> tuple[str, Sequence[Alignment]]:
    """Return why an entry must stay a candidate, and for which quotes; "" if all are found and sufficient proof."""
    if not evidence.outcomes:
        return "the entry has no evidence", ()
    if failed := evidence.failed:
        reasons = ", ".join(sorted({outcome.reason for outcome in failed}))
        return f"{len(failed)} of {len(evidence.outcomes)} quotes not found ({reasons})", failed
    doubtful = [outcome for outcome in evidence.aligned if not outcome.promotable]
    return "; ".join(sorted({_doubt(outcome) for outcome in doubtful})), doubtful


def _unsupported(text: str, evidence: AlignResult, sources: Sequence[str]) -> str:
    """Return why quotes that are sufficient proof do not state the text of their entry; "" if they do."""
    # Imported here because the rules of a judge are compiled when they are imported.
    from gigamind.judges.search_qa.by_words import why_unsupported
    from gigamind.judges.search_qa.passage import Passage

    whole = {place: stated(sources[place.quote.source_index]) for place in evidence.aligned}
    passages = [Passage.of(place.span, source) for place, source in whole.items()]
    doubt = why_unsupported(text, passages)
    return f"the text says more or other than its quotes ({doubt})" if doubt else ""


def _doubt(aligned: Aligned) -> str:
    why = aligned.unproven
    if why and why.reason in get_args(Unstated):
        return f"a quote is of text that states nothing ({why.reason})"
    if why is None:
        return "a quote that only resembles its source is too short to prove anything"
    if why.is_cut:
        return f"a quote is cut off from words that change what it says ({why.reason})"
    near = "; only one keystroke differs, so quote it again exactly" if why.near else ""
    return f"a quote differs from its source in {why.reason}{near}"


def _aligned(
    ingested: Event, extracted: Event, result: AlignResult, sources: Sequence[str]
) -> Mapping[str, object]:
    written = result.records(sources)
    return {
        "source_event_id": ingested.event_id,
        "extraction_id": extracted.event_id,
        "aligned_count": len(result.aligned),
        "failed_count": len(result.failed),
        # With the fields of `AlignedEvidence` in spec 003, section 2.1; JavaScript spans, in UTF-16 units.
        "evidence": [
            {
                **record,
                "messageIndex": record["source_index"],
                "quoteHash": record["quote_sha256"],
                "spanStart": record["utf16_start"],
                "spanEnd": record["utf16_end"],
                "matchMethod": record["method"],
            }
            for record in written
            if record["status"] == "aligned"
        ],
        "failed_quotes": [record for record in written if record["status"] == "failed"],
    }


def _decision(
    extracted: Event,
    aligned: Event,
    entry: ExtractedEntry,
    refused: tuple[str, Sequence[Alignment]],
    log: EventLog,
) -> Event:
    """Append one event per entry, so that an entry is promoted, blocked or still undecided as a whole."""
    reason, failed = refused
    content: dict[str, object] = {
        "source_event_id": aligned.event_id,
        "extraction_id": extracted.event_id,
        "entry_id": entry.entry_id,
    }
    if not reason:
        return log.append("entry_promoted", content)
    content["reason"] = f"Evidence alignment failed: {reason}."
    content["failed_quotes"] = tuple(outcome.quote.text for outcome in failed)
    return log.append("promotion_blocked", content)


_MAX_BYTES = 100_000_000  # of a file of messages or of entries
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
    """Options of graduating a folder of sessions, and the work on it."""

    folder: Path = Field(
        description="folder of sessions: NAME.jsonl next to NAME.extracted.json; subfolders are not read"
    )
    log: Path = Field(
        default=DEFAULT_LOG,
        description="path of the event log; gigamind creates the file if it does not exist",
    )

    def session_names(self) -> list[str]:
        """Return the sorted names of the sessions of the folder, even if one of their files is missing.

        Raises InputError if there is no such folder, or no session in it.
        """
        try:
            # Hidden files are skipped: macOS writes a "._NAME.jsonl" beside every file on other file systems.
            files = [path.name for path in self.folder.iterdir() if not path.name.startswith(".")]
        except OSError as error:
            raise InputError(
                "{folder} cannot be read: {reason}. Pass a folder of sessions.",
                folder=self.folder,
                reason=reason_of(error),
            ) from error
        pairs = ((file, suffix) for file in files for suffix in (_MESSAGES, _EXTRACTED))
        names = {file.removesuffix(suffix) for file, suffix in pairs if file.endswith(suffix)}
        if not names:
            raise InputError(
                "{folder} has no sessions. A session is a file NAME{messages} next to NAME{extracted}.",
                folder=self.folder,
                messages=_MESSAGES,
                extracted=_EXTRACTED,
            )
        return sorted(names)

    def session_batches(self) -> list[list[str]]:
        """Return the sessions of the folder in batches of 100 or more, at most 64; raises as `session_names`."""
        names = self.session_names()
        size = max(_LEAST_IN_BATCH, math.ceil(len(names) / _MOST_BATCHES))
        return [names[start : start + size] for start in range(0, len(names), size)]

    def graduate_batch(self, names: Sequence[str]) -> "list[SessionReport]":
        """Graduate some sessions of the folder; raises as `EventLog`."""
        with EventLog(self.log) as log:
            return list(self.graduate_each(names, log))

    def graduate_each(self, names: Iterable[str], log: EventLog) -> "Iterator[SessionReport]":
        """Graduate sessions of the folder one after the other, and yield a report as each ends."""
        for name in names:
            outcome = attempt(name, partial(_graduate, self, name, log))
            called = _session_id(name).encode(errors="backslashreplace").decode()
            if isinstance(outcome, Failure):
                escaped = outcome.message.encode(errors="backslashreplace").decode()
                # An equal message keeps its translation.
                reason = outcome.message if outcome.message == escaped else escaped
                yield {**_graduated(called, ()), "status": "failed", "reasons": [reason]}
            else:
                yield _graduated(called, outcome.value)


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


def _graduate(options: FolderOptions, name: str, log: EventLog) -> list[Entry]:
    messages, extracted = (options.folder / f"{name}{suffix}" for suffix in (_MESSAGES, _EXTRACTED))
    for file, other in ((messages, extracted), (extracted, messages)):
        if not file.exists():
            raise InputError(
                "{file} is missing, but {other} exists. A session needs both files.",
                file=file,
                other=other.name,
            )
    session, extraction = Session.read(str(messages)), Extraction.read(str(extracted))
    return session.graduate(extraction, log, options.alignment)


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
