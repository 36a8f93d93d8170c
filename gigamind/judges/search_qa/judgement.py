"""Scores a judged answer by the product's rules (spec 004); no model applies them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from gigamind.evidence.result import Aligned, Alignment, is_same_place
from gigamind.i18n import Message, _, translator
from gigamind.judges.protocol import Proof, Verdict
from gigamind.judges.search_qa.passage import LEAST_ANSWERED, Asked
from gigamind.judges.search_qa.reply import ClaimFinding, SearchQAReply
from gigamind.judges.search_qa.roles import OF_ITSELF, Roles, is_abstention
from gigamind.judges.search_qa.segments import Piece, claims_of
from gigamind.judges.search_qa.verify import JudgedClaim, Verifier
from gigamind.judges.search_qa.words import is_of_another_language, stems
from gigamind.metrics.grounding import share_given
from gigamind.prompting.replies import Confidence
from gigamind.records.judged import (
    NOT_EVALUATED,
    AnswerOutcome,
    EvaluatedAside,
    EvaluatedClaim,
    SearchQAEvaluation,
    SourceSentence,
)
from gigamind.spans import Utf16

_Notice = Literal["other_language", "other_question", "question_not_compared", "no_question"]
"""Why an evaluation is less reliable.

- other_language: the answer or a note is neither Korean nor English, so the word lists for roles do not apply.
- other_question: the proven claims and their sentences have few words of the question.
- question_not_compared: no note has a word of the question, such as for a question in another language.
- no_question: there is no question, so code cannot tell whether the answer answers it.
"""


def correctness(claims: Sequence[EvaluatedClaim]) -> float | None:
    """Return verified supported claims / all claims, in [0, 1]; None without claims."""
    if not claims:
        return None
    return sum(claim.verdict == "supported" for claim in claims) / len(claims)


def _outcome(sentences: Sequence[JudgedClaim]) -> AnswerOutcome:
    """Return the kind of an answer: with claims it is judged by them, even if it also abstains."""
    if any(sentence.role == "claim" for sentence in sentences):
        return "judged"
    return "abstained" if any(sentence.untold for sentence in sentences) else "no_claims"


_UNPROVEN_UTILITY = 0.4
"""The most useful that an answer without a proven answer to its question is: below every threshold for a useful one."""
_HIGH, _MEDIUM = (0.8, 0.7), 0.5  # correctness and utility of a grade; FROM in evaluation.js


def _utility(
    kind: AnswerOutcome, reported: float, *, answerable: bool, correct: float | None, answers: bool
) -> float:
    """Return how useful an answer is, in [0, 1]; `answerable` as the model reports it, even without proof.

    An abstention is useful if the notes do not answer. An answer without content is useless. One without a proven claim
    (`correct`), or whose proven claims do not answer the question (`answers`), is at most `_UNPROVEN_UTILITY`.
    """
    if kind == "judged":
        return reported if correct and answers else min(reported, _UNPROVEN_UTILITY)
    return float(kind == "abstained" and not answerable)


def _is_another_question(answered: float | None) -> bool:
    """Return whether the proven claims have too few words of the question to answer it; not if that is unknown."""
    return answered is not None and answered < LEAST_ANSWERED


def _confidence(correct: float | None, useful: float, answered: float | None) -> Confidence | None:
    """Return the grade (spec 004); None without claims; at most "medium" for another question's answer."""
    if correct is None:
        return None
    if not _is_another_question(answered) and correct >= _HIGH[0] and useful >= _HIGH[1]:
        return "high"
    return "medium" if correct >= _MEDIUM else "low"


def _scored(evaluation: SearchQAEvaluation, *, complete: bool) -> SearchQAEvaluation:
    """Return an evaluation with its scores, by what the model and the code found; `complete` with its completeness."""
    claims, answerable = evaluation.claims, bool(evaluation.reported_answerable)
    correct, reported = correctness(claims), evaluation.reported_utility or 0.0
    useful = _utility(
        evaluation.outcome,
        reported,
        answerable=answerable,
        correct=correct,
        answers=evaluation.answers,
    )
    given = sum(claim.verdict == "supported" for claim in claims)
    omitted = sum(omission.doubt is None for omission in evaluation.omissions)
    whole = share_given(given, omitted, answerable=answerable) if complete else None
    grade = _confidence(correct, useful, evaluation.answers_question)
    scores = {
        "correctness": correct,
        "completeness": whole,
        "utility": useful,
        "confidence": grade,
    }
    return evaluation.model_copy(update=scores)


