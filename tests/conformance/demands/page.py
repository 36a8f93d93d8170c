"""docs/conformance.md: its departures are written there; what holds, and by what, is counted here."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from demands.model import TESTS, Row, Section, Test

PAGE = TESTS.parent / "docs" / "conformance.md"


class Departure(NamedTuple):
    """What a document asks for at some lines, what is here instead or besides, and why; no lines where it is silent."""

    document: str
    part: str
    lines: str
    asked: str
    here: str
    why: str


def departures(page: str) -> list[Departure]:
    """The departures of a page, each below the heading of its section, such as "## Datasets (000: 3, 8, 9)"."""
    found: list[Departure] = []
    for section in page.split("\n## ")[1:]:
        [(document, part)] = re.findall(r"\((\w+): (.+)\)$", section.partition("\n")[0])
        for line in section.splitlines():
            cells = re.split(r"(?<!\\) ?\| ?", line)[1:-1]
            if cells and cells[0] not in {"line", "---"}:
                found.append(Departure(document, part, *cells))
    return found


def counted(page: str, sections: Sequence[Section]) -> str:
    """The page with the counts of these sections."""
    departed = departures(page)
    for one in sections:
        heading = re.escape(f"({one.document}: {one.part})")
        page = re.sub(rf"(?m)^(## .* {heading}\n\n).*", rf"\g<1>{_said(one, departed)}", page)
    for document in {one.document for one in sections}:
        rows = [row for one in sections if one.document == document for row in one.rows]
        named = [one for one in departed if one.document == document]
        departing = departing_rows(rows, named)
        silent = sum(not one.lines for one in named)
        counts = (len(rows), len(rows) - len(departing), len(departing), silent)
        cells = " | ".join(map(str, counts))
        page = re.sub(rf"(?m)^(\| {document} \|.*\|)( \d+ \|){{4}}$", rf"\g<1> {cells} |", page)
    return page


def departing_rows(rows: Iterable[Row], named: Iterable[Departure]) -> list[Row]:
    """The rows that the page names."""
    lines = {one.lines for one in named}
    return [row for row in rows if lines_of(row) in lines]


def _said(section: Section, departed: Iterable[Departure]) -> str:
    named = [
        one for one in departed if (one.document, one.part) == (section.document, section.part)
    ]
    as_written = len(section.rows) - len(departing_rows(section.rows, named))
    kinds = Counter(isinstance(proof, Test) for row in section.rows for proof in row.proofs)
    tests = {proof.id for row in section.rows for proof in row.proofs if isinstance(proof, Test)}
    return (
        f"{_count(len(section.rows), 'demand')}, {as_written} as written;"
        f" proven by {_count(kinds[False], 'check')} and {_count(len(tests), 'test')}."
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def lines_of(row: Row) -> str:
    """Such as "47-49, 52"."""
    runs: list[list[int]] = []
    for line in sorted(row.lines):
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
