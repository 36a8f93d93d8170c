"""The answers of a run as compact JSON for the list of report.html, with claims, proofs and the baseline's claims.

templates/answer_item.js unpacks the arrays in the order in which this module builds them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gigamind.i18n import Text, Translator, _
from gigamind.metrics.table import label
from gigamind.records.judged import NOT_EVALUATED, EvaluatedClaim, SourceSentence, VerdictReport
from gigamind.release.comparison import Comparison, ItemChange
from gigamind.reports.html import items_script
from gigamind.reports.labels import LABELS
from gigamind.tasks.answers.schema import (
    AnswerItem,
    AnswerItemReport,
    AnswerRunRecord,
    AnswerSnapshot,
    NoteReport,
)

_CONTEXT = 120  # code points of the line that are shown before and after a quote


def list_data(
    record: AnswerRunRecord,
    say: Translator,
    comparison: Comparison | None = None,
    baseline: AnswerSnapshot | None = None,
) -> str:
    """Return the answers as JSON that is safe inside a script element."""
    items, judge = record.items, record.run.judge
    scores = [metric.name for metric in judge.metrics] if judge else []
    tags = sorted({tag for item in items for tag in item.tags})
    changes = {change.id: change for change in comparison.changes} if comparison else {}
    before = {item.id: item for item in baseline.items} if comparison and baseline else {}
    names = scores or ["correctness", "utility"]
    rows = [
        [
            *_item(item, say, [tags.index(tag) for tag in item.tags]),
            _own_verdict(item, scores) if scores else None,
            *_change(changes.get(name := item.question_id), before.get(name), names, say),
        ]
        for item in items
    ]
    return items_script(
        say,
        rows,
        compared=comparison is not None,
        tags=tags,
        labels={name: say(text) for name, text in LABELS.items()},
        way=-1 if judge and judge.metrics and judge.metrics[0].lower_is_better else 1,
        scores=[label(f"answers.{name}", say.language) for name in scores],
    )


def _item(item: AnswerItemReport, say: Translator, tags: list[int]) -> list[object]:
    evaluation = item.evaluation or NOT_EVALUATED
    outcome = item.evaluation.outcome if item.evaluation else item.outcome
    flagged = sorted(item.verdict.flagged if item.verdict else evaluation.flagged)
    contexts = zip(item.contexts or (), item.notes, strict=False)
    return [
        item.id,
        item.question,
        item.language,
        tags,
        evaluation.correctness,
        evaluation.utility,
        evaluation.confidence or "",
        "judged" if item.verdict else outcome,
        _pieces(item),
        [_claim(claim, item, say) for claim in evaluation.claims],
        [
            (use.note_index, use.note_title, use.cited, use.relevant_claim, use.marked)
            for use in evaluation.source_coverage
        ],
        evaluation.grounding_issues,
        evaluation.summary,
        evaluation.utility_reason,
        evaluation.reported_correctness,
        evaluation.abstains,
        [item.notes[number - 1].title if number else "answer" for number in flagged],
        _quality(item),
        item.metrics.get("completeness"),
        [
            [omission.what, omission.doubt or "", *_source(omission.evidence, item)]
            for omission in evaluation.omissions
        ],
        [
            (fact.text, fact.vital, fact.counts, fact.claim)
            for fact in (item.labels.facts if item.labels else ())
        ],
        [(given.note or note.title, given.score, given.known) for given, note in contexts],
        list(item.oddities.items()),
        [say(LABELS[f"notice_{name}"]) for name in evaluation.notices],
    ]


def _pieces(item: AnswerItemReport) -> list[tuple[str, str, int]]:
    """Split the answer into text, the verdict of a claim or role of a sentence ("" between them), and its number."""
    answer, evaluation = item.answer or "", item.evaluation or NOT_EVALUATED
    claims = [(claim, claim.verdict) for claim in evaluation.claims]
    asides = [(aside, aside.role) for aside in evaluation.asides]
    parts: list[tuple[str, str, int]] = []
    at = 0
    for sentence, kind in sorted([*claims, *asides], key=lambda pair: pair[0].start):
        if sentence.start > at:
            parts.append((answer[at : sentence.start], "", 0))
        parts.append((answer[sentence.start : sentence.end], kind, sentence.id))
        at = sentence.end
    return [*parts, (answer[at:], "", 0)] if at < len(answer) else parts


def _claim(claim: EvaluatedClaim, item: AnswerItemReport, say: Translator) -> list[object]:
    evidence: dict[str, Any] = claim.evidence or {}
    labels = item.labels.claims if item.labels else ()
    return [
        claim.id,
        claim.text,
        claim.verdict,
        [say(text) for text in reasons(claim)],
        *_source(evidence, item, claim.source),
        next((label.verdict for label in labels if label.claim == claim.id), ""),
        evidence.get("method") == "fuzzy",
        _support_checks(claim),
        (claim.reported_role, claim.veto) if claim.veto else None,
        claim.untold,
        claim.share,
        claim.refused,
    ]


def _source(
    evidence: Mapping[str, Any], item: AnswerItemReport, source: SourceSentence | None = None
) -> list[object]:
    """Return the note's title with the heading, the quote, and the text around it; None if the note lacks the quote."""
    index = int(evidence.get("source_index", -1))
    note = item.notes[index] if 0 <= index < len(item.notes) else None
    is_aligned = evidence.get("status") == "aligned"
    title = note.title if note else ""
    return [
        f"{title} › {source.heading}" if source and source.heading not in {"", title} else title,
        evidence.get("quote", ""),
        _passage(evidence, note, source) if note and is_aligned else None,
    ]


