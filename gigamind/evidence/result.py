"""What looking a quote up in its source ends in: aligned, with a span, or failed, with a reason.  Never in between.

Offsets are code points; `record.py` writes them to JSON.
"""

from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.critical import Critical
from gigamind.spans import Span

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
    """A text that is said to stand in a source, and what may help to tell equal places apart.

    Attributes:
        source_index: which of the sources, from 0.
        entry_id: the entry that it is evidence of, or "".  Quotes of one entry prefer different places.
        prefix: text that stands before it, or "".
        suffix: text that stands after it, or "".
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
    """Finds the passage again after its note was edited (W3C Web Annotation).

    Attributes:
        exact: the source text under the span.
        prefix: up to 32 characters before it.
        suffix: up to 32 characters behind it.
    """

    exact: str
    prefix: str
    suffix: str

    @classmethod
    def of(cls, span: Span, text: str) -> "TextQuoteSelector":
        """The selector of a span of `text`."""
        before = text[max(0, span.start - _SELECTOR_CHARS) : span.start]
        return cls(span.slice(text), before, text[span.end : span.end + _SELECTOR_CHARS])


@dataclass(frozen=True, slots=True)
class Aligned:
    """A quote that was found.

    Attributes:
        source_sha256: hash of the source, for which alone the span is valid.
        span: where it stands, in code points of the source; never empty.
        level: the normalising under which it was found.
        confidence: 1.0 exact, 0.99 normalised, else the similarity.
        occurrences: places where it stands equally well, counted up to 10 000.
        ambiguous: there are several, and no context singles one out.
        critical: what a fuzzy match changes that may turn the statement round.
        promotable: whether it is proof enough to verify an entry.
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
    promotable: bool
    selector: TextQuoteSelector


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The most similar passage of a source, not similar enough.

    Attributes:
        similarity: in [search threshold, fuzzy threshold).
    """

    span: Span
    similarity: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A quote that was not found.

    Attributes:
        source_sha256: hash of the source, or `None` when there is no such source.
        near_miss: only with the reason `below_threshold`.
    """

    quote: Quote
    source_sha256: str | None
    reason: Reason
    near_miss: NearMiss | None = None


Alignment = Aligned | Failed


@dataclass(frozen=True, slots=True)
class AlignResult:
    """The outcome of every quote, in the order they were given."""

    outcomes: tuple[Alignment, ...]

    @property
    def aligned(self) -> tuple[Aligned, ...]:
        """The quotes that were found."""
        return tuple(one for one in self.outcomes if isinstance(one, Aligned))

    @property
    def failed(self) -> tuple[Failed, ...]:
        """The quotes that were not."""
        return tuple(one for one in self.outcomes if isinstance(one, Failed))

    def of_entry(self, entry_id: str) -> "AlignResult":
        """The outcomes of one entry's quotes."""
        return AlignResult(tuple(one for one in self.outcomes if one.quote.entry_id == entry_id))

    @property
    def evidence_aligned(self) -> bool:
        """Whether there is at least one quote and none failed: no evidence at all proves nothing."""
        return bool(self.outcomes) and not self.failed
