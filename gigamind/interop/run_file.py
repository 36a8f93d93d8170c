"""Reads a run: the rankings of many queries, as a TREC run file or as JSON lines {id, hits: [{note, score?, text?}]}.

A TREC run is ordered as trec_eval does: by score, equal ones by the note's name, both descending; the rank column says
nothing.  JSON lines are in the order of their hits.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from gigamind.errors import InputError
from gigamind.interop.ranking import Oddity, RankedNote, Ranking, score_of, told_hits
from gigamind.interop.source import decoded, placed_lines, read_bytes

# A note's name may have spaces, which the format does not foresee: what stands between the second column and the last
# three is the name.
_TREC = re.compile(r"(\S+)\s+\S+\s+(\S.*?)\s+(\S+)\s+(\S+)\s+\S+")
_FORMATS = 'six columns "query Q0 note rank score tag", or a JSON object {"id": ..., "hits": [...]}'


@dataclass(frozen=True, slots=True)
class RunFile:
    """The rankings of a file.

    Attributes:
        rankings: by the id of their query, in the file's order.
        problems: lines that could not be read, and why, each with its place.
        sha256: of the file's bytes, in hexadecimal.
    """

    path: Path
    rankings: Mapping[str, Ranking[RankedNote]]
    problems: tuple[str, ...]
    sha256: str


def read_run_file(path: Path) -> RunFile:
    """Read a run in UTF-8, or in UTF-16 with its byte order mark; which format it has is seen by its first line.

    Raises:
        InputError: the file cannot be read, is in another encoding, or has no line of either format.
    """
    content = read_bytes(path, "the run")
    lines = placed_lines(path, decoded(path, content))
    problems: list[str] = []
    as_json = bool(lines) and lines[0][1].startswith("{")
    rankings = _json_rankings(lines, problems) if as_json else _trec_rankings(lines, problems)
    if not rankings:
        first = f"; {problems[0]}" if problems else ""
        raise InputError(f"{path}: holds no ranking{first}. Write {_FORMATS} a line.")
    return RunFile(path, rankings, tuple(problems), hashlib.sha256(content).hexdigest())


def _json_rankings(
    lines: list[tuple[str, str]], problems: list[str]
) -> dict[str, Ranking[RankedNote]]:
    rankings: dict[str, Ranking[RankedNote]] = {}
    for place, line in lines:
        try:
            row = cast("object", json.loads(line))
            if not isinstance(row, dict) or not isinstance(
                name := cast("dict[str, object]", row).get("id"), str | int
            ):
                raise ValueError('no "id" of a query')  # noqa: TRY004, TRY301  told with the other faults of a line
            if str(name) in rankings:
                raise ValueError(f"query {name} again; its first line counts")  # noqa: TRY301
            rankings[str(name)] = Ranking(told_hits(cast("object", row)))
        except (ValueError, RecursionError) as error:
            problems.append(f"{place}: {error}")
    return rankings


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
        found = _TREC.fullmatch(line)
        if found is None:
            problems.append(f"{place}: {len(line.split())} columns, where a run has six")
            continue
        name, note, rank, score = found.groups()
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
