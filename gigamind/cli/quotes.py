"""Reads what `gigamind align` is given: the sources, and a JSONL file of quotes.

A row is `{"quote": ...}` with, as needed, `source_index` or `source`, `prefix`, `suffix`, `hint` (a code point offset)
and `entry_id`.  "-" is standard input.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from gigamind.errors import InputError
from gigamind.evidence.result import Quote

STDIN = "-"
_UTF8_BYTES = 4  # the most that UTF-8 takes for one character


@dataclass(frozen=True, slots=True)
class NamedSource:
    """One source and the name it was given by."""

    name: str
    text: str


def _encodable(text: str) -> str:
    """Refuse lone surrogates, which JSON can spell but no UTF-8 source holds and no output can carry."""
    text.encode()
    return text


Encodable = Annotated[str, AfterValidator(_encodable)]


class QuoteRow(BaseModel):
    """One row of the quotes file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    quote: Encodable
    source_index: int | None = None
    source: Encodable | None = None
    prefix: Encodable = ""
    suffix: Encodable = ""
    hint: int | None = Field(default=None, ge=0)
    entry_id: Encodable = ""


def read_source(name: str, max_chars: int) -> NamedSource:
    """One source as UTF-8 text, a byte order mark at its start left off.

    Raises:
        InputError: it cannot be read, is not UTF-8, or has more than `max_chars` characters.
    """
    text = _decoded(_bytes(name, _UTF8_BYTES * max_chars), name)
    if len(text) > max_chars:
        raise InputError(
            f"{name}: {len(text):,} characters are beyond the limit of {max_chars:,}; split the source into notes"
        )
    return NamedSource(name, text)


def read_quotes(name: str, sources: Sequence[NamedSource], max_bytes: int) -> list[Quote]:
    """The quotes of a JSONL file; blank lines are skipped.

    Raises:
        InputError: the file cannot be read, has no row, or a row is wrong; with file and line.
    """
    quotes = [
        _quote(line, f"{name}:{number}", sources)
        for number, line in _lines(_decoded(_bytes(name, max_bytes), name))
    ]
    if not quotes:
        raise InputError(
            f'{name}: no quotes; write one JSON object a line, such as {{"quote": "..."}}'
        )
    return quotes


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, numbered from 1.  U+2028 ends no line: a JSON string may hold it."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _quote(line: str, where: str, sources: Sequence[NamedSource]) -> Quote:
    row = _row(line, where)
    index = _source_index(row, where, sources)
    return Quote(row.quote, index, row.entry_id, row.prefix, row.suffix, row.hint)


def _row(line: str, where: str) -> QuoteRow:
    try:
        values: object = json.loads(line)
    except (
        ValueError,
        RecursionError,
    ) as error:  # ValueError: also a number of thousands of digits
        raise InputError(f"{where}: not JSON ({error}); write one object a line") from error
    try:
        return QuoteRow.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "row"
        raise InputError(
            f"{where}: {field}: {first['msg']}; the fields of a row are {', '.join(QuoteRow.model_fields)}"
        ) from error


def _source_index(row: QuoteRow, where: str, sources: Sequence[NamedSource]) -> int:
    if row.source_index is not None and row.source is not None:
        raise InputError(f"{where}: give source_index or source, not both")
    if row.source_index is not None:
        return row.source_index
    if row.source is None:
        if len(sources) == 1:
            return 0
        raise InputError(
            f"{where}: which source? Add source_index, 0 to {len(sources) - 1}, or source"
        )
    return _named(row.source, where, [source.name for source in sources])


def _named(wanted: str, where: str, names: Sequence[str]) -> int:
    """Index of the source of that name, or failing that, of that file name."""
    found = [index for index, name in enumerate(names) if name == wanted]
    found = found or [index for index, name in enumerate(names) if Path(name).name == wanted]
    if len(found) != 1:
        problem = "several sources are" if found else "no source is"
        raise InputError(
            f"{where}: {problem} called {wanted!r}; the sources are {', '.join(names)}"
        )
    return found[0]


def _bytes(name: str, limit: int) -> bytes:
    try:
        with click.open_file(name, "rb") as file:
            data: bytes = file.read(limit + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"{name}: cannot be read ({error})") from error
    if len(data) > limit:
        raise InputError(f"{name}: larger than the limit of {limit:,} bytes; split it")
    return data


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: not UTF-8 text at byte {error.start}; convert it to UTF-8"
        ) from error
