"""Parse responses of systems, rankings and answers with their contexts: from JSON or Python values, or in a run file.

Rankings are best first and uncorrected: repeated notes stay, scores may become NaN. A run file holds rankings in TREC
run format, or any responses in JSON lines. A TREC run is ordered as in trec_eval: by score, ties by note name, both
descending; the rank column is ignored.
"""

import hashlib
import json
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, Self, TypeVar, cast

from gigamind.errors import InputError, text_of
from gigamind.i18n import Message, _
from gigamind.interop.source import placed_lines
from gigamind.loading import decoded, read_bytes
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

    @classmethod
    def of(cls, fields: Mapping[object, object]) -> Self:
        """Return the note of an object; a name or text that is not a string becomes ""."""
        note, text = written_id(fields.get("note")), fields.get("text")
        start, end = fields.get("start"), fields.get("end")
        return cls(
            _whole_text(note) if isinstance(note, str) else "",
            _score_of(fields.get("score")),
            _whole_text(text) if isinstance(text, str) else "",
            (start, end) if isinstance(start, int) and isinstance(end, int) else None,
        )


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
    return RankedNote.of(fields)


def _whole_text(text: str) -> str:
    """Return the text without lone surrogates, which JSON can express but files cannot hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _score_of(value: object) -> float | None:
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

    @classmethod
    def parse(cls, payload: object) -> Self:
        """Parse a text, a pair [answer, contexts], or an object with `answer` and `contexts`; or ValueError."""
        reply = cls.recorded(payload)
        if not reply.answer.strip():
            raise ValueError(_("the answer is empty"))
        return reply

    @classmethod
    def recorded(cls, payload: object) -> Self:
        """Parse an answer of a run file, which may be empty: the system's fault, not the file's; or ValueError."""
        if isinstance(payload, Reply):
            return cls(_answer(payload.answer), payload.contexts, payload.oddities)
        if isinstance(payload, Mapping):
            fields = cast("Mapping[object, object]", payload)
            return cls(_answer(fields.get("answer")), _parse_contexts(fields.get("contexts")))
        pair = cast("list[object]", payload) if isinstance(payload, list | tuple) else []
        if len(pair) == _PAIR:
            return cls(_answer(pair[0]), _parse_contexts(pair[1]))
        return cls(_answer(cast("object", payload)))


def _parse_contexts(payload: object) -> tuple[RankedNote, ...]:
    if payload is None:
        return ()
    if isinstance(payload, str | Mapping) or not isinstance(payload, Iterable):
        raise ValueError(_("the contexts are not a list"))  # noqa: TRY004  the text is at fault
    contexts = cast("Iterable[object]", payload)
    return tuple(_parse_context(context, place) for place, context in enumerate(contexts, start=1))


def _parse_context(context: object, place: int) -> RankedNote:
    if isinstance(context, Mapping):
        context = RankedNote.of(cast("Mapping[object, object]", context))
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


# A note's name may have spaces, which the format does not provide for: it is everything between the second column and
# the rank.
_BEFORE, _BEHIND = 2, 3
_MOST_UNREAD = 0.05  # share of a run's lines; with more, the rest is not representative
_FEW = 5  # unreadable lines that are always allowed; their items are reported as missing
_Response = TypeVar("_Response")
_Lines = list[tuple[str, str]]  # with their places


@dataclass(frozen=True, slots=True)
class RunFile(Generic[_Response]):
    """The responses in a file."""

    path: Path
    responses: Mapping[str, _Response]  # by item id, in the file's order
    problems: tuple[Message, ...]  # unreadable lines with their place and reason
    sha256: str  # of the file's bytes, in hexadecimal


def read_run_file(path: Path) -> RunFile[Ranking[RankedNote]]:
    """Read rankings in UTF-8, or in UTF-16 with a byte order mark; the first line decides the format.

    Raises:
        InputError: the file cannot be read, is in another encoding, or has no usable line.
    """

    def read(lines: _Lines, problems: list[Message]) -> dict[str, Ranking[RankedNote]]:
        if lines and lines[0][1].startswith("{"):
            return _json_rows(lines, problems, lambda row: Ranking(parse_hits(row)))
        return _trec_rankings(lines, problems)

    empty = _(
        '{file}: the file contains no search results. Write one result per line as "query Q0 note rank score tag",'
        ' or one JSON object per query: {{"id": ..., "hits": [...]}}.',
        file=path,
    )
    return _run_of(path, read, empty)


def read_json_run(
    path: Path,
    read: Callable[[Mapping[str, object]], _Response],
    form: str,
    ids: Sequence[str] = ("id",),
) -> RunFile[_Response]:
    """Read a run in JSON lines, in the encodings of `read_run_file`.

    Args:
        read: parses a line; raises ValueError if it is unusable.
        form: example of a line, for the error message.
        ids: fields that may hold the item's id; the first one present is used.

    Raises:
        InputError: as for `read_run_file`.
    """
    empty = _("{file}: no usable lines. Write one entry per line: {form}.", file=path, form=form)
    return _run_of(path, lambda lines, problems: _json_rows(lines, problems, read, ids), empty)


def _run_of(
    path: Path, read: Callable[[_Lines, list[Message]], dict[str, _Response]], empty: Message
) -> RunFile[_Response]:
    content, problems = read_bytes(path, _("the run file")), list[Message]()
    rows = read(placed_lines(path, decoded(path, content)), problems)
    lines = sum(bool(line.strip()) for line in content.splitlines())
    if rows and len(problems) > max(_FEW, _MOST_UNREAD * lines):
        raise InputError(
            "{file}: {count:,} of {lines:,} lines cannot be used, too many to evaluate the system. First"
            " problem: {problem}",
            file=path,
            count=len(problems),
            lines=lines,
            problem=problems[0],
        )
    if not rows and problems:
        raise InputError("{empty} The first problem: {problem}", empty=empty, problem=problems[0])
    if not rows:
        raise InputError(empty)
    return RunFile(path, rows, tuple(problems), hashlib.sha256(content).hexdigest())


def _json_rows(
    lines: _Lines,
    problems: list[Message],
    read: Callable[[Mapping[str, object]], _Response],
    ids: Sequence[str] = ("id",),
) -> dict[str, _Response]:
    rows: dict[str, _Response] = {}
    for place, line in lines:
        try:
            row = cast("object", json.loads(line))
            fields = cast("dict[str, object]", row) if isinstance(row, dict) else {}
            name = next((fields[name] for name in ids if fields.get(name) is not None), None)
            name = written_id(name)
            if not isinstance(name, str):
                raise ValueError(_('the field "{field}" is missing', field=ids[0]))  # noqa: TRY004, TRY301  handled like other faults of a line
            if name in rows:
                again = _("the id {id} occurs more than once; only its first line is used", id=name)
                raise ValueError(again)  # noqa: TRY301  handled like other faults of a line
            rows[name] = read(fields)
        except (ValueError, RecursionError) as error:
            problems.append(_("{place}: {reason}", place=place, reason=text_of(error)))
    return rows


def _columns(line: str, columns: Sequence[str]) -> tuple[str, str, str]:
    """Return note, rank and score of a line: the last reading whose rank and score are numbers, to ignore a remark."""
    for end in range(len(columns) - _BEHIND, _BEFORE, -1):
        rank, score = columns[end : end + 2]
        if rank.isdecimal() and not math.isnan(_score_of(score) or 0.0):
            behind = len(columns) - end
            break
    else:
        behind = _BEHIND
    note, *rest = line.split(maxsplit=_BEFORE)[_BEFORE].rsplit(maxsplit=behind)
    return note, rest[0], rest[1]


def _trec_rankings(lines: _Lines, problems: list[Message]) -> dict[str, Ranking[RankedNote]]:
    rows: dict[str, list[RankedNote]] = {}
    ranks: dict[str, set[str]] = {}
    for place, line in lines:
        columns = line.split()
        if len(columns) <= _BEFORE + _BEHIND:
            if not line.startswith("#"):
                count = len(columns)
                problems.append(
                    _("{place}: {columns} columns instead of six", place=place, columns=count)
                )
            continue
        name = unicodedata.normalize("NFC", columns[0])
        note, rank, score = _columns(line, columns)
        rows.setdefault(name, []).append(RankedNote(note, _score_of(score) or 0.0))
        ranks.setdefault(name, set()).add(rank)

    def order(row: RankedNote) -> tuple[bool, float]:
        score = row.base_score or 0.0
        return (False, 0.0) if math.isnan(score) else (True, score)

    rankings: dict[str, Ranking[RankedNote]] = {}
    for name, own in rows.items():
        own.sort(key=lambda row: row.note, reverse=True)
        own.sort(key=order, reverse=True)
        more = len(own) - len(ranks[name])
        rankings[name] = Ranking(tuple(own), {"duplicate_ranks": more} if more else {})
    return rankings
