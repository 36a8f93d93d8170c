"""The notes of a link run as compact JSON for the list of report.html, their texts split into pieces.

templates/link_item.js unpacks the arrays in the order in which this module builds them.
"""

import itertools
from collections.abc import Sequence
from pathlib import PurePosixPath

from gigamind.i18n import Translator
from gigamind.release.comparison import Comparison
from gigamind.reports.html import items_script
from gigamind.spans import Utf16
from gigamind.tasks.links.compare import LinkItem, LinkSnapshot
from gigamind.tasks.links.schema import (
    ExpectedLinkReport,
    LinkItemReport,
    MissReport,
    RankedReport,
    SuggestionReport,
)

_CONTEXT = 240  # code points shown before and after a link; text farther from any link is omitted
_KINDS = ("linked", "novel", "miss", "hit")  # where links overlap, the later kind is shown

Piece = tuple[str, str, str]
"""Text, kind of link ("" for plain text) and target. Kind "gap" holds the number of omitted code points as text."""


def notes_json(
    items: Sequence[LinkItemReport],
    say: Translator,
    comparison: Comparison | None = None,
    baseline: LinkSnapshot | None = None,
) -> str:
    """Return the notes as JSON that is safe inside a script element."""
    changes = {c.id: c.change for c in comparison.changes} if comparison else {}
    before = {item.id: item for item in baseline.items} if baseline else {}
    rows = [_item(item, changes.get(item.note, ""), before.get(item.note)) for item in items]
    return items_script(say, rows, compared=comparison is not None, tags=())


def kind_of(suggestion: SuggestionReport) -> str:
    """Classify a suggestion: expected ("hit"), new to the note ("novel") or already linked there ("linked")."""
    return "hit" if suggestion.hit else "novel" if suggestion.novel else "linked"


def pieces(item: LinkItemReport) -> list[Piece]:
    """Split the note's text into plain pieces and links. Apart from gaps, the pieces add up to the text."""
    marks = [
        (suggestion.anchor, kind_of(suggestion), suggestion.target)
        for suggestion in item.suggestions
        if suggestion.anchor
    ]
    marks += [(row.passage, "miss", ", ".join(row.targets)) for row in item.missed if row.passage]
    units = Utf16(item.text)
    spans = [
        (units.span_to_code_points(place.utf16_start, place.utf16_end), kind, target)
        for place, kind, target in marks
    ]
    spans.sort(key=lambda mark: _KINDS.index(mark[1]))
    edges = (edge for span, _kind, _target in spans for edge in (span.start, span.end))
    cuts = sorted({0, len(item.text), *edges})
    parts: list[Piece] = []
    for start, end in itertools.pairwise(cuts):
        own = [mark for mark in spans if mark[0].start <= start and end <= mark[0].end]
        if own:
            targets = ", ".join(dict.fromkeys(target for _span, _kind, target in own))
            parts.append((item.text[start:end], own[-1][1], targets))
        else:
            parts += _plain(item.text[start:end], first=not start, last=end == len(item.text))
    return parts


def _plain(text: str, *, first: bool, last: bool) -> list[Piece]:
    """Return text without links; the middle of a long text becomes a gap."""
    head, tail = (0 if first else _CONTEXT), (0 if last else _CONTEXT)
    if len(text) <= head + tail + _CONTEXT:
        return [(text, "", "")]
    cut = len(text) - tail
    shown = [(text[:head], "", ""), (str(cut - head), "gap", ""), (text[cut:], "", "")]
    return [piece for piece in shown if piece[0]]


def _item(item: LinkItemReport, change: str, before: LinkItem | None) -> list[object]:
    wanted = {row.targets for row in item.expected if row.wanted}
    missed = {row.targets for row in item.missed}
    return [
        item.note,
        PurePosixPath(item.note).stem,
        item.language,
        change,
        pieces(item),
        [_missed(row, miss) for row, miss in item.explained],
        [
            (
                suggestion.anchor.text if suggestion.anchor else "–",
                suggestion.target,
                suggestion.confidence,
                kind_of(suggestion),
                int(suggestion.hit and suggestion.span_exact is False),
                suggestion.reason,
            )
            for suggestion in item.suggestions
        ],
        len(wanted),
        len(wanted - missed),
        sum(suggestion.hit for suggestion in item.suggestions),
        _before(before) if before else None,
    ]


def _missed(row: ExpectedLinkReport, miss: MissReport) -> tuple[object, ...]:
    ranked = _ranked(miss.own), _ranked(miss.instead)
    return (row.anchor, ", ".join(row.targets), miss.cause, *ranked)


def _ranked(ranked: RankedReport | None) -> tuple[object, ...] | None:
    if ranked is None:
        return None
    features = (
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in ranked.features.items()
    )
    return (
        ranked.place,
        ranked.anchor,
        ranked.target,
        ranked.confidence,
        ranked.reason,
        " · ".join(features),
    )


def _before(item: LinkItem) -> tuple[str, str]:
    recalled = {suggestion.target for suggestion in item.suggestions if suggestion.hit} & set(
        item.expected
    )
    right = sum(suggestion.hit for suggestion in item.suggestions)
    return f"{len(recalled)} / {len(item.expected)}", f"{right} / {len(item.suggestions)}"
