"""docs/conformance.md: per section how much holds and by what, and every departure with its reason."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from demands.model import Departure, Row, Section, Test

_DOCUMENTS = {
    "000": "GigaMind Eval Tool: command line, datasets, metrics, reports, snapshots, regressions, link suggestions",
    "001": "`baseScore` and `finalScore` apart",
    "002": "an earlier text of 000; where the two differ, 000 holds",
    "003": "Evidence Aligner V2",
    "004": "Search QA: correctness and utility of answers, task 2-2 beside the quality gate of 2-1",
}
_HEAD = """\
# Where gigamind departs from the documents it was built from

Each option, default, field, formula, worked example, event, exit code, part of the page and caution of the five
documents is a row of `tests/conformance/demands/`: its line, a short quote, and what shows that it holds, which is a check
that runs there or a test elsewhere. This page is made from these rows by `make conformance`, and `make test` fails where
one does not hold any more. Listed are the departures: what is asked for, what is here, and why. A demand may hold and be
listed all the same, where what is here goes further.
"""


def page(sections: Sequence[Section]) -> str:
    """The whole page."""
    return "\n".join((_HEAD, *_overview(sections), *(_section(one) for one in sections)))


def _overview(sections: Sequence[Section]) -> Iterator[str]:
    yield "| | document | demands | as written | with a departure | silent |"
    yield "|---|---|---:|---:|---:|---:|"
    for seed, title in _DOCUMENTS.items():
        found = _counts(row for one in sections if one.seed == seed for row in one.rows)
        named = found["as written"] + found["departs"]
        yield f"| {seed} | {title} | {named} | {found['as written']} | {found['departs']} | {found['silent']} |"
    yield "\nSilent: the document says nothing of it, and a reader of the document must know it.\n"


def _counts(rows: Iterable[Row]) -> Counter[str]:
    def kind(row: Row) -> str:
        if not row.lines:
            return "silent"
        return "departs" if row.departures else "as written"

    return Counter(kind(row) for row in rows)


def _section(section: Section) -> str:
    found = _counts(section.rows)
    tests = {proof.id for row in section.rows for proof in row.proofs if isinstance(proof, Test)}
    checks = sum(
        not isinstance(proof, Test | Departure) for row in section.rows for proof in row.proofs
    )
    said = (
        f"{_count(found['as written'] + found['departs'], 'demand')}, {found['as written']} as written;"
        f" shown by {_count(checks, 'check')} and {_count(len(tests), 'test')}."
    )
    lines = [f"## {section.title} ({section.seed}: {section.part})", "", said, ""]
    departures = [(row, one) for row in section.rows for one in row.departures]
    if departures:
        lines += ["| line | document | here | reason |", "|---|---|---|---|"]
    for row, one in departures:
        cells = (_lines(row), one.asked, one.here, one.why)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join((*lines, "") if departures else lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _lines(row: Row) -> str:
    """Such as "47-49, 52"."""
    runs: list[list[int]] = []
    for line in sorted(row.lines):
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
