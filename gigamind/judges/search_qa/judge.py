"""Judges an answer, by one model or a panel: what was told of its claims becomes verdicts and scores.

What a judged answer is worth follows the product's rules (seed 004), none of which a model is asked to apply.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import ClassVar, Literal

from gigamind.choices import PromptLanguage
from gigamind.errors import LlmError
from gigamind.judges.panel import PanelVerdict, Seat, Vote, decide_graded, hold_ballot, is_near
from gigamind.judges.protocol import (
    KEY,
    AnswerCase,
    Asking,
    PanelJudge,
    PlannedCall,
    Proof,
    Scale,
    Verdict,
    counted,
)
from gigamind.judges.search_qa.asking import Calls, Questions
from gigamind.judges.search_qa.cutting import cut, cutting_calls
from gigamind.judges.search_qa.reply import (
    ClaimFinding,
    PartsReply,
    SearchQAJudge,
    SearchQAReply,
    load_search_qa_judge,
)
from gigamind.judges.search_qa.segments.claims import claims_of, pieces_of
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.search_qa.verify import Coverage, JudgedClaim, Verifier, agreed, coverage
from gigamind.judges.spec import LANGUAGES
from gigamind.llm.fences import Flag

Outcome = Literal["judged", "abstained", "no_claims"]
Confidence = Literal["high", "medium", "low"]
Answerable = Literal["proven", "told", "no"]
"""Whether the notes answer a question: by a quote that proves it, by the word of a model alone, or not."""


def correctness(claims: Sequence[JudgedClaim]) -> float | None:
    """Verified supported claims over all, in [0, 1]; None without claims: nothing was right, and nothing wrong."""
    if not claims:
        return None
    return sum(one.verdict == "supported" for one in claims) / len(claims)


def outcome(claims: Sequence[JudgedClaim], pieces: Sequence[Piece], *, abstains: bool) -> Outcome:
    """What kind of answer it is: one with claims is judged by them, whatever it says about not knowing.

    `abstains` is the model's word, taken only where there is nothing else to judge.
    """
    if claims:
        return "judged"
    said = abstains or any(piece.role == "abstention" for piece in pieces)
    return "abstained" if said else "no_claims"


def utility(kind: Outcome, reported: float, *, answerable: bool) -> float:
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


def answerable(*, told: bool, proven: bool) -> Answerable:
    """What the word of a model and its quote amount to."""
    if not told:
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
    judge: SearchQAJudge, case: AnswerCase, pieces: Sequence[Piece], asking: Asking, seat: Seat
) -> Judgement:
    """The judgement that one seat gives of an answer that has a context note with text to judge it by.

    Args:
        pieces: of the answer; see `cut_answer`.

    Raises:
        LlmError: the model gave no usable reply: the item is unscored.
    """
    if not case.answer.strip():
        return _silent(case)
    questions = Questions(judge, case, pieces, asking.fence_key)
    reply, findings = await Calls(judge, questions, asking, seat).all_of_them()
    return judgement_of(case, pieces, judge, reply, findings)


async def cut_answer(judge: SearchQAJudge, answer: str, asking: Asking) -> tuple[Piece, ...]:
    """The pieces of an answer, cut as the judge file says: by our code alone, or its claims once more by the model.

    Raises:
        LlmError: the model gave no usable reply, or the answer has more claims than the judge file allows
            (`context_too_long`): the item is unscored.
    """
    pieces = pieces_of(answer)
    _refuse_too_many(pieces, judge)
    pieces = await cut(judge, answer, pieces, asking)
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
        flagged=case.flagged,
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
        flagged=case.flagged,
    )  # fmt: skip


# Where the confidence of an answer changes: by its correctness, and by its utility.
_CORRECTNESS = (0.5, 0.8)
_UTILITY = 0.7


@dataclass(frozen=True, slots=True)
class PanelOfAnswer:
    """What a panel said of an answer.

    Attributes:
        judgement: None without a context note, or when the panel is not whole.
        panel: the votes on utility; None where one model was asked once, or nobody.
        by_seat: the judgements of those who voted.
        errors: why a seat gave none.
    """

    judgement: Judgement | None
    panel: PanelVerdict[float] | None
    by_seat: Mapping[Seat, Judgement]
    errors: Mapping[Seat, LlmError]


async def judge_answer_by_panel(
    judge: SearchQAJudge, case: AnswerCase, asking: Asking
) -> PanelOfAnswer:
    """The judgement of the seats of the judge file.

    Raises:
        LlmError: see `cut_answer`; and `judge_answer` for a judge without a panel, `hold_ballot` for one with.
    """
    said: dict[Seat, Judgement] = {}
    fields, first = judge.file, asking.first
    if not case.has_context:
        return PanelOfAnswer(None, None, {}, {})
    # All seats vote on the same claims, so one model cuts for all.
    pieces = await cut_answer(judge, case.answer, asking)

    async def ask(seat: Seat) -> Vote[float]:
        found = said[seat] = await judge_answer(judge, case, pieces, asking, seat)
        graded = found.utility if found.correctness is None else found.correctness
        return Vote(graded, proven=_is_clear(found, fields.near))

    if not fields.is_panel:
        await ask(first)
        return PanelOfAnswer(said.get(first), None, {}, {})
    ballot = await hold_ballot(fields, first.model, ask, thresholds=_CORRECTNESS)
    votes = {seat: Vote(said[seat].utility) for seat in ballot.asked if seat in ballot.votes}
    panel = decide_graded(votes, ballot.asked)
    by_seat = {seat: said[seat] for seat in votes}
    whole = None if panel.value is None else _together(list(by_seat.values()))
    return PanelOfAnswer(whole, panel, by_seat, ballot.errors)


def _is_clear(found: Judgement, near: float) -> bool:
    """Whether one seat is enough for an adaptive panel: no quote failed, and the utility is not near its threshold."""
    doubted = any(one.doubt is not None for one in found.claims)
    unproven = found.abstains and bool(found.told_answerable) and not found.answerable
    return not doubted and not unproven and not is_near(found.utility, [_UTILITY], near)


def _together(found: Sequence[Judgement]) -> Judgement:
    """What seats say that all judged the same claims; where they are split in halves, the less favourable."""
    claims = tuple(_majority(rows) for rows in zip(*(one.claims for one in found), strict=True))
    correct = correctness(claims)
    kind, reported = _outcome(found), median(one.reported_utility or 0.0 for one in found)
    told = 2 * sum(bool(one.told_answerable) for one in found) >= len(found)
    useful = utility(kind, reported, answerable=told)
    speaker = min(found, key=lambda one: (_apart(one, correct), abs(one.utility - useful)))
    return replace(
        speaker,
        outcome=kind,
        claims=claims,
        coverage=agreed([one.coverage for one in found], claims),
        correctness=correct,
        utility=useful,
        confidence=confidence(correct, useful),
        abstains=2 * sum(one.abstains for one in found) > len(found),
        answerable=2 * sum(one.answerable for one in found) >= len(found),
        told_answerable=told,
    )


def _outcome(found: Sequence[Judgement]) -> Outcome:
    """That of more than half of the seats, which can differ only on an answer without claims; else it says nothing."""
    times: Counter[Outcome] = Counter(one.outcome for one in found)
    name, count = times.most_common(1)[0]
    return name if 2 * count > len(found) else "no_claims"


def _majority(rows: Sequence[JudgedClaim]) -> JudgedClaim:
    """The claim as the majority has it; without one, as the first has it that does not call it supported."""
    verdict, count = Counter(row.verdict for row in rows).most_common(1)[0]
    if 2 * count > len(rows):
        return next(row for row in rows if row.verdict == verdict)
    return next(row for row in rows if row.verdict != "supported")


def _apart(one: Judgement, correct: float | None) -> float:
    return 0.0 if one.correctness is None or correct is None else abs(one.correctness - correct)


# Tokens of the shortest useful reply, and of each claim in it.
_LEAST_REPLY, _LEAST_CLAIM = 120, 40
_PARTS = 2  # claims of a sentence that a model cuts, as a rule at most


class SearchQA(PanelJudge[AnswerCase, PanelOfAnswer, SearchQAJudge]):
    """The judge of kind `search_qa`: is every claim of an answer grounded in its notes, and does the answer help?"""

    kind = "search_qa"
    scales: ClassVar[Mapping[str, Scale]] = {
        "correctness": "graded",
        "utility": "graded",
        "supported": "binary",
    }

    @property
    def cuts(self) -> bool:
        """Whether a model cuts sentences into claims."""
        return self.judge_in("").cutting is not None

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if not case.answer.strip() or not case.has_context:
            return
        judge, pieces = self.judge_in(case.language), pieces_of(case.answer)
        for messages, sentences in cutting_calls(judge, case.answer, pieces):
            yield PlannedCall(
                counted(messages, PartsReply.model_json_schema()),
                _LEAST_CLAIM * sentences,
                judge.file.tokens_for(sentences),
                seats=False,
                what="cutting the claims of",
            )
        claims = _PARTS if judge.cutting else 1
        questions = Questions(judge, case, pieces, KEY)
        for place, ids in enumerate(questions.batches()):
            messages = questions.messages(ids, "claims" if place else "whole")
            yield PlannedCall(
                counted(messages, SearchQAReply.model_json_schema()),
                _LEAST_REPLY * (not place) + _LEAST_CLAIM * len(ids),
                judge.file.tokens_for(claims * len(ids)),
            )

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[PanelOfAnswer]:
        """Without a note that has text, there is nothing to judge by, and no score."""
        panel = await judge_answer_by_panel(self.judge_in(case.language), case, asking)
        judgement, errors = panel.judgement, tuple(panel.errors.values())
        if judgement is None:
            code = panel.panel.code if panel.panel else None
            votes = "; ".join(f"{seat.name}: {error}" for seat, error in panel.errors.items())
            why = f"no vote of {votes}" if panel.panel else ""
            return Verdict({}, panel, errors=errors, code=code or "", why=why)
        told = [claim.told == "supported" for claim in judgement.claims]
        return Verdict(
            {"correctness": judgement.correctness, "utility": judgement.utility},
            panel,
            told={
                "correctness": sum(told) / len(told) if told else None,
                "utility": judgement.reported_utility,
            },
            proof=tuple(
                Proof.of(place.quote.source_index + 1, place, proven=claim.note is not None)
                for claim in judgement.claims
                if (place := claim.evidence) is not None
            ),
            text="\n".join(
                (judgement.summary, judgement.utility_reason, *judgement.reported_issues)
            ),
            flags=judgement.flagged,
            errors=errors,
        )


def load_search_qa(path: Path, language: PromptLanguage = "auto") -> SearchQA:
    """The judge of a file of kind `search_qa`.

    Raises:
        InputError: see `load_llm_judge`.
    """
    return SearchQA({name: load_search_qa_judge(path, name) for name in LANGUAGES[language]})
