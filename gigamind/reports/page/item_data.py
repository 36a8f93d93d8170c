"""The queries of a run as compact JSON for report.html: 5 000 of them must load in under 2 s.

A passage is the same for many queries, so texts, notes and tags stand once, in tables, and items name them by index;
evidence is a range of its chunk.  templates/report.js unpacks the arrays in the order in which they are built here.
Offsets are UTF-16 code units of the note's file, as JavaScript counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gigamind.metrics.spans import matches
from gigamind.reports.failures import failed_items
from gigamind.reports.judged import JudgementReport
from gigamind.reports.page.layout import in_script
from gigamind.reports.page.votes import seat_names, seat_of
from gigamind.reports.release.compare import Comparison
from gigamind.reports.release.search import SearchItem, SearchSnapshot
from gigamind.reports.schema import HitReport, ItemReport, PassageReport
from gigamind.spans import Passage, Span

# Bits of an item's flags; report.js has the same.
_ANSWERABLE, _REFUSED, _CROSS_LINGUAL, _FAILURE, _WORSE, _BETTER, _UNJUDGED = (
    1 << bit for bit in range(7)
)


def items_json(
    items: Sequence[ItemReport],
    words: Mapping[str, str],
    comparison: Comparison | None = None,
    baseline: SearchSnapshot | None = None,
) -> str:
    """JSON that can stand in a script element, whatever the texts hold."""
    tables = _Tables()
    flags = _flags(items, comparison)
    before = {item.id: item for item in baseline.items} if baseline else {}
    rows = [_item(item, flags[item.id], before.get(item.id), tables) for item in items]
    content = {
        "words": words,
        "notes": list(tables.notes),
        "texts": list(tables.texts),
        "tags": list(tables.tags),
        "compared": comparison is not None,
        "items": rows,
    }
    return in_script(content)


@dataclass(frozen=True, slots=True)
class _Tables:
    """Texts by the index they were first seen at."""

    notes: dict[str, int] = field(default_factory=dict[str, int])
    texts: dict[str, int] = field(default_factory=dict[str, int])
    tags: dict[str, int] = field(default_factory=dict[str, int])

    def note(self, path: str) -> int:
        return self.notes.setdefault(path, len(self.notes))

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def tag(self, tag: str) -> int:
        return self.tags.setdefault(tag, len(self.tags))


def _flags(items: Sequence[ItemReport], comparison: Comparison | None) -> dict[str, int]:
    failed = {item.id for item in failed_items(items)}
    moved = {change.id: change.change for change in comparison.changes} if comparison else {}
    return {
        item.id: (_ANSWERABLE * item.answerable)
        | (_REFUSED * bool(item.judged_unanswerable))
        | (_CROSS_LINGUAL * item.cross_lingual)
        | (_FAILURE * (item.id in failed))
        | (_WORSE * (moved.get(item.id) == "worse"))
        | (_UNJUDGED * (item.judged_unanswerable is None))
        | (_BETTER * (moved.get(item.id) == "improved"))
        for item in items
    }


def _item(item: ItemReport, flags: int, before: SearchItem | None, tables: _Tables) -> list[object]:
    spans = [_passage(span) for span in item.expected_spans]
    return [
        item.id,
        item.query,
        item.language or "",
        [tables.tag(tag) for tag in item.tags],
        flags,
        [tables.note(note) for note in item.expected_notes],
        [[tables.note(s.note), s.utf16_start, tables.text(s.text)] for s in item.expected_spans],
        [_hit(hit, spans, tables) for hit in item.ranking],
        _rank(item.metrics.get("mrr")),
        item.top_base_score,
        round(item.latency_ms, 2),
        [_rank(before.metrics.get("mrr")), int(bool(before.judged_unanswerable))]
        if before
        else None,
        _judgement(item.judgement, tables) if item.judgement else None,
    ]


def _judgement(told: JudgementReport, tables: _Tables) -> list[object]:
    """What a model said, and where its quotes stand."""
    return [
        told.outcome,
        told.code,
        told.told_unanswerable,
        told.verified,
        told.answer,
        told.confidence,
        [
            [None if q.note is None else tables.note(q.note), q.text, q.found, q.trusted]
            for q in told.quotes
        ],
        [tables.note(note) for note in told.flagged],
        _votes(told),
    ]


def _votes(told: JudgementReport) -> list[list[object]]:
    """Seat, vote, whether an answer that it told is unproven, and why there is no vote."""
    names = seat_names(told.votes)
    return [
        [
            names[seat_of(vote)],
            vote.unanswerable,
            vote.told_unanswerable is False and not vote.verified,
            vote.code,
        ]
        for vote in told.votes
    ]


def _rank(reciprocal: float | None) -> int | None:
    """Rank of the first expected note, from 1; None when none was found."""
    return round(1 / reciprocal) if reciprocal else None


def _hit(hit: HitReport, spans: Sequence[Passage], tables: _Tables) -> list[object]:
    shown = hit.evidence
    whole = hit.chunk if _holds(hit.chunk, shown) else shown
    return [
        tables.note(hit.note),
        hit.base_score,
        hit.final_score,
        hit.semantic_score,
        hit.keyword_score,
        tables.text(whole.text),
        whole.utf16_start,
        shown.utf16_start,
        shown.utf16_end,
        int(any(matches(_passage(shown), span) for span in spans)),
    ]


def _holds(chunk: PassageReport, shown: PassageReport) -> bool:
    """Whether the evidence can be cut out of the chunk's text by its offsets."""
    units = len(chunk.text.encode("utf-16-le", "surrogatepass")) // 2
    return (
        units == chunk.utf16_end - chunk.utf16_start
        and chunk.utf16_start <= shown.utf16_start
        and shown.utf16_end <= chunk.utf16_end
    )


def _passage(report: PassageReport) -> Passage:
    """For `matches` alone: offsets stay in UTF-16 units, which do not change what overlaps."""
    return Passage(report.note, report.text, Span(report.utf16_start, report.utf16_end))
