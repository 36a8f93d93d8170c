"""Input and output types of the aligner. All lengths and offsets are in code points."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import InputError
from gigamind.evidence.critical import Critical
from gigamind.spans import Span

LEAST_FUZZY = 0.80  # lower thresholds accept unrelated passages
_LEAST_SEARCH = 0.5  # with lower thresholds, more than half of the quote may be missing
Loss = Literal["cut_negation", "cut_limit", "question"]
Unstated = Literal["struck_out", "comment", "outdated", "placeholder"]
Doubt = Critical | Literal["name", "wording", "cut_word"] | Loss | Unstated


@dataclass(frozen=True, slots=True)
class Unproven:
    """Why a quote proves nothing."""

    reason: Doubt
    quoted: str = ""  # words of the quote that differ, lower-cased; "" if the source has more words
    original: str = ""  # words of the source in their place; "" if the quote has more words
    near: bool = False  # only one keystroke differs, so that requesting the exact words may help

    @property
    def is_cut(self) -> bool:
        """Whether its words match the source, but neighbouring words change their meaning."""
        return self.reason in {"cut_word", "cut_negation", "cut_limit", "question"}


@dataclass(frozen=True, slots=True)
class AlignConfig:
    """Thresholds and limits of the aligner."""

    fuzzy_threshold: float = 0.85  # lowest similarity of an accepted fuzzy match, in [0.80, 1.0]
    search_threshold: float = 0.75  # lowest similarity of a near miss, in [0.5, `fuzzy_threshold`]
    fuzzy: bool = True
    max_quote_chars: int = 500  # longer quotes are refused
    max_source_chars: int = 10_000_000  # longer sources raise an error
    min_spaceless_chars: int = 8  # of a quote, without spaces, that may match regardless of spaces
    # Of a normalised quote that may match fuzzily: 8-24 % of unrelated quotes of 6-12 characters reach 0.85 by chance.
    min_fuzzy_chars: int = 16
    # Of one whose fuzzy match proves anything (by chance: 1-3 % at 30-40 characters).
    min_promotable_chars: int = 30

    def __post_init__(self) -> None:
        thresholds = (_LEAST_SEARCH, self.search_threshold, self.fuzzy_threshold, 1.0)
        rising = all(low <= high for low, high in pairwise(thresholds))
        if not rising or self.fuzzy_threshold < LEAST_FUZZY:
            raise InputError(
                "The search threshold ({search}) must be from 0.5 up to the fuzzy threshold. The fuzzy threshold"
                " ({fuzzy}) must be from 0.8 to 1.",
                search=self.search_threshold,
                fuzzy=self.fuzzy_threshold,
            )
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise InputError(
                    "{option} must be 1 or more, not {value}.", option=name, value=value
                )

    def accepting(self, fuzzy_threshold: float) -> "AlignConfig":
        """Return the configuration with another fuzzy threshold; the search threshold never exceeds it."""
        search = min(self.search_threshold, fuzzy_threshold)
        return replace(self, fuzzy_threshold=fuzzy_threshold, search_threshold=search)


DEFAULT = AlignConfig()


class AlignOptions(BaseModel):
    """Options of all commands that align quotes; named as in seed 003, section 2.3."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fuzzy_threshold: Annotated[float, Field(ge=LEAST_FUZZY, le=1, allow_inf_nan=False)] = Field(
        DEFAULT.fuzzy_threshold,
        description="lowest similarity (0 to 1) at which a passage that differs by a few edits counts as found",
    )
    max_quote_length: int = Field(
        DEFAULT.max_quote_chars,
        ge=1,
        description="maximum length of a quote in characters; longer quotes are rejected",
    )
    enable_fuzzy: bool = Field(
        default=DEFAULT.fuzzy,
        description="also accept quotes that differ from the source by a few characters",
    )

    @property
    def alignment(self) -> AlignConfig:
        accepting = DEFAULT.accepting(self.fuzzy_threshold)
        return replace(accepting, fuzzy=self.enable_fuzzy, max_quote_chars=self.max_quote_length)


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
