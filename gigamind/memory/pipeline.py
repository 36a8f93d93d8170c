"""Turns a session into entries that are verified or state why not. Each step is an event, written before the next."""

from collections.abc import Mapping, Sequence

from gigamind.evidence.align import align_all
from gigamind.evidence.record import AlignedRecord, records
from gigamind.evidence.result import DEFAULT, AlignConfig, AlignResult, Quote
from gigamind.evidence.source import text_hash
from gigamind.memory.entries import Entries, Entry, decide
from gigamind.memory.events import Event, EventLog
from gigamind.memory.schema import ExtractedEntry, Extraction, Session


def graduate(
    session: Session, extraction: Extraction, log: EventLog, config: AlignConfig = DEFAULT
) -> list[Entry]:
    """Align the evidence of the entries extracted from a session, and promote the entries that it proves.

    Repeating it for the same messages and the same reply adds nothing; after a crash it resumes where it stopped.

    Raises:
        InputError: a message is too long to search.
    """
    ingested = log.append("session_ingested", _ingested(session))
    entries = extraction.entries
    extracted = log.append("memory_extracted", _extracted(session, ingested, entries))
    sources = [message.content for message in session.messages]
    result = align_all(_quotes(entries), sources, config=config)
    aligned = log.append("evidence_aligned", _aligned(ingested, extracted, result, sources))
    decisions = [_decision(extracted, aligned, entry, result, log) for entry in entries]
    return list(Entries([extracted, aligned, *decisions]))


def _quotes(entries: Sequence[ExtractedEntry]) -> list[Quote]:
    return [
        Quote(evidence.quote, evidence.message_index, entry.entry_id)
        for entry in entries
        for evidence in entry.evidence
    ]


def _ingested(session: Session) -> Mapping[str, object]:
    """Return the hashes of the messages: enough to recognise them, without copying a private conversation."""
    return {
        "session_id": session.session_id,
        "messages": [
            {"role": message.role, "sha256": text_hash(message.content)}
            for message in session.messages
        ],
    }


def _extracted(
    session: Session, ingested: Event, entries: Sequence[ExtractedEntry]
) -> Mapping[str, object]:
    return {
        "source_event_id": ingested.event_id,
        "session_id": session.session_id,
        "entries": [entry.model_dump() for entry in entries],
    }


def _aligned(
    ingested: Event, extracted: Event, result: AlignResult, sources: Sequence[str]
) -> Mapping[str, object]:
    written = records(result, sources)
    return {
        "source_event_id": ingested.event_id,
        "extraction_id": extracted.event_id,
        "aligned_count": len(result.aligned),
        "failed_count": len(result.failed),
        "evidence": [
            {**record, **_by_seed(record)} for record in written if record["status"] == "aligned"
        ],
        "failed_quotes": [record for record in written if record["status"] == "failed"],
    }


def _by_seed(record: AlignedRecord) -> Mapping[str, object]:
    """Return the fields of `AlignedEvidence`, named as in seed 003, section 2.1; JavaScript spans, in UTF-16 units."""
    return {
        "messageIndex": record["source_index"],
        "quoteHash": record["quote_sha256"],
        "spanStart": record["utf16_start"],
        "spanEnd": record["utf16_end"],
        "matchMethod": record["method"],
    }


def _decision(
    extracted: Event, aligned: Event, entry: ExtractedEntry, result: AlignResult, log: EventLog
) -> Event:
    """Append one event per entry, so that an entry is promoted, blocked or still undecided as a whole."""
    decision = decide(result.of_entry(entry.entry_id))
    content: dict[str, object] = {
        "source_event_id": aligned.event_id,
        "extraction_id": extracted.event_id,
        "entry_id": entry.entry_id,
    }
    if decision is None:
        return log.append("entry_promoted", content)
    content |= {"reason": decision.reason, "failed_quotes": decision.failed_quotes}
    return log.append("promotion_blocked", content)
