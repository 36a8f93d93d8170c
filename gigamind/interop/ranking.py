"""A ranking as any system tells it: notes of one query, best first, as JSON and in Python.

Nothing is mended here: a score that is no number is NaN, a note that is told twice stands there twice.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar, cast

Hit_co = TypeVar("Hit_co", covariant=True)
Oddity = Literal[
    "not_in_run_file",
    "duplicate_ranks",
    "repeated_notes",
    "unknown_notes",
    "encoded_names",
    "bad_scores",
    "no_scores",
    "no_texts",
    "rising_scores",
    "tied_scores",
    "fewer_hits",
    "unplaced_texts",
    "asked_again",
    "no_contexts",
]
"""What can be odd about a ranking, or about the contexts of an answer, that was told all the same."""

_PAIR = 2


@dataclass(frozen=True, slots=True)
class RankedNote:
    """One note of a ranking, or one context of an answer.

    Attributes:
        note: its path in the vault, or any name that datasets know it by; "" for a context that is told as a text.
        base_score: higher is better, on the system's own scale; None where it tells none, NaN where that is no number.
        text: the passage that was found; "" where the system shows none.
        place: where it stands in the note's file, `[start, end)` in UTF-16 code units; None where that is not told.
    """

    note: str
    base_score: float | None = None
    text: str = ""
    place: tuple[int, int] | None = None


@dataclass(frozen=True)
class Ranking(Generic[Hit_co]):
    """What a system found for one query.

    Attributes:
        hits: best first.
        oddities: what was odd, and how often.
    """

    hits: tuple[Hit_co, ...]
    oddities: Mapping[Oddity, int] = field(default_factory=dict[Oddity, int])


def told_hits(payload: object) -> tuple[RankedNote, ...]:
    """The hits in a list, or in the "hits" of an object: each a note, [note, score], or an object with its `note`.

    Of an object `score`, `text`, and `start` and `end` are read besides, where it has them.

    Raises:
        ValueError: it is neither, or a hit has no note; says which.
    """
    if isinstance(payload, Mapping):
        payload = cast("Mapping[object, object]", payload).get("hits")
    if isinstance(payload, str) or not isinstance(payload, Iterable):
        raise ValueError('no list of hits, nor an object with "hits"')  # noqa: TRY004  the text is at fault
    hits = cast("Iterable[object]", payload)
    return tuple(_told_hit(hit, place) for place, hit in enumerate(hits, start=1))


def _told_hit(hit: object, place: int) -> RankedNote:
    if isinstance(hit, RankedNote):
        return hit
    fields: Mapping[object, object] = {"note": hit}
    if isinstance(hit, Mapping):
        fields = cast("Mapping[object, object]", hit)
    elif isinstance(hit, list | tuple) and len(pair := cast("list[object]", hit)) == _PAIR:
        fields = {"note": pair[0], "score": pair[1]}
    if not isinstance(fields.get("note"), str):
        raise ValueError(  # noqa: TRY004  the text is at fault
            f"hit {place} is not a note, [note, score] or {{note, score, text}}"
        )
    return note_of(fields)


def note_of(fields: Mapping[object, object]) -> RankedNote:
    """What an object tells of a note; a name or a text that is none is ""."""
    note, text = fields.get("note"), fields.get("text")
    return RankedNote(
        whole_text(note) if isinstance(note, str) else "",
        score_of(fields.get("score")),
        whole_text(text) if isinstance(text, str) else "",
        place_of(fields.get("start"), fields.get("end")),
    )


def whole_text(text: str) -> str:
    """The text without halves of characters, which JSON can tell (a cut surrogate pair) and no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def place_of(start: object, end: object) -> tuple[int, int] | None:
    """A range of two whole numbers; None for anything else."""
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None


def score_of(value: object) -> float | None:
    """A score as a float; None for none, NaN for what is no number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
