"""Quotes and what the aligner found out about them. All lengths and offsets are in code points."""

from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.critical import Critical
from gigamind.spans import Span

Loss = Literal["cut_negation", "cut_limit", "question"]
Unstated = Literal["struck_out", "comment", "outdated", "placeholder"]
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
Reason = Literal[
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
    def of(cls, span: Span, text: str) -> "TextQuoteSelector":
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
    reason: Reason
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


def is_same_place(place: Alignment | None, other: Alignment | None) -> bool:
    """Return whether two quotes share a character of the same note."""
    if not isinstance(place, Aligned) or not isinstance(other, Aligned):
        return False
    return place.quote.source_index == other.quote.source_index and place.span.iou(other.span) > 0
