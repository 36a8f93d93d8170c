"""The answers of a run as compact JSON for report.html: claims marked by verdict, quotes in their passages.

templates/answer_item.js unpacks the arrays in the order in which they are built here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gigamind.reports.answer_schema import AnswerItemReport, NoteReport
from gigamind.reports.page.layout import in_script
from gigamind.reports.page.votes import Seat, answer_votes, seat_names
from gigamind.reports.release.compare import Comparison
from gigamind.reports.search_qa import EvaluatedClaim, SearchQAEvaluation

_CONTEXT = 120  # code points of the note shown on either side of a quote


def answers_json(
    items: Sequence[AnswerItemReport],
    words: Mapping[str, str],
    comparison: Comparison | None = None,
) -> str:
    """JSON that can stand in a script element, whatever the texts hold."""
    changes = {one.id: one.change for one in comparison.changes} if comparison else {}
    tags = sorted({tag for item in items for tag in item.tags})
    seats = seat_names(vote for item in items for vote in item.votes)
    places = {seat: place for place, seat in enumerate(seats)}
    content = {
        "words": words,
        "tags": tags,
        "seats": list(seats.values()),
        "compared": comparison is not None,
        "items": [
            _item(item, changes.get(item.id, ""), [tags.index(t) for t in item.tags], places)
            for item in items
        ],
    }
    return in_script(content)


def pieces(item: AnswerItemReport) -> list[tuple[str, str, int]]:
    """The answer in pieces: text, verdict of the claim ("" where it is none), and the claim's number."""
    answer = item.answer or ""
    found: list[tuple[str, str, int]] = []
    at = 0
    for claim in item.evaluation.claims if item.evaluation else ():
        if claim.start > at:
            found.append((answer[at : claim.start], "", 0))
        found.append((answer[claim.start : claim.end], claim.verdict, claim.id))
        at = claim.end
    return [*found, (answer[at:], "", 0)] if at < len(answer) else found


def _item(
    item: AnswerItemReport, change: str, tags: list[int], places: Mapping[Seat, int]
) -> list[object]:
    told = item.evaluation
    return [
        item.id,
        item.question,
        item.language,
        tags,
        change,
        told.correctness if told else None,
        told.utility if told else None,
        (told.confidence or "") if told else "",
        _outcome(item, told),
        pieces(item),
        [_claim(claim, item) for claim in told.claims] if told else [],
        [
            (one.note_index, one.note_title, one.cited, one.relevant_claim, one.marked)
            for one in told.source_coverage
        ]
        if told
        else [],
        told.grounding_issues if told else (),
        told.summary if told else "",
        told.utility_reason if told else "",
        told.reported_correctness if told else None,
        bool(told and told.abstains),
        _flagged(told, item.notes) if told else [],
        _quality(item),
        answer_votes(item, places),
    ]


def _outcome(item: AnswerItemReport, told: SearchQAEvaluation | None) -> str:
    if told:
        return told.outcome
    return "without_context" if item.outcome == "scored" else item.outcome


def _claim(claim: EvaluatedClaim, item: AnswerItemReport) -> list[object]:
    evidence: dict[str, Any] = claim.evidence or {}
    index = int(evidence.get("source_index", -1))
    note = item.notes[index] if 0 <= index < len(item.notes) else None
    labels = item.labels.claims if item.labels else ()
    return [
        claim.id,
        claim.text,
        claim.verdict,
        claim.doubt or "",
        note.title if note else "",
        evidence.get("quote", ""),
        _passage(evidence, note) if note and evidence.get("status") == "aligned" else None,
        claim.cited,
        next((label.verdict for label in labels if label.claim == claim.id), ""),
        evidence.get("method") == "fuzzy",
        _cautions(claim),
    ]


def _cautions(claim: EvaluatedClaim) -> list[tuple[str, str]]:
    """What a person should look at in a supported claim: its name, and the numbers that are meant."""
    if claim.verdict != "supported":
        return []
    numbers = [("numbers", ", ".join(claim.new_numbers))] if claim.new_numbers else []
    return [*numbers, *((name, "") for name in claim.cautions)]


def _quality(item: AnswerItemReport) -> list[object] | None:
    """Whether it passes, and each item with the place of its proof: a note's title, or "" for the answer."""
    found = item.quality
    if found is None:
        return None
    titles = ["", *(note.title for note in item.notes)]
    return [
        found.passed,
        [
            (
                one.text,
                one.yes,
                one.told,
                one.quote,
                one.trusted,
                titles[one.source] if one.source is not None else "",
            )
            for one in found.items
        ],
    ]


def _passage(evidence: Mapping[str, Any], note: NoteReport) -> tuple[str, str, str]:
    """What stands before the quoted words, the words, and what stands behind them."""
    start, end = int(evidence["start"]), int(evidence["end"])
    first, last = max(0, start - _CONTEXT), min(len(note.text), end + _CONTEXT)
    before = ("…" if first else "") + note.text[first:start]
    return (
        before,
        note.text[start:end],
        note.text[end:last] + ("…" if last < len(note.text) else ""),
    )


def _flagged(told: SearchQAEvaluation, notes: Sequence[NoteReport]) -> list[str]:
    """Where a person should look: the answer, or titles of notes."""
    return [notes[number - 1].title if number else "answer" for number in sorted(told.flagged)]
