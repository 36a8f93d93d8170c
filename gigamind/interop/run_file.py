"""Read a run file: rankings in TREC run format, or any responses in JSON lines.

A TREC run is ordered as in trec_eval: by score, ties by note name, both descending; the rank column is ignored.
"""

import hashlib
import json
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, cast

from gigamind.errors import InputError, text_of
from gigamind.i18n import Message, _
from gigamind.interop.ranking import RankedNote, Ranking, parse_hits, score_of
from gigamind.interop.source import placed_lines
from gigamind.loading import decoded, read_bytes
from gigamind.text import written_id

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
        if rank.isdecimal() and not math.isnan(score_of(score) or 0.0):
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
        rows.setdefault(name, []).append(RankedNote(note, score_of(score) or 0.0))
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
