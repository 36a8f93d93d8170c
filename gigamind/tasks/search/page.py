"""The queries of a search run as compact JSON for report.html. 5 000 queries must load in under 2 s.

Tables hold each text, note and tag once; items refer to them by index. templates/report.js unpacks the arrays in the
order in which this module builds them. Offsets are UTF-16 code units of the note's file.
"""

from collections.abc import Sequence

from gigamind.i18n import Message, Translator, _, n_
from gigamind.metrics.spans import Unplaced, holds, matches
from gigamind.records.judged import JudgementReport
from gigamind.records.schema import PassageReport
from gigamind.release.comparison import Comparison
from gigamind.reports.html import items_script
from gigamind.spans import Passage, Span
from gigamind.tasks.search.schema import (
    HitReport,
    ItemReport,
    RunRecord,
    SearchItem,
    SearchSnapshot,
)

# Bits of an item's flags; report.js has the same bits.
_ANSWERABLE, _REFUSED, _CROSS_LINGUAL, _FAILURE, _WORSE, _BETTER, _UNJUDGED = (
    1 << bit for bit in range(7)
)
_CHANGED = _WORSE | _BETTER  # only these also show the baseline's ranking


def items_json(
    record: RunRecord,
    say: Translator,
    comparison: Comparison | None = None,
    baseline: SearchSnapshot | None = None,
) -> str:
    """Return the queries as JSON that is safe inside a script element."""
    tables, items = _Tables(), record.items
    flags = _flags(items, comparison)
    before = {item.id: item for item in baseline.items} if baseline else {}
    rows = [_item(item, flags[item.id], before.get(item.id), tables) for item in items]
    return items_script(
        say,
        rows,
        compared=comparison is not None,
        notes=list(tables.notes),
        titles=[tables.titles.get(note, "") for note in tables.notes],
        texts=list(tables.texts),
        tags=list(tables.tags),
    )


