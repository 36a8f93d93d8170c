"""Quotes, what the aligner found out about them, and the same as JSON records.

Lengths and offsets are in code points; half-open ranges of records are in UTF-16 units, too.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Self, cast

from typing_extensions import TypedDict

from gigamind.checksum import text_hash
from gigamind.evidence.critical import Critical, Unstated
from gigamind.spans import Span, Utf16

Loss = Literal["cut_negation", "cut_limit", "question"]
Flaw = Critical | Literal["name", "wording", "cut_word"] | Loss | Unstated


@dataclass(frozen=True, slots=True)
class Unproven:
    """Why a quote proves nothing."""

    reason: Flaw
    quoted: str = ""  # words of the quote that differ, lower-cased; "" if the source has more words
    original: str = ""  # words of the source in their place; "" if the quote has more words
    near: bool = False  # only one keystroke differs, so that requesting the exact words may help

    @property
    def is_cut(self) -> bool:
        """Whether its words match the source, but neighbouring words change their meaning."""
        return self.reason in {"cut_word", "cut_negation", "cut_limit", "question"}


Method = Literal["exact", "normalized", "fuzzy"]
Level = Literal["raw", "N1", "N2", "N3"]
_Reason = Literal[
    "empty_quote",
    "quote_too_long",
    "source_index_out_of_range",
    "quote_too_short_for_fuzzy",
    "fuzzy_disabled",
    "below_threshold",
]

_SELECTOR_CHARS = 32


@dataclass(frozen=True, slots=True)
class Quote:
    """A text that is claimed to be in a source, and the context that distinguishes equal places.

    Attributes:
        source_index: index of the source, from 0.
        entry_id: the entry that it supports, or "". Quotes of one entry prefer different places.
        prefix, suffix: text before and after it, or "".
        hint: code point offset near which it starts.
    """

    text: str
    source_index: int = 0
    entry_id: str = ""
    prefix: str = ""
    suffix: str = ""
    hint: int | None = None


@dataclass(frozen=True, slots=True)
class TextQuoteSelector:
    """Relocates the passage after its note was edited (W3C Web Annotation), by up to 32 characters around it."""

    exact: str
    prefix: str
    suffix: str

    @classmethod
    def of(cls, span: Span, text: str) -> Self:
        before = text[max(0, span.start - _SELECTOR_CHARS) : span.start]
        return cls(span.slice(text), before, text[span.end : span.end + _SELECTOR_CHARS])


@dataclass(frozen=True, slots=True)
class Aligned:
    """A quote that was found.

    Attributes:
        source_sha256: hash of the source; the span is valid for this source only.
        span: its place in code points of the source; never empty.
        level: the normalisation level at which it was found.
        confidence: 1.0 for exact, 0.99 for normalised matches, else the similarity.
        occurrences: number of equally good places, counted up to 10 000.
        ambiguous: there are several places, and no context selects one.
        critical: differences of a fuzzy match that may reverse the statement.
        unproven: why it proves nothing by the rule of `proof`; None if it proves what it says.
        promotable: whether it is sufficient proof to verify an entry: proven, and not both short and fuzzy.
    """

    quote: Quote
    source_sha256: str
    span: Span
    method: Method
    level: Level
    confidence: float
    occurrences: int
    ambiguous: bool
    critical: tuple[Critical, ...]
    unproven: Unproven | None
    promotable: bool
    selector: TextQuoteSelector


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The most similar passage of a source; `similarity` in [search threshold, fuzzy threshold)."""

    span: Span
    similarity: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A quote that was not found.

    Attributes:
        source_sha256: hash of the source; None if there is no such source.
        near_miss: set only with the reason `below_threshold`.
    """

    quote: Quote
    source_sha256: str | None
    reason: _Reason
    near_miss: NearMiss | None = None


Alignment = Aligned | Failed


@dataclass(frozen=True, slots=True)
class AlignResult:
    """The outcome of every quote, in the given order."""

    outcomes: tuple[Alignment, ...]

    @property
    def aligned(self) -> tuple[Aligned, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Aligned))

    @property
    def failed(self) -> tuple[Failed, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Failed))

    def of_entry(self, entry_id: str) -> "AlignResult":
        return AlignResult(
            tuple(outcome for outcome in self.outcomes if outcome.quote.entry_id == entry_id)
        )

    def records(self, sources: Sequence[str]) -> "list[AlignedRecord | FailedRecord]":
        """Return every outcome as a record, in order; `align_all` got these `sources`."""
        units = [*map(Utf16, sources)]
        return [record(outcome, units) for outcome in self.outcomes]


def is_same_place(place: Alignment | None, other: Alignment | None) -> bool:
    """Return whether two quotes share a character of the same note."""
    if not isinstance(place, Aligned) or not isinstance(other, Aligned):
        return False
    return place.quote.source_index == other.quote.source_index and place.span.iou(other.span) > 0


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
    reason: _Reason
    near_miss: NearMissRecord | None


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
