"""What a judged answer is worth, by the product's rules (seed 004), none of which a model is asked to apply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gigamind.errors import LlmError
from gigamind.i18n import _, joined
from gigamind.judges.asking import PanelMember
from gigamind.judges.panel import PanelVerdict
from gigamind.judges.protocol import AnswerCase, Proof, Verdict
from gigamind.judges.search_qa.judged import JudgedClaim
from gigamind.judges.search_qa.reply import ClaimFinding, SearchQAReply
from gigamind.judges.search_qa.roles import Roles, with_roles
from gigamind.judges.search_qa.second_look import Trial
from gigamind.judges.search_qa.segments.claims import claims_of
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.search_qa.verify import (
    Coverage,
    JudgedOmission,
    Verifier,
    coverage,
    judged_omissions,
)
from gigamind.judges.search_qa.words import is_of_another_language
from gigamind.llm.fences import Flag
from gigamind.llm.replies import Confidence
from gigamind.metrics.grounding import share_given
from gigamind.records.judged import AnswerOutcome

Notice = Literal["other_language"]
"""The answer or a note is neither Korean nor English: the words that tell roles and omissions are not known there."""
Answerable = Literal["proven", "told", "no"]
"""Whether the notes answer a question: by a quote that proves it, by the word of a model alone, or not."""


def correctness(claims: Sequence[JudgedClaim]) -> float | None:
    """Verified supported claims over all, in [0, 1]; None without claims: nothing was right, and nothing wrong."""
    if not claims:
        return None
    return sum(claim.verdict == "supported" for claim in claims) / len(claims)


def outcome(sentences: Sequence[JudgedClaim]) -> AnswerOutcome:
    """What kind of answer it is: one with claims is judged by them, whatever it says about not knowing."""
    if any(sentence.role == "claim" for sentence in sentences):
        return "judged"
    return "abstained" if any(sentence.untold for sentence in sentences) else "no_claims"


def utility(kind: AnswerOutcome, reported: float, *, answerable: bool) -> float:
    """How useful an answer is, in [0, 1].

    To say that the notes do not tell is useful if they do not, and useless if they do.  An answer that says nothing at
    all is useless.

    Args:
        answerable: whether anybody says that the notes answer: nothing speaks for an abstention from what a model says
            is told, although it proves it not.
    """
    if kind == "judged":
        return reported
    return float(kind == "abstained" and not answerable)


def answerable(*, reported: bool, proven: bool) -> Answerable:
    """What the word of a model and its quote amount to."""
    if not reported:
        return "no"
    return "proven" if proven else "told"


def confidence(correct: float | None, useful: float) -> Confidence | None:
    """Grade by the rule of the seed; None where there was no claim to be correct about."""
    if correct is None:
        return None
    if correct >= 0.8 and useful >= 0.7:  # noqa: PLR2004
        return "high"
    return "medium" if correct >= 0.5 else "low"  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an answer is worth, claim by claim.

    Attributes:
        sentences: those of the answer in their order, claims and the rest.
        omissions: what the model says is left out, with what became of its quotes.
        correctness: verified supported claims over all, in [0, 1]; None without claims.
        completeness: supported claims over those and what is left out; see `metrics.grounding`.  None, too, unless
            `tells_omissions`.
        utility: in [0, 1], by the rule for abstentions; None, as is confidence, where no model was asked.
        confidence: None without claims.
        abstains: it says that the notes do not tell, whatever it says besides.
        answerable: whether the notes answer the question, proven by a quote.
        told_answerable: what the model said; None when it was not asked.  Told and unproven, abstaining has no use.
        tells_omissions: what the model says is left out could be read.
        reported_correctness: the model's own estimate; counts for nothing.  None when it was not asked, as below, or
            said nothing that can be read.
        reported_utility: that before the rule.
        reported_issues: what the model says is not grounded.
        flagged: what a person should look at: in the notes and their titles by their number from 1, in the answer by 0.
        notices: what makes the judgement less sure than others; see `Notice`.
        trial: of the model that looked at claims once more; None where none was asked to.
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
    told_answerable: bool | None
    reported_correctness: float | None
    reported_utility: float | None
    utility_reason: str
    reported_issues: tuple[str, ...]
    summary: str
    flagged: Mapping[int, tuple[Flag, ...]]
    notices: tuple[Notice, ...] = ()
    trial: Trial | None = None
    tells_omissions: bool = True

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The sentences that state something."""
        return tuple(sentence for sentence in self.sentences if sentence.role == "claim")

    @property
    def voted_utility(self) -> float:
        """That of a seat, which always tells one."""
        return self.utility or 0.0