def _passage(
    evidence: Mapping[str, Any], note: NoteReport, source: SourceSentence | None
) -> tuple[str, str, str]:
    """Return the text before the quote, the quote, and the text after it; if known, only of the compared sentence."""
    start, end = int(evidence["start"]), int(evidence["end"])
    quoted = note.text[start:end]
    if source and quoted in source.text:
        return source.text.partition(quoted)
    opening = note.text[:start].rpartition("\n")[2]
    closing = note.text[end:].partition("\n")[0]
    before = opening if len(opening) <= _CONTEXT else f"…{opening[-_CONTEXT:]}"
    return before, quoted, closing if len(closing) <= _CONTEXT else f"{closing[:_CONTEXT]}…"


def _quality(item: AnswerItemReport) -> list[object] | None:
    """Return whether the answer passes, and each item with the source of its proof: a note's title, or ""."""
    report = item.quality
    if report is None:
        return None
    titles = ["", *(note.title for note in item.notes)]
    rows = [
        (x.text, x.yes, x.reported_yes, x.quote, x.trusted, titles[x.source or 0])
        for x in report.items
    ]
    return [report.passed, rows]


def _own_verdict(item: AnswerItemReport, names: Sequence[str]) -> list[object]:
    """Return a custom judge's scores, its proofs (note title or "" for the answer, quote, whether proven) and text."""
    report = item.verdict or VerdictReport(scores={})
    titles = dict(enumerate(["", *(note.title for note in item.notes)]))
    proofs = [(titles.get(proof.note, ""), proof.quote, proof.proven) for proof in report.proof]
    return [[report.scores.get(name) for name in names], proofs, report.text]


def _change(
    change: ItemChange | None, before: AnswerItem | None, names: Sequence[str], say: Translator
) -> list[object]:
    """Return the change of an item and its description, and the baseline's scores, unsupported claims and omissions."""
    stored = before and [
        [before.metrics.get(name) for name in names],
        before.unsupported,
        before.left_out,
        before.check.passed if before.check else None,
    ]
    return [change.change if change else "", say(change.what) if change else "", stored]


_SOURCE_DOUBTS = (
    "contradiction", "new_name", "new_number", "other_limits", "other_word",
    "other_sentence", "other_question", "not_confirmed", "not_entailed", "not_looked_at",
    "little_in_common",
)  # fmt: skip


def _support_checks(claim: EvaluatedClaim) -> list[tuple[str, bool | None]]:
    """Return the checks of a claim (model's verdict, proof, meaning) in order with their results; None if unknown."""
    checks: list[tuple[str, bool | None]] = []
    if claim.reported_verdict:
        checks.append((f"told_{claim.reported_verdict}", claim.reported_verdict == "supported"))
    elif claim.evidence is None:
        return checks
    if claim.reported_verdict == "not_found":
        return checks
    proven = claim.doubt is None or claim.doubt in _SOURCE_DOUBTS
    checks.append(("proven" if proven else "unproven", proven))
    if not proven or claim.source is None:
        return checks
    if claim.doubt:
        return [*checks, (claim.doubt, None if claim.doubt in _SOURCE_DOUBTS[-2:] else False)]
    if claim.confirmed:
        return [*checks, ("confirmed", True)]
    agrees = "says" if claim.score is None else "entailed"
    return [*checks, ("flagged", None) if claim.contradictions else (agrees, True)]


def reasons(claim: EvaluatedClaim) -> Iterator[Text]:
    """Yield why a claim is not supported, the main reason first; contradictions also of a supported claim."""
    if claim.doubt:
        yield LABELS[claim.doubt]
    elif claim.reported_verdict is None and claim.evidence is None:
        yield _("no sentence of the notes has the words of the claim")
    elif claim.verdict != "supported":
        yield LABELS[claim.verdict]
    for name in claim.contradictions:
        what = LABELS[f"differs_{name}"]
        numbers = claim.new_numbers if name == "number" else ()
        yield _("{reason}: {numbers}", reason=what, numbers=numbers) if numbers else what
