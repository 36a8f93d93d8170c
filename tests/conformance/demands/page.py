"""docs/conformance.md: per section how much holds and by what, and every departure with its reason."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from demands.model import Departure, Row, Section, Test

_DOCUMENTS = {
    "card": "project card: nine packages, and what is at the top of the repository",
    "000": "GigaMind Eval Tool: command line, datasets, metrics, reports, snapshots, regressions, link suggestions",
    "001": "separate `baseScore` and `finalScore`",
    "002": "an earlier text of 000; 000 takes precedence",
    "003": "Evidence Aligner V2",
    "004": "Search QA: correctness and utility of answers, task 2-2, next to the quality gate of 2-1",
}
_HEAD = """\
# Departures from the specification

gigamind is built from a project card and five documents. Each option, default, field, formula, worked example, event,
exit code, page element and warning in them is a row in `tests/conformance/demands/`: its line, a short quote, and the
check or test that proves it. `make conformance` generates this page. `make test` fails if a row no longer holds, or if a
named test did not pass in that run. The tables list departures: what the document demands, what gigamind does, and why.
A row may also hold and go further.
"""


def page(sections: Sequence[Section]) -> str:
    """The whole page."""
    return "\n".join((_HEAD, *_overview(sections), *(_section(one) for one in sections)))


def _overview(sections: Sequence[Section]) -> Iterator[str]:
    yield "| | document | demands | as written | with a departure | silent |"
    yield "|---|---|---:|---:|---:|---:|"
    for document, title in _DOCUMENTS.items():
        found = _counts(row for one in sections if one.document == document for row in one.rows)
        named = found["as written"] + found["departs"]
        yield f"| {document} | {title} | {named} | {found['as written']} | {found['departs']} | {found['silent']} |"
    yield "\nSilent: not in the document, but its readers need to know it.\n"


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
        f" proven by {_count(checks, 'check')} and {_count(len(tests), 'test')}."
    )
    lines = [f"## {section.title} ({section.document}: {section.part})", "", said, ""]
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
