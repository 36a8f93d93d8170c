"""Reads a run: what a system told of many items, the rankings of queries in a TREC run file, or anything in JSON lines.

A TREC run is ordered as trec_eval does: by score, equal ones by the note's name, both descending; the rank column says
nothing.  JSON lines are in the order of their hits.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, cast

from gigamind.errors import InputError
from gigamind.interop.ranking import Oddity, RankedNote, Ranking, score_of, told_hits
from gigamind.interop.source import decoded, placed_lines, read_bytes

# A note's name may have spaces, which the format does not foresee: what stands between the second column and the last
# three is the name.
_BEFORE, _BEHIND = 2, 3
MOST_UNREAD = 0.05  # of a run's lines: where more cannot be read, the rest is no measurement
_FEW = 5  # lines; of a short run the items that it lacks then say so
_FORMATS = 'six columns "query Q0 note rank score tag", or a JSON object {"id": ..., "hits": [...]}'
Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class RunFile(Generic[Told]):
    """What a file tells.

    Attributes:
        told: by the id of its item, in the file's order.
        problems: lines that could not be read, and why, each with its place.
        sha256: of the file's bytes, in hexadecimal.
    """

    path: Path
    told: Mapping[str, Told]
    problems: tuple[str, ...]
    sha256: str


def read_run_file(path: Path) -> RunFile[Ranking[RankedNote]]:
    """Read rankings in UTF-8, or in UTF-16 with its byte order mark; which format they have is seen by the first line.

    Raises:
        InputError: the file cannot be read, is in another encoding, or has no line of either format.
    """
    content = read_bytes(path, "the run")
    lines = placed_lines(path, decoded(path, content))
    problems: list[str] = []
    as_json = bool(lines) and lines[0][1].startswith("{")
    rankings = (
        _json_rows(lines, problems, lambda row: Ranking(told_hits(row)))
        if as_json
        else _trec_rankings(lines, problems)
    )
    return _run_of(path, content, rankings, problems, f"ranking{{}}. Write {_FORMATS}")


def read_json_run(
    path: Path,
    read: Callable[[Mapping[str, object]], Told],
    form: str,
    ids: Sequence[str] = ("id",),
) -> RunFile[Told]:
    """Read a run of JSON lines, in these encodings.

    Args:
        read: what a line tells; raises ValueError where it tells nothing.
        form: how a line is written, for who wrote none.
        ids: fields that may name the item; the first one that a line has counts.

    Raises:
        InputError: as `read_run_file`.
    """
    content = read_bytes(path, "the run")
    problems: list[str] = []
    rows = _json_rows(placed_lines(path, decoded(path, content)), problems, read, ids)
    return _run_of(path, content, rows, problems, f"line that can be used{{}}. Write {form}")


def _run_of(
    path: Path, content: bytes, rows: Mapping[str, Told], problems: list[str], needed: str
) -> RunFile[Told]:
    lines = sum(bool(line.strip()) for line in content.splitlines())
    if rows and len(problems) > max(_FEW, MOST_UNREAD * lines):
        raise InputError(
            f"{path}: {len(problems)} of {lines} lines cannot be read, and the others say too little of the system;"
            f" the first: {problems[0]}"
        )
    if not rows:
        lacking = needed.replace("{}", f"; {problems[0]}" if problems else "")
        raise InputError(f"{path}: holds no {lacking} a line.")
    return RunFile(path, rows, tuple(problems), hashlib.sha256(content).hexdigest())


def _json_rows(
    lines: list[tuple[str, str]],
    problems: list[str],
    read: Callable[[Mapping[str, object]], Told],
    ids: Sequence[str] = ("id",),
) -> dict[str, Told]:
    rows: dict[str, Told] = {}
    for place, line in lines:
        try:
            row = cast("object", json.loads(line))
            fields = cast("dict[str, object]", row) if isinstance(row, dict) else {}
            name = next((fields[name] for name in ids if fields.get(name) is not None), None)
            if not isinstance(name, str | int):
                raise ValueError(f'no "{ids[0]}" of an item')  # noqa: TRY004, TRY301  told with the other faults of a line
            if str(name) in rows:
                raise ValueError(f"{name} again; its first line counts")  # noqa: TRY301
            rows[str(name)] = read(fields)
        except (ValueError, RecursionError) as error:
            problems.append(f"{place}: {error}")
    return rows


@dataclass(frozen=True, slots=True)
class _Row:
    note: str
    rank: str
    score: float

    @property
    def order(self) -> tuple[bool, float]:
        """By which it is sorted, descending; what is no number last."""
        return (not math.isnan(self.score), 0.0 if math.isnan(self.score) else self.score)


def _trec_rankings(
    lines: list[tuple[str, str]], problems: list[str]
) -> dict[str, Ranking[RankedNote]]:
    rows: dict[str, list[_Row]] = {}
    for place, line in lines:
        head = line.split(maxsplit=_BEFORE)
        tail = head[_BEFORE].rsplit(maxsplit=_BEHIND) if len(head) > _BEFORE else []
        if len(tail) <= _BEHIND:
            problems.append(f"{place}: {len(line.split())} columns, where a run has six")
            continue
        name, (note, rank, score, _) = head[0], tail
        rows.setdefault(name, []).append(_Row(note, rank, score_of(score) or 0.0))
    return {
        name: Ranking(tuple(_ordered(own)), dict(_duplicates(own))) for name, own in rows.items()
    }


def _ordered(rows: list[_Row]) -> Iterator[RankedNote]:
    by_name = sorted(rows, key=lambda row: row.note, reverse=True)
    for row in sorted(by_name, key=lambda row: row.order, reverse=True):
        yield RankedNote(row.note, row.score)


def _duplicates(rows: list[_Row]) -> Iterator[tuple[Oddity, int]]:
    if more := len(rows) - len({row.rank for row in rows}):
        yield "duplicate_ranks", more
