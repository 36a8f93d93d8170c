"""Scores a judged answer by the product's rules (seed 004); no model applies them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gigamind.evidence.result import Aligned, Alignment, is_same_place
from gigamind.judges.protocol import AnswerCase, Proof, Verdict
from gigamind.judges.search_qa.passage import LEAST_ANSWERED, Asked
from gigamind.judges.search_qa.reply import ClaimFinding, SearchQAReply
from gigamind.judges.search_qa.roles import Roles, is_abstention
from gigamind.judges.search_qa.second_look import Trial
from gigamind.judges.search_qa.segments import Piece, claims_of
from gigamind.judges.search_qa.verify import (
    Coverage,
    JudgedClaim,
    JudgedOmission,
    Verifier,
    coverage,
    judged_omissions,
)
from gigamind.judges.search_qa.words import OF_ITSELF, is_of_another_language, stems
from gigamind.metrics.grounding import share_given
from gigamind.prompting.fences import Flag
from gigamind.prompting.replies import Confidence
from gigamind.records.judged import AnswerOutcome

Notice = Literal["other_language", "other_question", "question_not_compared", "no_question"]
"""Why a judgement is less reliable.

- other_language: the answer or a note is neither Korean nor English, so the word lists for roles do not apply.
- other_question: the proven claims and their sentences have few words of the question.
- question_not_compared: no note has a word of the question, such as for a question in another language.
- no_question: there is no question, so code cannot tell whether the answer answers it.
"""


def correctness(claims: Sequence[JudgedClaim]) -> float | None:
    """Return verified supported claims / all claims, in [0, 1]; None without claims."""
    if not claims:
        return None
    return sum(claim.verdict == "supported" for claim in claims) / len(claims)


def outcome(sentences: Sequence[JudgedClaim]) -> AnswerOutcome:
    """Return the kind of an answer: with claims it is judged by them, even if it also abstains."""
    if any(sentence.role == "claim" for sentence in sentences):
        return "judged"
    return "abstained" if any(sentence.untold for sentence in sentences) else "no_claims"


_UNPROVEN_UTILITY = 0.4
"""The most useful that an answer without a proven answer to its question is: below every threshold for a useful one."""


def utility(
    kind: AnswerOutcome, reported: float, *, answerable: bool, correct: float | None, answers: bool
) -> float:
    """Return how useful an answer is, in [0, 1]; `answerable` as the model reports it, even without proof.

    An abstention is useful if the notes do not answer. An answer without content is useless. One without a proven claim
    (`correct`), or whose proven claims do not answer the question (`answers`), is at most `_UNPROVEN_UTILITY`.
    """
    if kind == "judged":
        return reported if correct and answers else min(reported, _UNPROVEN_UTILITY)
    return float(kind == "abstained" and not answerable)


def is_another_question(answered: float | None) -> bool:
    """Return whether the proven claims have too few words of the question to answer it; not if that is unknown."""
    return answered is not None and answered < LEAST_ANSWERED


def confidence(
    correct: float | None, useful: float, answers_question: float | None
) -> Confidence | None:
    """Return the grade by the rule of the seed; None without claims; at most "medium" for another question's answer."""
    if correct is None:
        return None
    if not is_another_question(answers_question) and correct >= 0.8 and useful >= 0.7:  # noqa: PLR2004
        return "high"
    return "medium" if correct >= 0.5 else "low"  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of an answer, claim by claim; without a model, the reported fields and confidence are None."""

    coverage: tuple[Coverage, ...]
    flagged: Mapping[int, tuple[Flag, ...]]  # see `AnswerCase.flagged`
    outcome: AnswerOutcome = "no_claims"
    sentences: tuple[JudgedClaim, ...] = ()
    omissions: tuple[JudgedOmission, ...] = ()
    correctness: float | None = None  # share of supported claims, in [0, 1]; None without claims
    # supported claims / (supported claims + omissions); None if the omissions cannot be read
    completeness: float | None = None
    utility: float | None = None  # in [0, 1], by the rule for abstentions; None without a model
    confidence: Confidence | None = None
    abstains: bool = False
    answerable: bool = False  # the notes answer the question, proven by a quote
    reported_answerable: bool | None = None
    reported_correctness: float | None = None
    reported_utility: float | None = None
    utility_reason: str = ""
    reported_issues: tuple[str, ...] = ()
    summary: str = ""
    notices: tuple[Notice, ...] = ()
    trial: Trial | None = None  # of the model that made the second check; None without one
    # share of the question's words that the supported claims and their sentences have, in [0, 1], relative to the
    # sentence of the notes that has most of them; None if unknown
    answers_question: float | None = None
    # the supported claims have enough words of the question, or the proven quote that answers it
    answers: bool = True

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        return tuple(sentence for sentence in self.sentences if sentence.role == "claim")


def judgement_of(
    case: AnswerCase,
    pieces: Sequence[Piece],
    verifier: Verifier,
    reply: SearchQAReply,
    judged: Sequence[JudgedClaim],
) -> Judgement:
    """Return the judgement for a reply and `judged`, the verdicts on its claims."""
    (quoted,) = verifier.align([(reply.answer_note, reply.answer_quote)])
    place, doubt = verifier.proof(quoted)
    is_proven = reply.answerable and doubt is None
    roles = Roles(case.question, case.notes, claims_of(pieces))
    sentences = _with_roles(judged, reply.claims, roles, place if is_proven else None)
    claims = [sentence for sentence in sentences if sentence.role == "claim"]
    answered = answers_question(claims, verifier.asked)
    answers = not is_another_question(answered) or (
        is_proven
        and any(
            claim.verdict == "supported" and is_same_place(claim.evidence, place)
            for claim in claims
        )
    )
    omissions = judged_omissions(reply.omissions, case.answer, verifier)
    kind, correct, answerable = outcome(sentences), correctness(claims), reply.answerable
    useful = utility(kind, reply.utility, answerable=answerable, correct=correct, answers=answers)
    whole = share_given(
        sum(claim.verdict == "supported" for claim in claims),
        sum(omission.doubt is None for omission in omissions),
        answerable=answerable,
    )
    return Judgement(
        outcome=kind,
        sentences=sentences,
        omissions=omissions,
        coverage=coverage(case, pieces, claims, reply.source_coverage, verifier),
        correctness=correct,
        completeness=whole if omissions or "omissions" not in reply.unread_fields else None,
        utility=useful,
        confidence=confidence(correct, useful, answered),
        abstains=any(sentence.untold for sentence in sentences),
        answerable=is_proven,
        reported_answerable=reply.answerable,
        reported_correctness=reply.correctness,
        reported_utility=reply.utility,
        utility_reason=reply.utility_reason,
        reported_issues=reply.grounding_issues,
        summary=reply.summary,
        flagged=case.flagged,
        notices=_notices(case, verifier.asked, correct, answered),
        answers_question=answered,
        answers=answers,
    )


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


def answers_question(claims: Sequence[JudgedClaim], question: Asked) -> float | None:
    """Return how many of the question's words the supported claims and their sentences have, see `Judgement`."""
    shares = (
        question.answered(
            f"{claim.stated}\n{claim.passage.heading}\n{claim.passage.text}\n{claim.title}"
        )
        for claim in claims
        if claim.verdict == "supported" and claim.passage
    )
    return max((share for share in shares if share is not None), default=None)