class _Index(dict[str, int]):
    """Maps texts to their index, in order of first use."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


class _Tables:
    def __init__(self) -> None:
        self.notes, self.texts, self.tags = _Index(), _Index(), _Index()
        self.titles: dict[str, str] = {}


def _flags(items: Sequence[ItemReport], comparison: Comparison | None) -> dict[str, int]:
    failed = {item.id for item in failed_items(items)}
    changes = {change.id: change.change for change in comparison.changes} if comparison else {}
    return {
        item.id: (_ANSWERABLE * item.answerable)
        | (_REFUSED * bool(item.judged_unanswerable))
        | (_CROSS_LINGUAL * item.cross_lingual)
        | (_FAILURE * (item.id in failed))
        | (_WORSE * (changes.get(item.id) == "worse"))
        | (_UNJUDGED * (item.judged_unanswerable is None))
        | (_BETTER * (changes.get(item.id) == "improved"))
        for item in items
    }


def _item(item: ItemReport, flags: int, before: SearchItem | None, tables: _Tables) -> list[object]:
    spans = [_passage(span) for span in item.expected_spans]
    return [
        item.id,
        item.query,
        item.language or "",
        [tables.tags[tag] for tag in item.tags],
        flags,
        [tables.notes[note] for note in item.expected_notes],
        [[tables.notes[s.note], s.utf16_start, tables.texts[s.text]] for s in item.expected_spans],
        [_hit(hit, spans, tables) for hit in item.ranking],
        _rank(item.metrics.get("mrr")),
        _rounded(item.top_base_score),
        None if item.latency_ms is None else round(item.latency_ms, 2),
        [
            _rank(before.metrics.get("mrr")),
            int(bool(before.judged_unanswerable)),
            [[tables.notes[hit.note], _rounded(hit.base_score)] for hit in before.ranking]
            if flags & _CHANGED
            else [],
        ]
        if before
        else None,
        _judgement(item.judgement, tables) if item.judgement else None,
    ]


def _judgement(judgement: JudgementReport, tables: _Tables) -> list[object]:
    return [
        judgement.outcome,
        judgement.code,
        judgement.reported_unanswerable,
        judgement.verified,
        judgement.answer,
        judgement.confidence,
        [
            [None if q.note is None else tables.notes[q.note], q.text, q.match, q.trusted]
            for q in judgement.quotes
        ],
        [tables.notes[note] for note in judgement.flagged],
        judgement.conflict,
        list(judgement.unread),
    ]


def _rank(reciprocal: float | None) -> int | None:
    return round(1 / reciprocal) if reciprocal else None


def _rounded(score: float | None) -> float | None:
    """Return a score with the digits that the page needs: browsers read half the text twice as fast."""
    return None if score is None else round(score, 5)


def _hit(hit: HitReport, spans: Sequence[Passage], tables: _Tables) -> list[object]:
    shown = hit.evidence or PassageReport(
        note=hit.note, utf16_start=0, utf16_end=_units(hit.text), text=hit.text
    )
    whole = hit.chunk if hit.chunk and _holds(hit.chunk, shown) else shown
    tables.titles[hit.note] = hit.title
    piece = Unplaced(hit.note, hit.text) if hit.text else _passage(shown)
    return [
        tables.notes[hit.note],
        *map(_rounded, (hit.base_score, hit.final_score, hit.semantic_score, hit.keyword_score)),
        tables.texts[whole.text],
        whole.utf16_start,
        shown.utf16_start,
        shown.utf16_end,
        any(matches(piece, span) for span in spans) + 2 * any(holds(piece, span) for span in spans),
        [at - shown.utf16_start for ends in hit.highlights for at in ends],
    ]


def _holds(chunk: PassageReport, shown: PassageReport) -> bool:
    return (
        _units(chunk.text) == chunk.utf16_end - chunk.utf16_start
        and chunk.utf16_start <= shown.utf16_start
        and shown.utf16_end <= chunk.utf16_end
    )


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _passage(report: PassageReport) -> Passage:
    """Convert for `matches` and `holds`; offsets stay in UTF-16 units, which does not change overlaps."""
    return Passage(report.note, report.text, Span(report.utf16_start, report.utf16_end))


def failed_items(items: Sequence[ItemReport]) -> list[ItemReport]:
    """Return the queries without a relevant note at rank 1, or with a wrong verdict, the worst first.

    Severity is 1 - reciprocal rank if answerable; the Top-1 base score in [0, 1] if unanswerable but judged answerable;
    1 - that score if found but refused.
    """
    tops = [0.0, 1.0, *(score for item in items if (score := item.top_base_score) is not None)]
    low, high = min(tops), max(tops)

    def missed(item: ItemReport) -> float:
        return 1 - (item.metrics.get("mrr") or 0.0)

    def severity(item: ItemReport) -> float:
        top = ((item.top_base_score or 0.0) - low) / (high - low)
        if not item.answerable:
            return top
        return max(missed(item), 1 - top if item.judged_unanswerable else 0.0)

    def is_failed(item: ItemReport) -> bool:
        if not item.answerable:
            return item.judged_unanswerable is False
        return missed(item) > 0 or bool(item.judged_unanswerable)

    return sorted(filter(is_failed, items), key=severity, reverse=True)


def failure_text(item: ItemReport) -> Message:
    """Return what went wrong with a query."""
    if not item.answerable:
        return _("unanswerable, but judged answerable")
    if reciprocal := item.metrics.get("mrr"):
        position = _("expected note found at rank {rank}", rank=round(1 / reciprocal))
    elif not item.ranking:
        position = _("no note found")
    else:
        position = n_(
            "expected note not found; the only result is another note",
            "expected note not among the {n:,} results",
            n=len(item.ranking),
        )
    if item.judged_unanswerable:
        return _("{position}; wrongly judged unanswerable", position=position)
    return position
