"""Settings of the aligner, and quotes and sources from outside: UTF-8, limited in size, every row validated."""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gigamind.errors import InputError, reason_of
from gigamind.i18n import _

LEAST_FUZZY = 0.80  # lower thresholds accept unrelated passages
_LEAST_SEARCH = 0.5  # with lower thresholds, more than half of the quote may be missing


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


class AlignOptions(BaseModel, defer_build=True):
    """Options of all commands that align quotes; named as in spec 003, section 2.3."""

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


def read_text(path: Path, max_bytes: int) -> str:
    """Return the text of a file without its byte order mark.

    Raises:
        InputError: it cannot be read, is larger than `max_bytes`, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            "{file} cannot be read: {reason}. Check the path.", file=path, reason=reason
        ) from error
    return _decoded(data, str(path), max_bytes)


def _decoded(data: bytes, name: str, max_bytes: int) -> str:
    """Return the text of `data`, of which up to `max_bytes` + 1 bytes were read; raises as `read_text`."""
    if len(data) > max_bytes:
        raise InputError(
            "{file} is larger than the limit of {limit:,} bytes. Split it.",
            file=name,
            limit=max_bytes,
        )
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            "{file} is not UTF-8 (byte {position}). Convert it to UTF-8.",
            file=name,
            position=error.start,
        ) from error


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = _(
            "the text contains only half of a Unicode surrogate pair. Write both halves, for example {example}",
            example=r"\ud83d\ude00",
        )
        raise ValueError(message) from error
    return text


Encodable = Annotated[str, AfterValidator(_encodable)]


class Strict(BaseModel, defer_build=True):
    """Data from outside: unknown fields are rejected, nothing is converted."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_by_name=True, validate_by_alias=True
    )


class QuoteRow(Strict):
    """One quote and its source.

    Attributes:
        source: name of the source, as an alternative to its index.
        hint: code point offset near which the quote starts.
    """

    quote: Encodable
    source_index: int | None = None
    source: Encodable | None = None
    prefix: Encodable = ""
    suffix: Encodable = ""
    hint: int | None = Field(default=None, ge=0)
    entry_id: Encodable = ""
