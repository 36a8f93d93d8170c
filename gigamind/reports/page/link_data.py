"""The notes of a link run as compact JSON for report.html: their text in pieces, those that are links marked.

templates/link_item.js unpacks the arrays in the order in which they are built here.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from gigamind.reports.link_schema import LinkItemReport, SuggestionReport
from gigamind.reports.page.layout import in_script
from gigamind.reports.release.compare import Comparison
from gigamind.reports.release.links import LinkItem, LinkSnapshot
from gigamind.reports.schema import PassageReport
from gigamind.spans import Span, Utf16

_CONTEXT = 240  # code points shown on either side of a link; what lies farther from all of them is left out
_KINDS = ("linked", "novel", "miss", "hit")  # a later one hides an earlier one in the same place

Piece = tuple[str, str, str]
"""Text, kind of link ("" where it is none), and where it leads; kind "gap" stands for so many code points."""


def notes_json(
    items: Sequence[LinkItemReport],
    words: Mapping[str, str],
    comparison: Comparison | None = None,
    baseline: LinkSnapshot | None = None,
) -> str:
    """JSON that can stand in a script element, whatever the texts hold."""
    changes = {one.id: one.change for one in comparison.changes} if comparison else {}
    before = {item.id: item for item in baseline.items} if baseline else {}
    content = {
        "words": words,
        "tags": (),
        "compared": comparison is not None,
        "items": [_item(item, changes.get(item.note, ""), before.get(item.note)) for item in items],
    }
    return in_script(content)


def kind_of(one: SuggestionReport) -> str:
    """What became of a suggestion: expected, new to the note, or linked there already."""
    return "hit" if one.hit else "novel" if one.novel else "linked"


def pieces(item: LinkItemReport) -> list[Piece]:
    """The note's text with its links marked; together the pieces are the text, gaps apart."""
    marks = [(one.anchor, kind_of(one), one.target) for one in item.suggestions]
    marks += [(row.passage, "miss", ", ".join(row.targets)) for row in item.missed if row.passage]
    units = Utf16(item.text)
    spans = [(_span(units, passage), kind, target) for passage, kind, target in marks]
    spans.sort(key=lambda mark: _KINDS.index(mark[1]))
    cuts = sorted(
        {0, len(item.text), *(edge for span, _, _ in spans for edge in (span.start, span.end))}
    )
    found: list[Piece] = []
    for start, end in itertools.pairwise(cuts):
        own = [mark for mark in spans if mark[0].start <= start and end <= mark[0].end]
        if own:
            targets = ", ".join(dict.fromkeys(target for _, _, target in own))
            found.append((item.text[start:end], own[-1][1], targets))
        else:
            found += _plain(item.text[start:end], first=not start, last=end == len(item.text))
    return found


def _plain(text: str, *, first: bool, last: bool) -> list[Piece]:
    """Text without a link, its middle left out when it is long."""
    head, tail = (0 if first else _CONTEXT), (0 if last else _CONTEXT)
    if len(text) <= head + tail + _CONTEXT:
        return [(text, "", "")]
    cut = len(text) - tail
    shown = [(text[:head], "", ""), (str(cut - head), "gap", ""), (text[cut:], "", "")]
    return [piece for piece in shown if piece[0]]


def _span(units: Utf16, passage: PassageReport) -> Span:
    return units.span_to_code_points(passage.utf16_start, passage.utf16_end)


def _item(item: LinkItemReport, change: str, before: LinkItem | None) -> list[object]:
    wanted = {row.targets for row in item.expected if row.wanted}
    missed = {row.targets for row in item.missed}
    return [
        item.note,
        PurePosixPath(item.note).stem,
        item.language,
        change,
        pieces(item),
        [(row.anchor, ", ".join(row.targets)) for row in item.missed],
        [
            (
                one.anchor.text,
                one.target,
                one.confidence,
                kind_of(one),
                int(one.hit and one.span_exact is False),
                one.reason,
            )
            for one in item.suggestions
        ],
        len(wanted),
        len(wanted - missed),
        sum(one.hit for one in item.suggestions),
        _before(before) if before else None,
    ]


def _before(item: LinkItem) -> tuple[str, str]:
    """What was found and what was right then, as fractions."""
    found = {one.target for one in item.suggestions if one.hit} & set(item.expected)
    right = sum(one.hit for one in item.suggestions)
    return f"{len(found)} / {len(item.expected)}", f"{right} / {len(item.suggestions)}"