def evaluation_of(
    pieces: Sequence[Piece], verifier: Verifier, reply: SearchQAReply, judged: Sequence[JudgedClaim]
) -> SearchQAEvaluation:
    """Return the evaluation for a reply and `judged`, the verdicts on its claims."""
    case, say = verifier.case, translator(verifier.case.language)
    (quoted,) = verifier.align([(reply.answer_note, reply.answer_quote)])
    place, doubt = verifier.proof(quoted)
    is_proven = reply.answerable and doubt is None
    roles = Roles(case.question, case.notes, claims_of(pieces))
    sentences = _with_roles(judged, reply.claims, roles, place if is_proven else None)
    claims = [sentence for sentence in sentences if sentence.role == "claim"]
    answered = _answers_question(claims, verifier.asked)
    answers = not _is_another_question(answered) or (
        is_proven
        and any(
            claim.verdict == "supported" and is_same_place(claim.evidence, place)
            for claim in claims
        )
    )
    omissions, units = verifier.omissions(reply.omissions), Utf16(case.answer)
    asides = (sentence for sentence in sentences if sentence.role != "claim")
    found = SearchQAEvaluation(
        correctness=None,
        utility=None,
        confidence=None,
        source_coverage=verifier.coverage(pieces, claims, reply.source_coverage),
        grounding_issues=tuple(say(_issue(x)) for x in claims if x.verdict != "supported"),
        summary=reply.summary or ("" if sentences else say(_EMPTY)),
        outcome=_outcome(sentences),
        claims=tuple(_claim(claim, units, verifier) for claim in claims),
        asides=tuple(EvaluatedAside.like(aside, **_place(aside, units)) for aside in asides),
        omissions=omissions,
        abstains=any(sentence.untold for sentence in sentences),
        answerable=is_proven,
        reported_answerable=reply.answerable,
        reported_correctness=reply.correctness,
        reported_utility=reply.utility,
        utility_reason=reply.utility_reason,
        reported_issues=reply.grounding_issues,
        flagged=dict(case.flagged),
        answers_question=answered,
        answers=answers,
        notices=_notices(verifier, claims, answered),
    )
    return _scored(found, complete=bool(omissions) or "omissions" not in reply.unread_fields)


def without_second_look(evaluation: SearchQAEvaluation, language: str) -> SearchQAEvaluation:
    """Return an evaluation whose second check confirms nothing.

    A note that only confirmed claims used is no longer cited.
    """
    say = translator(language)
    unconfirmed = {"verdict": "unverified", "note": None, "doubt": "not_looked_at"}
    uncited = {"cited": False, "relevant_claim": ""}
    confirmed = [
        claim for claim in evaluation.claims if claim.confirmed and claim.verdict == "supported"
    ]
    if not confirmed:
        return evaluation
    claims = tuple(
        claim.model_copy(update=unconfirmed) if claim in confirmed else claim
        for claim in evaluation.claims
    )
    used = {claim.note for claim in claims if claim.verdict == "supported"}
    unused = {claim.note for claim in confirmed} - used
    changes = {
        "claims": claims,
        "source_coverage": tuple(
            row.model_copy(update=uncited) if row.note_index in unused else row
            for row in evaluation.source_coverage
        ),
        "grounding_issues": (
            *evaluation.grounding_issues,
            *(say(_unproven(claim.text)) for claim in confirmed),
        ),
    }
    changed = evaluation.model_copy(update=changes)
    return _scored(changed, complete=evaluation.completeness is not None)


_EMPTY = _("The answer is empty.")


def _issue(judged: JudgedClaim) -> Message:
    claim = judged.claim.text
    if judged.verdict == "contradicted":
        return _("“{claim}” — the notes contradict this claim.", claim=claim)
    if judged.verdict != "not_found":
        return _unproven(claim)
    if judged.reported_verdict is not None:
        return _("“{claim}” — not in the notes.", claim=claim)
    if judged.doubt in {None, "little_in_common"}:
        return _("“{claim}” — no sentence in the notes has the words of this claim.", claim=claim)
    return _(
        "“{claim}” — even the most similar sentence in the notes does not match this claim.",
        claim=claim,
    )


def _unproven(claim: str) -> Message:
    return _("“{claim}” — the quote given as evidence does not support this claim.", claim=claim)


def _claim(judged: JudgedClaim, units: Utf16, verifier: Verifier) -> EvaluatedClaim:
    return EvaluatedClaim.like(
        judged,
        **_place(judged, units),
        cited=judged.claim.cited,
        evidence=judged.evidence and verifier.record(judged.evidence),
        source=judged.passage and SourceSentence.like(judged.passage),
        share=judged.support and judged.support.share,
        refused=judged.support and judged.support.is_refused,
    )


