"""Scores a judged answer by the product's rules (seed 004); no model applies them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.errors import LlmError
from gigamind.evidence.result import is_same_place
from gigamind.judges.asking import PanelMember
from gigamind.judges.panel import PanelVerdict, why_no_verdict
from gigamind.judges.protocol import AnswerCase, Proof, Verdict
from gigamind.judges.search_qa.judged import JudgedClaim
from gigamind.judges.search_qa.question import LEAST_ANSWERED, Asked
from gigamind.judges.search_qa.reply import ClaimFinding, SearchQAReply
from gigamind.judges.search_qa.roles import Roles, with_roles
from gigamind.judges.search_qa.second_look import Trial
from gigamind.judges.search_qa.segments.claims import claims_of
from gigamind.judges.search_qa.segments.lines import Piece
from gigamind.judges.search_qa.verify import (
    Coverage,
    JudgedOmission,
    Verifier,
    coverage,
    judged_omissions,
)
from gigamind.judges.search_qa.words import is_of_another_language
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


UNPROVEN_UTILITY = 0.4
"""The most useful that an answer without a proven answer to its question is: below every threshold for a useful one."""


def utility(
    kind: AnswerOutcome,
    reported: float,
    *,
    answerable: bool,
    correct: float | None,
    answers: bool,
) -> float:
    """Return how useful an answer is, in [0, 1]; `answerable` as the model reports it, even without proof.

    An abstention is useful if the notes do not answer, and useless if they do. An answer without content is useless.
    One without a proven claim (`correct`), or whose proven claims do not answer the question (`answers`), is at most
    `UNPROVEN_UTILITY`, whatever the model reports.
    """
    if kind == "judged":
        return reported if correct and answers else min(reported, UNPROVEN_UTILITY)
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
    """The judgement of an answer, claim by claim.

    Attributes:
        correctness: verified supported claims / all claims, in [0, 1]; None without claims.
        completeness: supported claims / (supported claims + omissions); None unless `tells_omissions`.
        utility: in [0, 1], by the rule for abstentions; None without a model, like confidence.
        confidence: None without claims.
        abstains: it states that the notes do not say something, possibly among other statements.
        answerable: the notes answer the question, proven by a quote.
        reported_answerable: by the model, which suffices to give an abstention no utility; None without a model.
        answers_question: share of the question's words that the supported claims and their sentences have, in [0, 1],
            relative to the sentence of the notes that has most of them; None if unknown.
        answers: the supported claims have enough words of the question, or one has the proven quote that the model
            gives as the answer.
        tells_omissions: the list of omissions in the reply was readable.
        reported_correctness: the model's own estimate, for information only. None without a model or if unreadable; the
            same applies to the fields below.
        reported_utility: the model's utility before the rule.
        flagged: suspicious passages to review: in notes and titles under their numbers from 1, in the answer under 0.
        notices: reasons why the judgement is less reliable; see `Notice`.
        trial: of the model that made the second check; None without one.
    """

    outcome: AnswerOutcome
    sentences: tuple[JudgedClaim, ...]
    omissions: tuple[JudgedOmission, ...]
    correctness: float | None
    completeness: float | None
    utility: float | None
    confidence: Confidence | None
    abstains: bool
    answerable: bool
    coverage: tuple[Coverage, ...]
    reported_answerable: bool | None
    reported_correctness: float | None
    reported_utility: float | None
    utility_reason: str
    reported_issues: tuple[str, ...]
    summary: str
    flagged: Mapping[int, tuple[Flag, ...]]
    notices: tuple[Notice, ...] = ()
    trial: Trial | None = None
    tells_omissions: bool = True
    answers_question: float | None = None
    answers: bool = True

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        return tuple(sentence for sentence in self.sentences if sentence.role == "claim")

    @property
    def voted_utility(self) -> float:
        """The utility voted by a panel member, which always gives one."""
        return self.utility or 0.0


@dataclass(frozen=True, slots=True)
class Heard:
    """The reply about an answer: `findings` by sentence id, and `judged`, the verdict for each."""

    reply: SearchQAReply
    findings: Mapping[int, ClaimFinding]
    judged: Sequence[JudgedClaim]
    trial: Trial | None = None


def judgement_of(
    case: AnswerCase, pieces: Sequence[Piece], verifier: Verifier, heard: Heard
) -> Judgement:
    """Return the judgement for a reply."""
    reply = heard.reply
    (quoted,) = verifier.align([(reply.answer_note, reply.answer_quote)])
    place, doubt = verifier.proof(quoted)
    is_proven = reply.answerable and doubt is None
    sentences = with_roles(
        heard.judged,
        heard.findings,
        Roles(case.question, case.notes, claims_of(pieces)),
        place if is_proven else None,
    )
    claims = [sentence for sentence in sentences if sentence.role == "claim"]
    omissions = judged_omissions(reply.omissions, case.answer, verifier)
    kind, correct = outcome(sentences), correctness(claims)
    answered = answers_question(claims, verifier.asked)
    answers = not is_another_question(answered) or (
        is_proven
        and any(
            claim.verdict == "supported" and is_same_place(claim.evidence, place)
            for claim in claims
        )
    )
    useful = utility(
        kind, reply.utility, answerable=reply.answerable, correct=correct, answers=answers
    )
    return Judgement(
        outcome=kind,
        sentences=sentences,
        omissions=omissions,
        coverage=coverage(
            case.notes,
            case.answer,
            pieces=pieces,
            claims=claims,
            uses=reply.source_coverage,
            verifier=verifier,
        ),
        completeness=completeness(
            claims,
            omissions,
            answerable=reply.answerable,
            tells_omissions=reply.tells_omissions,
        ),
        correctness=correct,
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
        trial=heard.trial,
        tells_omissions=reply.tells_omissions,
        answers_question=answered,
        answers=answers,
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


def completeness(
    claims: Sequence[JudgedClaim],
    omissions: Sequence[JudgedOmission],
    *,
    answerable: bool,
    tells_omissions: bool,
) -> float | None:
    """Return supported claims / (supported claims + omissions); None if the reported omissions were unreadable."""
    if not tells_omissions:
        return None
    return share_given(
        sum(claim.verdict == "supported" for claim in claims),
        sum(omission.doubt is None for omission in omissions),
        answerable=answerable,
    )


def silent(case: AnswerCase) -> Judgement:
    """Return the judgement of a blank answer: useless, without a request."""
    notes = tuple(
        Coverage(number, note.title, cited=False, relevant=None, marked=False, relevant_claim="")
        for number, note in enumerate(case.notes, start=1)
    )
    return Judgement(
        outcome="no_claims", sentences=(), omissions=(), coverage=notes, correctness=None,
        completeness=None, utility=0.0, confidence=None, abstains=False, answerable=False,
        reported_answerable=None, reported_correctness=None, reported_utility=None, utility_reason="",
        reported_issues=(), summary="", flagged=case.flagged,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PanelOfAnswer:
    """The judgement of a panel on an answer.

    Attributes:
        judgement: None without a context note, or if the panel is incomplete.
        panel: the votes on utility; None with one model or none.
        errors: why a member gave no vote.
    """

    judgement: Judgement | None
    panel: PanelVerdict[float] | None
    by_member: Mapping[PanelMember, Judgement]
    errors: Mapping[PanelMember, LlmError]


def verdict_of(panel: PanelOfAnswer) -> Verdict[PanelOfAnswer]:
    """Return the verdict in the form that all judges share."""
    judgement, errors = panel.judgement, tuple(panel.errors.values())
    if judgement is None:
        code = panel.panel.code if panel.panel else None
        why = why_no_verdict(panel.panel, panel.errors)
        return Verdict({}, panel, errors=errors, code=code or "", why=why)
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
        panel,
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
        errors=errors,
    )