def _notices(
    case: AnswerCase, question: Asked, correct: float | None, answered: float | None
) -> tuple[Notice, ...]:
    found: dict[Notice, bool] = {
        "other_language": any(map(is_of_another_language, [*case.texts, case.question])),
        "other_question": is_another_question(answered),
        "no_question": correct is not None and not case.question.strip(),
        "question_not_compared": bool(correct)
        and bool(case.question.strip())
        and not question.most,
    }
    return tuple(name for name, holds in found.items() if holds)


def silent(case: AnswerCase) -> Judgement:
    """Return the judgement of a blank answer: useless, without a request."""
    notes = tuple(
        Coverage(number, note.title, cited=False, relevant=None, marked=False, relevant_claim="")
        for number, note in enumerate(case.notes, start=1)
    )
    return Judgement(notes, case.flagged, utility=0.0)


def verdict_of(judgement: Judgement) -> Verdict[Judgement]:
    """Return the verdict in the form that all judges share."""
    believed = [
        claim.reported_verdict == "supported"
        for claim in judgement.claims
        if claim.reported_verdict
    ]
    return Verdict(
        {
            "correctness": judgement.correctness,
            "completeness": judgement.completeness,
            "utility": judgement.utility,
        },
        judgement,
        told={
            "correctness": sum(believed) / len(believed) if believed else None,
            "utility": judgement.reported_utility,
        },
        proof=tuple(
            Proof.of(place.quote.source_index + 1, place, proven=claim.note is not None)
            for claim in judgement.claims
            if (place := claim.evidence) is not None
        ),
        text="\n".join((judgement.summary, judgement.utility_reason, *judgement.reported_issues)),
        flags=judgement.flagged,
    )