@dataclass(frozen=True, slots=True)
class Heard:
    """What was told of an answer: `findings` by the ids of its sentences, and `judged`, what each amounts to."""

    reply: SearchQAReply
    findings: Mapping[int, ClaimFinding]
    judged: Sequence[JudgedClaim]
    trial: Trial | None = None


def judgement_of(
    case: AnswerCase, pieces: Sequence[Piece], verifier: Verifier, heard: Heard
) -> Judgement:
    """The judgement that what was told amounts to."""
    reply = heard.reply
    (quoted,) = verifier.align([(reply.answer_note, reply.answer_quote)])
    place, doubt = verifier.proof(quoted)
    answerability = answerable(reported=reply.answerable, proven=doubt is None)
    sentences = with_roles(
        heard.judged,
        heard.findings,
        Roles(case.question, case.notes, claims_of(pieces)),
        place if answerability == "proven" else None,
    )
    claims = [sentence for sentence in sentences if sentence.role == "claim"]
    omissions = judged_omissions(reply.omissions, case.answer, verifier)
    kind, correct = outcome(sentences), correctness(claims)
    useful = utility(kind, reply.utility, answerable=answerability != "no")
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
            answerable=answerability != "no",
            tells_omissions=reply.tells_omissions,
        ),
        correctness=correct,
        utility=useful,
        confidence=confidence(correct, useful),
        abstains=any(sentence.untold for sentence in sentences),
        answerable=answerability == "proven",
        told_answerable=reply.answerable,
        reported_correctness=reply.correctness,
        reported_utility=reply.utility,
        utility_reason=reply.utility_reason,
        reported_issues=reply.grounding_issues,
        summary=reply.summary,
        flagged=case.flagged,
        notices=_notices(case),
        trial=heard.trial,
        tells_omissions=reply.tells_omissions,
    )


def completeness(
    claims: Sequence[JudgedClaim],
    omissions: Sequence[JudgedOmission],
    *,
    answerable: bool,
    tells_omissions: bool,
) -> float | None:
    """Supported claims over those and what is left out; None where it is unread what the model says of that."""
    if not tells_omissions:
        return None
    return share_given(
        sum(claim.verdict == "supported" for claim in claims),
        sum(omission.doubt is None for omission in omissions),
        answerable=answerable,
    )


def _notices(case: AnswerCase) -> tuple[Notice, ...]:
    foreign = any(map(is_of_another_language, [*case.texts, case.question]))
    return ("other_language",) if foreign else ()


def silent(case: AnswerCase) -> Judgement:
    """That of an answer without a word: useless, and nothing to ask a model about."""
    notes = tuple(
        Coverage(number, note.title, cited=False, relevant=None, marked=False, relevant_claim="")
        for number, note in enumerate(case.notes, start=1)
    )
    return Judgement(
        outcome="no_claims", sentences=(), omissions=(), coverage=notes, correctness=None,
        completeness=None, utility=0.0, confidence=None, abstains=False, answerable=False,
        told_answerable=None, reported_correctness=None, reported_utility=None, utility_reason="",
        reported_issues=(), summary="", flagged=case.flagged,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PanelOfAnswer:
    """What a panel said of an answer.

    Attributes:
        judgement: None without a context note, or when the panel is not whole.
        panel: the votes on utility; None where one model was asked once, or nobody.
        by_member: the judgements of those who voted.
        errors: why a seat gave none.
    """

    judgement: Judgement | None
    panel: PanelVerdict[float] | None
    by_member: Mapping[PanelMember, Judgement]
    errors: Mapping[PanelMember, LlmError]


def verdict_of(panel: PanelOfAnswer) -> Verdict[PanelOfAnswer]:
    """What it says of the answer, in the terms that all judges share."""
    judgement, errors = panel.judgement, tuple(panel.errors.values())
    if judgement is None:
        code = panel.panel.code if panel.panel else None
        votes = joined(
            _("{model}: {reason}", model=member.name, reason=error.message)
            for member, error in panel.errors.items()
        )
        why = _("These panel members gave no vote: {votes}", votes=votes) if panel.panel else ""
        return Verdict({}, panel, errors=errors, code=code or "", why=why)
    believed = [claim.told == "supported" for claim in judgement.claims if claim.told]
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
