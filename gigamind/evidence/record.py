"""Alignments as JSON records, with half-open ranges in code points and in UTF-16 units, and their rates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, cast

from typing_extensions import TypedDict

from gigamind.checksum import text_hash
from gigamind.evidence.critical import Critical
from gigamind.evidence.result import (
    Aligned,
    Alignment,
    AlignResult,
    Flaw,
    Level,
    Method,
    Quote,
    Reason,
)
from gigamind.records.judged import Count, Report, Share
from gigamind.spans import Span, Utf16


class _Offsets(TypedDict):
    """The place of a passage in its source."""

    offset_unit: Literal["code_point"]
    start: int
    end: int
    utf16_start: int
    utf16_end: int


class NearMissRecord(_Offsets):
    """The most similar passage for a refused quote."""

    similarity: float


class SelectorRecord(TypedDict):
    """A W3C TextQuoteSelector."""

    exact: str
    prefix: str
    suffix: str


class _QuoteRecord(TypedDict):
    """A quote as given."""

    entry_id: str
    quote: str
    quote_sha256: str
    source_index: int


class UnprovenRecord(TypedDict):
    """Why a located quote proves nothing. `near`: only one keystroke differs, so a retry may help."""

    reason: Flaw
    quoted: str
    original: str
    near: bool


class AlignedRecord(_QuoteRecord, _Offsets):
    """A quote that was found."""

    status: Literal["aligned"]
    source_sha256: str
    method: Method
    level: Level
    confidence: float
    occurrences: int
    ambiguous: bool
    critical: list[Critical]
    unproven: UnprovenRecord | None
    promotable: bool
    selector: SelectorRecord


class FailedRecord(_QuoteRecord):
    """A quote that was not found."""

    status: Literal["failed"]
    source_sha256: str | None
    reason: Reason
    near_miss: NearMissRecord | None


def records(result: AlignResult, sources: Sequence[str]) -> list[AlignedRecord | FailedRecord]:
    """Return every outcome of `align_all`, in order; `sources` are its sources."""
    units = [*map(Utf16, sources)]
    return [record(outcome, units) for outcome in result.outcomes]


def record(outcome: Alignment, units: Sequence[Utf16]) -> AlignedRecord | FailedRecord:
    """Return one outcome; `units` convert the offsets of the sources."""
    index = outcome.quote.source_index
    utf16 = units[index] if 0 <= index < len(units) else Utf16("")
    if not isinstance(outcome, Aligned):
        miss = outcome.near_miss
        return {
            "status": "failed",
            **_quote(outcome.quote),
            "source_sha256": outcome.source_sha256,
            "reason": outcome.reason,
            "near_miss": miss
            and {**_offsets(miss.span, utf16), "similarity": round(miss.similarity, 4)},
        }
    return {
        "status": "aligned",
        **_quote(outcome.quote),
        "source_sha256": outcome.source_sha256,
        **_offsets(outcome.span, utf16),
        "method": outcome.method,
        "level": outcome.level,
        "confidence": round(outcome.confidence, 4),
        "occurrences": outcome.occurrences,
        "ambiguous": outcome.ambiguous,
        "critical": list(outcome.critical),
        "unproven": outcome.unproven and cast("UnprovenRecord", asdict(outcome.unproven)),
        "promotable": outcome.promotable,
        "selector": cast("SelectorRecord", asdict(outcome.selector)),
    }


def _quote(quote: Quote) -> _QuoteRecord:
    return {
        "entry_id": quote.entry_id,
        "quote": quote.text,
        "quote_sha256": text_hash(quote.text),
        "source_index": quote.source_index,
    }


def _offsets(span: Span, utf16: Utf16) -> _Offsets:
    start, end = utf16.span_from_code_points(span)
    return {
        "offset_unit": "code_point",
        "start": span.start,
        "end": span.end,
        "utf16_start": start,
        "utf16_end": end,
    }


class AlignmentQuality(Report):
    """Rates over all quotes, in [0, 1]. Exact, normalized, fuzzy and failed add up to 1.

    Attributes:
        quotes: number of quotes; 1 or more.
        near_miss: failed, but a similar passage exists.
        ambiguous: aligned at one of several places that no context distinguishes.
        critical: aligned, but a number, a negation or an opposite differs.
    """

    quotes: Count
    exact: Share
    normalized: Share
    fuzzy: Share
    failed: Share
    near_miss: Share
    ambiguous: Share
    critical: Share


def quality(written: Sequence[Mapping[str, Any]]) -> AlignmentQuality | None:
    """Return the rates over records; None without records."""
    if not written:
        return None
    counts = Counter(quote.get("method", "failed") for quote in written)
    for name in ("near_miss", "ambiguous", "critical"):
        counts[name] = sum(bool(quote.get(name)) for quote in written)
    names = AlignmentQuality.model_fields.keys() - {"quotes"}
    shares = {name: counts[name] / len(written) for name in names}
    return AlignmentQuality(quotes=len(written), **shares)
