"""Judges an answer: what a model tells about its claims, proven or not, made into figures by the rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gigamind.errors import LlmError
from gigamind.judges.search_qa.asking import AnswerCase, Asking, Questions
from gigamind.judges.search_qa.coverage import Coverage, coverage
from gigamind.judges.search_qa.cutting import cut
from gigamind.judges.search_qa.reply import (
    ClaimFinding,
    SearchQAJudge,
    SearchQAReply,
)
from gigamind.judges.search_qa.rules import (
    Confidence,
    Outcome,
    answerable,
    confidence,
    correctness,
    outcome,
    utility,
)
from gigamind.judges.search_qa.segments.claims import claims_of, pieces_of
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.search_qa.verify import JudgedClaim, Verifier
from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import Flag, flags


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an answer is worth, claim by claim.

    Attributes:
        pieces: the whole answer in its order, claims and the rest.
        correctness: verified supported claims over all, in [0, 1]; None without claims.
        utility: in [0, 1], by the rule for abstentions.
        confidence: None without claims.
        abstains: it says that the notes do not tell, whatever it says besides.
        answerable: whether the notes answer the question, proven by a quote.
        told_answerable: what the model said; None when it was not asked.  Told and unproven, abstaining has no use.
        reported_correctness: the model's own estimate; counts for nothing.  None when it was not asked, as below.
        reported_utility: that before the rule.
        reported_issues: what the model says is not grounded.
        flagged: what a person should look at: in the notes and their titles by their number from 1, in the answer by 0.
    """

    outcome: Outcome
    pieces: tuple[Piece, ...]
    claims: tuple[JudgedClaim, ...]
    coverage: tuple[Coverage, ...]
    correctness: float | None
    utility: float
    confidence: Confidence | None
    abstains: bool
    answerable: bool
    told_answerable: bool | None
    reported_correctness: float | None
    reported_utility: float | None
    utility_reason: str
    reported_issues: tuple[str, ...]
    summary: str
    flagged: Mapping[int, tuple[Flag, ...]]


async def judge_answer(
    model: LanguageModel,
    judge: SearchQAJudge,
    case: AnswerCase,
    pieces: Sequence[Piece],
    *,
    item_id: str,
    fence_key: bytes,
    repeat: int = 0,
    fresh: bool = False,
) -> Judgement:
    """The judgement of one answer that has a context note with text to judge it by.

    Args:
        pieces: of the answer; see `cut_answer`.
        fresh: ask anew, to see whether the model says the same again.

    Raises:
        LlmError: the model gave no usable reply: the item is unscored.
    """
    if not case.answer.strip():
        return _silent(case)
    questions = Questions(judge, case, pieces, fence_key)
    asking = Asking(model, judge, questions, item_id=item_id, repeat=repeat, fresh=fresh)
    reply, findings = await asking.all_of_them()
    return judgement_of(case, pieces, judge, reply, findings)


async def cut_answer(
    model: LanguageModel, judge: SearchQAJudge, answer: str, *, item_id: str, fresh: bool = False
) -> tuple[Piece, ...]:
    """The pieces of an answer, cut as the judge file says: by our code alone, or its claims once more by the model.

    Raises:
        LlmError: the model gave no usable reply, or the answer has more claims than the judge file allows
            (`context_too_long`): the item is unscored.
    """
    pieces = pieces_of(answer)
    _refuse_too_many(pieces, judge)
    pieces = await cut(model, judge, answer, pieces, item_id=item_id, fresh=fresh)
    _refuse_too_many(pieces, judge)
    return pieces


def _refuse_too_many(pieces: Sequence[Piece], judge: SearchQAJudge) -> None:
    claims, most = len(claims_of(pieces)), judge.file.max_claims
    if claims > most:
        raise LlmError(
            f"the answer has {claims:,} claims, and the judge takes {most:,}: split it, or raise max_claims in the"
            " judge file",
            "context_too_long",
        )


def judgement_of(
    case: AnswerCase,
    pieces: Sequence[Piece],
    judge: SearchQAJudge,
    reply: SearchQAReply,
    findings: Mapping[int, ClaimFinding],
) -> Judgement:
    """The judgement that a reply amounts to; `findings` has one for the id of each claim."""
    verifier = Verifier(case.notes, case.question, judge.file)
    claims = verifier.judge(claims_of(pieces), findings)
    (place,) = verifier.align([(reply.answer_note, reply.answer_quote)])
    found = answerable(told=reply.answerable, proven=verifier.proof(place)[1] is None)
    kind = outcome(claims, pieces, abstains=reply.abstains)
    correct = correctness(claims)
    useful = utility(kind, reply.utility, answerable=found != "no")
    return Judgement(
        outcome=kind,
        pieces=tuple(pieces),
        claims=claims,
        coverage=coverage(
            case.notes,
            case.answer,
            pieces=pieces,
            claims=claims,
            uses=reply.source_coverage,
            verifier=verifier,
        ),
        correctness=correct,
        utility=useful,
        confidence=confidence(correct, useful),
        abstains=kind == "abstained" or any(piece.role == "abstention" for piece in pieces),
        answerable=found == "proven",
        told_answerable=reply.answerable,
        reported_correctness=reply.correctness,
        reported_utility=reply.utility,
        utility_reason=reply.utility_reason,
        reported_issues=reply.grounding_issues,
        summary=reply.summary,
        flagged=_flagged(case),
    )


def _silent(case: AnswerCase) -> Judgement:
    """That of an answer without a word: useless, and nothing to ask a model about."""
    notes = tuple(
        Coverage(number, note.title, cited=False, relevant=None, marked=False, relevant_claim="")
        for number, note in enumerate(case.notes, start=1)
    )
    return Judgement(
        outcome="no_claims", pieces=(), claims=(), coverage=notes, correctness=None, utility=0.0,
        confidence=None, abstains=False, answerable=False, told_answerable=None, reported_correctness=None,
        reported_utility=None, utility_reason="", reported_issues=(), summary="",
        flagged=_flagged(case),
    )  # fmt: skip


def _flagged(case: AnswerCase) -> dict[int, tuple[Flag, ...]]:
    """By number, those of each text once."""
    texts = [case.answer, *(f"{note.title}\n{note.text}" for note in case.notes)]
    return {number: found for number, text in enumerate(texts) if (found := flags(text))}