def _place(judged: JudgedClaim, units: Utf16) -> dict[str, Any]:
    """Return the fields that all sentences share."""
    piece = judged.claim
    start, end = units.span_from_code_points(piece.span)
    place = {"start": piece.span.start, "end": piece.span.end}
    return {"id": piece.id, "text": piece.text, **place, "utf16_start": start, "utf16_end": end}


def _with_roles(
    judged: Sequence[JudgedClaim],
    findings: Sequence[ClaimFinding],
    roles: Roles,
    answer: Alignment | None,
) -> tuple[JudgedClaim, ...]:
    """Return the sentences with the roles that they count as; `answer` is the proven place of the answering words."""
    pairs = zip(judged, findings, strict=True)
    sentences = [_in_role(sentence, finding, roles) for sentence, finding in pairs]
    return tuple(
        replace(sentence, role="claim", veto="answered", untold=False)
        if sentence.role == "abstention" and _is_answered(sentence, sentences, answer)
        else sentence
        for sentence in sentences
    )


def _in_role(sentence: JudgedClaim, finding: ClaimFinding, roles: Roles) -> JudgedClaim:
    role, text = finding.role, sentence.claim.text
    if role == "claim":
        return replace(sentence, untold=is_abstention(finding.abstention_quote, text))
    proven = sentence.verdict == "supported"  # it makes a statement, because a note does
    veto = "proven" if proven else roles.veto(sentence.claim, role)
    if veto is not None:
        return replace(sentence, reported_role=role, veto=veto)
    return JudgedClaim(sentence.claim, role=role, reported_role=role, untold=role == "abstention")


def _is_answered(
    abstention: JudgedClaim, judged: Sequence[JudgedClaim], answer: Alignment | None
) -> bool:
    """Return whether a claim next to an abstention uses the very words that answer the question, and has its topic."""
    if not isinstance(answer, Aligned):
        return False
    topic = stems(abstention.claim.text) - OF_ITSELF
    return any(
        claim.verdict == "supported"
        and isinstance(place := claim.evidence, Aligned)
        and is_same_place(place, answer)
        and topic <= stems(f"{claim.claim.text} {place.quote.text}")
        for claim in judged
    )


def _answers_question(claims: Sequence[JudgedClaim], question: Asked) -> float | None:
    """Return how many of the question's words the supported claims and their sentences have, in [0, 1]."""
    shares = (
        question.answered(
            f"{claim.stated}\n{claim.passage.heading}\n{claim.passage.text}\n{claim.title}"
        )
        for claim in claims
        if claim.verdict == "supported" and claim.passage
    )
    return max((share for share in shares if share is not None), default=None)


def _notices(
    verifier: Verifier, claims: Sequence[JudgedClaim], answered: float | None
) -> tuple[_Notice, ...]:
    case, asks = verifier.case, bool(verifier.case.question.strip())
    proven = any(claim.verdict == "supported" for claim in claims)
    found: dict[_Notice, bool] = {
        "other_language": any(map(is_of_another_language, [*case.texts, case.question])),
        "other_question": _is_another_question(answered),
        "no_question": bool(claims) and not asks,
        "question_not_compared": proven and asks and not verifier.asked.most,
    }
    return tuple(name for name, holds in found.items() if holds)


def silent(verifier: Verifier) -> SearchQAEvaluation:
    """Return the evaluation of a blank answer: useless, without a request."""
    changes = {
        "utility": 0.0,
        "source_coverage": verifier.coverage((), (), ()),
        "summary": translator(verifier.case.language)(_EMPTY),
        "flagged": dict(verifier.case.flagged),
    }
    return NOT_EVALUATED.model_copy(update=changes)


def verdict_of(evaluation: SearchQAEvaluation) -> Verdict[SearchQAEvaluation]:
    """Return the verdict in the form that all judges share."""
    claims, scores = evaluation.claims, ("correctness", "completeness", "utility")
    believed = [x.reported_verdict == "supported" for x in claims if x.reported_verdict]
    texts = evaluation.summary, evaluation.utility_reason, *evaluation.reported_issues
    return Verdict(
        {name: getattr(evaluation, name) for name in scores},
        evaluation,
        told={
            "correctness": sum(believed) / len(believed) if believed else None,
            "utility": evaluation.reported_utility,
        },
        proof=tuple(_proof(x.evidence, proven=x.note is not None) for x in claims if x.evidence),
        text="\n".join(texts),
        flags=evaluation.flagged,
    )


def _proof(evidence: dict[str, Any], *, proven: bool) -> Proof:
    quote = evidence["selector"]["exact"] if proven else evidence["quote"]
    return Proof(evidence["source_index"] + 1, quote, proven)
