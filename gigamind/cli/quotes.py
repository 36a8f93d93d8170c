"""Reads the sources and the JSONL file of quotes that `gigamind align` is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gigamind.cli.files import read_text
from gigamind.errors import InputError
from gigamind.evidence.files import numbered_lines
from gigamind.evidence.result import Quote
from gigamind.evidence.schema import QuoteRow, parsed

_MAX_QUOTES_BYTES = 100_000_000
_UTF8_BYTES = 4  # the most that UTF-8 takes for one character


@dataclass(frozen=True, slots=True)
class NamedSource:
    """One source and the name it was given by."""

    name: str
    text: str


def read_source(name: str, max_chars: int) -> NamedSource:
    """One source.

    Raises:
        InputError: it cannot be read, is not UTF-8, or has more than `max_chars` characters.
    """
    text = read_text(name, _UTF8_BYTES * max_chars)
    if len(text) > max_chars:
        raise InputError(
            f"{name}: {len(text):,} characters are beyond the limit of {max_chars:,}; split the source into notes"
        )
    return NamedSource(name, text)


def read_quotes(name: str, sources: Sequence[NamedSource]) -> list[Quote]:
    """The quotes of a JSONL file; blank lines are skipped.

    Raises:
        InputError: the file cannot be read, has no row, or a row is wrong; with file and line.
    """
    quotes = [
        _quote(line, f"{name}:{number}", sources)
        for number, line in numbered_lines(read_text(name, _MAX_QUOTES_BYTES))
    ]
    if not quotes:
        raise InputError(f'{name}: no quotes; write one object a line, such as {{"quote": "..."}}')
    return quotes


def _quote(line: str, where: str, sources: Sequence[NamedSource]) -> Quote:
    row = parsed(QuoteRow, line, where)
    index = _source_index(row, where, [source.name for source in sources])
    return Quote(row.quote, index, row.entry_id, row.prefix, row.suffix, row.hint)


def _source_index(row: QuoteRow, where: str, names: Sequence[str]) -> int:
    if row.source_index is not None and row.source is not None:
        raise InputError(f"{where}: give source_index or source, not both")
    if row.source_index is not None:
        return row.source_index
    if row.source is not None:
        return _named(row.source, where, names)
    if len(names) > 1:
        raise InputError(
            f"{where}: which source? Add source_index, 0 to {len(names) - 1}, or source"
        )
    return 0


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
