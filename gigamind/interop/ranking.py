"""Parse responses of systems, from JSON or Python values: rankings, and answers with their contexts.

Rankings are best first and uncorrected: repeated notes stay, scores may become NaN.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar, cast

from gigamind.i18n import _
from gigamind.text import written_id

Hit_co = TypeVar("Hit_co", covariant=True)
Oddity = Literal[
    "not_in_run_file",
    "duplicate_ranks",
    "repeated_notes",
    "unknown_notes",
    "folded_names",
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
"""Anomalies of a ranking, or of the contexts of an answer, that do not make it unusable."""

_PAIR = 2


@dataclass(frozen=True, slots=True)
class RankedNote:
    """One note of a ranking, or one context of an answer."""

    note: str  # path in the vault, or any name that datasets use; "" for a context given as text
    base_score: float | None = None  # higher is better; None if not given, NaN if no number
    text: str = ""  # the retrieved passage; "" if the system does not provide it
    place: tuple[int, int] | None = None  # `[start, end)` in UTF-16 units of the file
    written: str = ""  # the name as the system wrote it, if it means `note` only when folded


@dataclass(frozen=True)
class Ranking(Generic[Hit_co]):
    """The results of a system for one query."""

    hits: tuple[Hit_co, ...]  # best first
    oddities: Mapping[Oddity, int] = field(default_factory=dict[Oddity, int])  # how often


def parse_hits(payload: object) -> tuple[RankedNote, ...]:
    """Parse hits from a list, or from "hits" of an object: each is a note, [note, score], or an object with `note`.

    Raises:
        ValueError: neither a list nor an object with hits, or a hit without a note.
    """
    if isinstance(payload, Mapping):
        payload = cast("Mapping[object, object]", payload).get("hits")
    if isinstance(payload, str) or not isinstance(payload, Iterable):
        raise ValueError(_('expected a list of hits, or an object with the field "hits"'))  # noqa: TRY004  the text is at fault
    hits = cast("Iterable[object]", payload)
    return tuple(_parse_hit(hit, place) for place, hit in enumerate(hits, start=1))


def _parse_hit(hit: object, place: int) -> RankedNote:
    if isinstance(hit, RankedNote):
        return hit
    fields: Mapping[object, object] = {"note": hit}
    if isinstance(hit, Mapping):
        fields = cast("Mapping[object, object]", hit)
    elif isinstance(hit, list | tuple) and len(pair := cast("list[object]", hit)) == _PAIR:
        fields = {"note": pair[0], "score": pair[1]}
    if not isinstance(written_id(fields.get("note")), str):
        problem = _(
            "hit {number} must be a note name, [note, score] or {{note, score, text}}", number=place
        )
        raise ValueError(problem)  # noqa: TRY004  the text is at fault
    return note_of(fields)


def note_of(fields: Mapping[object, object]) -> RankedNote:
    """Return the note of an object; a name or text that is not a string becomes ""."""
    note, text = written_id(fields.get("note")), fields.get("text")
    return RankedNote(
        _whole_text(note) if isinstance(note, str) else "",
        score_of(fields.get("score")),
        _whole_text(text) if isinstance(text, str) else "",
        _place_of(fields.get("start"), fields.get("end")),
    )


def _whole_text(text: str) -> str:
    """Return the text without lone surrogates, which JSON can express but files cannot hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _place_of(start: object, end: object) -> tuple[int, int] | None:
    """Return a range of two integers, or None for anything else."""
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None


def score_of(value: object) -> float | None:
    """Return a score as a float; None if absent, NaN if it is not a number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


@dataclass(frozen=True)
class Reply:
    """The answer of a system to one question."""

    answer: str
    contexts: tuple[RankedNote, ...] = ()  # in the system's order
    oddities: Mapping[Oddity, int] = field(default_factory=dict[Oddity, int])  # how often


def parse_reply(payload: object) -> Reply:
    """Parse a text, a pair [answer, contexts], or an object with `answer` and `contexts`; ValueError if malformed."""
    reply = recorded_reply(payload)
    if not reply.answer.strip():
        raise ValueError(_("the answer is empty"))
    return reply


def recorded_reply(payload: object) -> Reply:
    """Parse an answer of a run file, which may be empty: that is the system's fault, not the file's; or ValueError."""
    if isinstance(payload, Reply):
        return Reply(_answer(payload.answer), payload.contexts, payload.oddities)
    if isinstance(payload, Mapping):
        fields = cast("Mapping[object, object]", payload)
        return Reply(_answer(fields.get("answer")), _parse_contexts(fields.get("contexts")))
    if isinstance(payload, list | tuple) and len(pair := cast("list[object]", payload)) == _PAIR:
        return Reply(_answer(pair[0]), _parse_contexts(pair[1]))
    return Reply(_answer(cast("object", payload)))


def _parse_contexts(payload: object) -> tuple[RankedNote, ...]:
    if payload is None:
        return ()
    if isinstance(payload, str | Mapping) or not isinstance(payload, Iterable):
        raise ValueError(_("the contexts are not a list"))  # noqa: TRY004  the text is at fault
    contexts = cast("Iterable[object]", payload)
    return tuple(_parse_context(context, place) for place, context in enumerate(contexts, start=1))


def _parse_context(context: object, place: int) -> RankedNote:
    if isinstance(context, Mapping):
        context = note_of(cast("Mapping[object, object]", context))
    elif isinstance(context, str):
        context = RankedNote("", text=_whole_text(context))
    if not isinstance(context, RankedNote) or not (context.note.strip() or context.text.strip()):
        raise ValueError(
            _('context {number} must be a text, or an object with "note" or "text"', number=place)
        )
    return context


def _answer(answer: object) -> str:
    if not isinstance(answer, str):
        raise ValueError(  # noqa: TRY004  the text is at fault
            _("the answer is missing")
            if answer is None
            else _("the answer is not a text but a {type}", type=type(answer).__name__)
        )
    return _whole_text(answer)
