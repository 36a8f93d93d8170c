"""An alignment as it is written to JSON: offsets in code points, and in UTF-16 code units for editors and browsers.

Both ranges are half-open.  `offset_unit` names the unit of `start` and `end`.
"""

from collections.abc import Sequence
from typing import Literal, TypedDict

from gigamind.evidence.critical import Critical
from gigamind.evidence.result import (
    Aligned,
    Alignment,
    AlignResult,
    Failed,
    Level,
    Method,
    NearMiss,
    Reason,
)
from gigamind.evidence.source import text_hash
from gigamind.spans import Span, Utf16


class Offsets(TypedDict):
    """Where a passage stands in its source."""

    offset_unit: Literal["code_point"]
    start: int
    end: int
    utf16_start: int
    utf16_end: int


class NearMissRecord(Offsets):
    """The most similar passage of a refused quote."""

    similarity: float


class SelectorRecord(TypedDict):
    """A W3C TextQuoteSelector."""

    exact: str
    prefix: str
    suffix: str


class AlignedRecord(Offsets):
    """A quote that was found."""

    status: Literal["aligned"]
    entry_id: str
    quote: str
    quote_sha256: str
    source_index: int
    source_sha256: str
    method: Method
    level: Level
    confidence: float
    occurrences: int
    ambiguous: bool
    critical: list[Critical]
    promotable: bool
    selector: SelectorRecord


class FailedRecord(TypedDict):
    """A quote that was not found."""

    status: Literal["failed"]
    entry_id: str
    quote: str
    quote_sha256: str
    source_index: int
    source_sha256: str | None
    reason: Reason
    near_miss: NearMissRecord | None


def records(result: AlignResult, sources: Sequence[str]) -> list[AlignedRecord | FailedRecord]:
    """Every outcome of `align_all`, in order; `sources` are those it was given."""
    units: dict[int, Utf16] = {}
    written: list[AlignedRecord | FailedRecord] = []
    for outcome in result.outcomes:
        index = outcome.quote.source_index
        if index not in units:
            units[index] = Utf16(sources[index]) if 0 <= index < len(sources) else Utf16("")
        written.append(record(outcome, units[index]))
    return written


def record(outcome: Alignment, utf16: Utf16) -> AlignedRecord | FailedRecord:
    """One outcome; `utf16` converts the offsets of its source."""
    return _aligned(outcome, utf16) if isinstance(outcome, Aligned) else _failed(outcome, utf16)


def _aligned(outcome: Aligned, utf16: Utf16) -> AlignedRecord:
    selector = outcome.selector
    return {
        "status": "aligned",
        "entry_id": outcome.quote.entry_id,
        "quote": outcome.quote.text,
        "quote_sha256": text_hash(outcome.quote.text),
        "source_index": outcome.quote.source_index,
        "source_sha256": outcome.source_sha256,
        **_offsets(outcome.span, utf16),
        "method": outcome.method,
        "level": outcome.level,
        "confidence": round(outcome.confidence, 4),
        "occurrences": outcome.occurrences,
        "ambiguous": outcome.ambiguous,
        "critical": list(outcome.critical),
        "promotable": outcome.promotable,
        "selector": {
            "exact": selector.exact,
            "prefix": selector.prefix,
            "suffix": selector.suffix,
        },
    }


def _failed(outcome: Failed, utf16: Utf16) -> FailedRecord:
    return {
        "status": "failed",
        "entry_id": outcome.quote.entry_id,
        "quote": outcome.quote.text,
        "quote_sha256": text_hash(outcome.quote.text),
        "source_index": outcome.quote.source_index,
        "source_sha256": outcome.source_sha256,
        "reason": outcome.reason,
        "near_miss": _near_miss(outcome.near_miss, utf16) if outcome.near_miss else None,
    }


def _near_miss(near_miss: NearMiss, utf16: Utf16) -> NearMissRecord:
    return {**_offsets(near_miss.span, utf16), "similarity": round(near_miss.similarity, 4)}


def _offsets(span: Span, utf16: Utf16) -> Offsets:
    start, end = utf16.span_from_code_points(span)
    return {
        "offset_unit": "code_point",
        "start": span.start,
        "end": span.end,
        "utf16_start": start,
        "utf16_end": end,
    }
