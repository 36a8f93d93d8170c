"""What the aligner is given and what it answers.  All lengths and offsets are code points."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from gigamind.errors import InputError
from gigamind.evidence.critical import Critical
from gigamind.spans import Span

LEAST_FUZZY = 0.80  # below, foreign passages pass
_LEAST_SEARCH = 0.5  # below, more than half of the quote may be missing
Loss = Literal["cut_negation", "cut_limit", "question"]
Doubt = Critical | Literal["name", "wording", "cut_word"] | Loss


@dataclass(frozen=True, slots=True)
class Unproven:
    """Why a quote proves nothing.

    Attributes:
        quoted: its words that differ, lower-cased; "" where the source has more.
        original: those of the source in their place; "" where the quote has more.
        near: only a keystroke in one word, so that asking once more for the exact words may help.
    """

    reason: Doubt
    quoted: str = ""
    original: str = ""
    near: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether its words are those of the source, but others beside them say something else."""
        return self.reason in {"cut_word", "cut_negation", "cut_limit", "question"}


@dataclass(frozen=True, slots=True)
class AlignConfig:
    """What counts as found.

    Attributes:
        fuzzy_threshold: similarity from which a fuzzy match is accepted, in [0.80, 1.0].
        search_threshold: similarity from which a refused match is still reported as a near miss, in
            [0.5, `fuzzy_threshold`].
        fuzzy: whether anything but an exact or normalised match may be accepted.
        max_quote_chars: a longer quote is refused.
        max_source_chars: a longer source raises an error.
        min_spaceless_chars: shortest quote, spaces off, that may match without regard to spaces.
        min_fuzzy_chars: shortest normalised quote that may match fuzzily: shorter foreign quotes reach 0.85 by chance
            (of 6-12 characters in 8-24 % of cases).
        min_promotable_chars: shortest normalised quote whose fuzzy match proves anything (of 30-40 in 1-3 %).
    """

    fuzzy_threshold: float = 0.85
    search_threshold: float = 0.75
    fuzzy: bool = True
    max_quote_chars: int = 500
    max_source_chars: int = 10_000_000
    min_spaceless_chars: int = 8
    min_fuzzy_chars: int = 16
    min_promotable_chars: int = 30

    def __post_init__(self) -> None:
        thresholds = (_LEAST_SEARCH, self.search_threshold, self.fuzzy_threshold, 1.0)
        rising = all(low <= high for low, high in pairwise(thresholds))
        if not rising or self.fuzzy_threshold < LEAST_FUZZY:
            raise InputError(
                f"thresholds must hold 0.5 <= search {self.search_threshold} <= fuzzy {self.fuzzy_threshold} <= 1.0 "
                "and fuzzy >= 0.80"
            )
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise InputError(f"{name} must be 1 or more, not {value}")

    def accepting(self, fuzzy_threshold: float) -> "AlignConfig":
        """The same from that similarity on; what is searched for is never more alike than what is accepted."""
        search = min(self.search_threshold, fuzzy_threshold)
        return replace(self, fuzzy_threshold=fuzzy_threshold, search_threshold=search)


DEFAULT = AlignConfig()


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
        unproven: why it proves nothing by the rule of `proof`; None when it proves what it says.
        promotable: whether it is proof enough to verify an entry: proven, and not short and fuzzy.
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
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Aligned))

    @property
    def failed(self) -> tuple[Failed, ...]:
        """The quotes that were not."""
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Failed))

    def of_entry(self, entry_id: str) -> "AlignResult":
        """The outcomes of one entry's quotes."""
        return AlignResult(
            tuple(outcome for outcome in self.outcomes if outcome.quote.entry_id == entry_id)
        )


def is_same_place(place: Alignment | None, other: Alignment | None) -> bool:
    """Whether two quotes stand in one note and share a character there."""
    if not isinstance(place, Aligned) or not isinstance(other, Aligned):
        return False
    return place.quote.source_index == other.quote.source_index and place.span.iou(other.span) > 0
