"""Judges an answer, by one model or a panel: what was told of its claims becomes verdicts and scores.

What a judged answer is worth follows the product's rules (seed 004), none of which a model is asked to apply.
"""

import asyncio
import math
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
from gigamind.judges.search_qa.omissions import (
    JudgedOmission,
    is_same_place,
    judged_omissions,
)
from gigamind.judges.search_qa.reply import (
    ClaimFinding,
    PartsReply,
    SearchQAJudge,
    SearchQAReply,
    load_search_qa_judge,
)
from gigamind.judges.search_qa.roles import Roles, with_roles
from gigamind.judges.search_qa.second_look import Statement, Trial
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.segments.claims import claims_of, pieces_of
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.search_qa.support import Passage
from gigamind.judges.search_qa.verify import Coverage, JudgedClaim, Verifier, agreed, coverage
from gigamind.judges.search_qa.words import is_of_another_language
from gigamind.judges.spec import LANGUAGES
from gigamind.llm.fences import Flag
from gigamind.llm.options import ModelOptions
from gigamind.metrics.grounding import share_given

Outcome = Literal["judged", "abstained", "no_claims"]
Confidence = Literal["high", "medium", "low"]
Notice = Literal["other_language"]
"""The answer or a note is neither Korean nor English: the words that tell roles and omissions are not known there."""
Answerable = Literal["proven", "told", "no"]
"""Whether the notes answer a question: by a quote that proves it, by the word of a model alone, or not."""


def correctness(claims: Sequence[JudgedClaim]) -> float | None:
    """Verified supported claims over all, in [0, 1]; None without claims: nothing was right, and nothing wrong."""
    if not claims:
        return None
    return sum(one.verdict == "supported" for one in claims) / len(claims)


def outcome(sentences: Sequence[JudgedClaim]) -> Outcome:
    """What kind of answer it is: one with claims is judged by them, whatever it says about not knowing."""
    if any(one.role == "claim" for one in sentences):
        return "judged"
    return "abstained" if any(one.untold for one in sentences) else "no_claims"


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

    outcome: Outcome
    sentences: tuple[JudgedClaim, ...]
    omissions: tuple[JudgedOmission, ...]
    coverage: tuple[Coverage, ...]
    correctness: float | None
    completeness: float | None
    utility: float | None
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
    notices: tuple[Notice, ...] = ()
    trial: Trial | None = None
    tells_omissions: bool = True

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The sentences that state something."""
        return tuple(one for one in self.sentences if one.role == "claim")

    @property
    def voted_utility(self) -> float:
        """That of a seat, which always tells one."""
        return self.utility or 0.0


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
    verifier = Verifier(case.notes, case.question, judge.file)
    # Quotes of a long note take a while: other requests are sent and read meanwhile.
    judged = await asyncio.to_thread(verifier.judge, claims_of(pieces), findings)
    trial, said = await _second_look(
        judge, case.question, verifier.to_look_at(judged), asking, seat
    )
    heard = Heard(reply, findings, verifier.looked_at(judged, said), trial)
    return await asyncio.to_thread(judgement_of, case, pieces, verifier, heard)


@dataclass(frozen=True, slots=True)
class Heard:
    """What was told of an answer: `findings` by the ids of its sentences, and `judged`, what each amounts to."""

    reply: SearchQAReply
    findings: Mapping[int, ClaimFinding]
    judged: Sequence[JudgedClaim]
    trial: Trial | None = None


async def _second_look(
    judge: SearchQAJudge,
    question: str,
    claims: Sequence[JudgedClaim],
    asking: Asking,
    seat: Seat,
) -> tuple[Trial | None, Mapping[int, bool | None]]:
    """What looking at claims once more gives, by their ids, and how the model that looked was tried."""
    statements = {
        one.claim.id: Statement(without_note_names(one.stated), one.passage, question)
        for one in claims
        if one.passage
    }
    if judge.second is None or not statements:
        return None, {}
    trial, said = await judge.second.look(list(statements.values()), asking, seat)
    return trial, dict(zip(statements, said, strict=True))


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
    case: AnswerCase, pieces: Sequence[Piece], verifier: Verifier, heard: Heard
) -> Judgement:
    """The judgement that what was told amounts to."""
    reply = heard.reply
    (quoted,) = verifier.align([(reply.answer_note, reply.answer_quote)])
    place, doubt = verifier.proof(quoted)
    found = answerable(told=reply.answerable, proven=doubt is None)
    sentences = with_roles(
        heard.judged,
        heard.findings,
        Roles(case.question, case.notes, claims_of(pieces)),
        place if found == "proven" else None,
    )
    claims = [one for one in sentences if one.role == "claim"]
    omissions = judged_omissions(reply.omissions, case.answer, verifier)
    kind, correct = outcome(sentences), correctness(claims)
    useful = utility(kind, reply.utility, answerable=found != "no")
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
        completeness=_completeness(
            claims, omissions, answerable=found != "no", told=reply.tells_omissions
        ),
        correctness=correct,
        utility=useful,
        confidence=confidence(correct, useful),
        abstains=any(one.untold for one in sentences),
        answerable=found == "proven",
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


def _completeness(
    claims: Sequence[JudgedClaim],
    omissions: Sequence[JudgedOmission],
    *,
    answerable: bool,
    told: bool,
) -> float | None:
    if not told:
        return None
    return share_given(
        sum(one.verdict == "supported" for one in claims),
        sum(one.doubt is None for one in omissions),
        answerable=answerable,
    )


def _notices(case: AnswerCase) -> tuple[Notice, ...]:
    foreign = any(map(is_of_another_language, [*case.texts, case.question]))
    return ("other_language",) if foreign else ()


def _silent(case: AnswerCase) -> Judgement:
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
        graded = found.voted_utility if found.correctness is None else found.correctness
        return Vote(graded, proven=_is_clear(found, fields.near))

    if not fields.is_panel:
        await ask(first)
        return PanelOfAnswer(said.get(first), None, {}, {})
    ballot = await hold_ballot(fields, first.model, ask, thresholds=_CORRECTNESS)
    votes = {seat: Vote(said[seat].voted_utility) for seat in ballot.asked if seat in ballot.votes}
    panel = decide_graded(votes, ballot.asked, fields)
    by_seat = {seat: said[seat] for seat in votes}
    whole = None if panel.value is None else _together(list(by_seat.values()))
    return PanelOfAnswer(whole, panel, by_seat, ballot.errors)


def _is_clear(found: Judgement, near: float) -> bool:
    """Whether one seat is enough for an adaptive panel: no quote failed, and the utility is not near its threshold."""
    doubted = any(one.doubt is not None for one in found.claims)
    unproven = found.abstains and bool(found.told_answerable) and not found.answerable
    return not doubted and not unproven and not is_near(found.voted_utility, [_UTILITY], near)


def _together(found: Sequence[Judgement]) -> Judgement:
    """What seats say that all judged the same claims; where they are split in halves, the less favourable."""
    sentences = tuple(
        _majority(rows) for rows in zip(*(one.sentences for one in found), strict=True)
    )
    claims = [one for one in sentences if one.role == "claim"]
    kind, correct = outcome(sentences), correctness(claims)
    reported = median(one.reported_utility or 0.0 for one in found)
    told = 2 * sum(bool(one.told_answerable) for one in found) >= len(found)
    useful = utility(kind, reported, answerable=told)
    speaker = min(found, key=lambda one: (_apart(one, correct), abs(one.voted_utility - useful)))
    omissions = tuple(one for one in speaker.omissions if _is_agreed(one, found))
    return replace(
        speaker,
        outcome=kind,
        sentences=sentences,
        omissions=omissions,
        coverage=agreed([one.coverage for one in found], claims),
        completeness=_completeness(
            claims, omissions, answerable=told, told=speaker.tells_omissions
        ),
        correctness=correct,
        utility=useful,
        confidence=confidence(correct, useful),
        abstains=any(one.untold for one in sentences),
        answerable=2 * sum(one.answerable for one in found) >= len(found),
        told_answerable=told,
    )


def _is_agreed(omission: JudgedOmission, seats: Sequence[Judgement]) -> bool:
    """Whether more than half of the seats prove something left out at this place; what is unproven is only told."""
    alike = (
        any(
            one.doubt is None and is_same_place(one.evidence, omission.evidence)
            for one in seat.omissions
        )
        for seat in seats
    )
    return omission.doubt is not None or 2 * sum(alike) > len(seats)


def _majority(rows: Sequence[JudgedClaim]) -> JudgedClaim:
    """The sentence as the majority has it; without one, a claim, and of claims one that nobody calls supported."""
    role, count = Counter(row.role for row in rows).most_common(1)[0]
    if role != "claim" and 2 * count > len(rows):
        return next(row for row in rows if row.role == role)
    verdict, count = Counter(row.verdict for row in rows).most_common(1)[0]
    row = next(
        row
        for row in rows
        if (row.verdict == verdict if 2 * count > len(rows) else row.verdict != "supported")
    )
    return replace(row, role="claim")


def _apart(one: Judgement, correct: float | None) -> float:
    return 0.0 if one.correctness is None or correct is None else abs(one.correctness - correct)


# Tokens of the shortest useful reply, and of each claim in it.
_LEAST_REPLY, _LEAST_CLAIM = 120, 40
_PARTS = 2  # claims of a sentence that a model cuts, as a rule at most


_DOUBTFUL = 0.34  # of the claims of an answer: what an estimate counts with


class SearchQA(PanelJudge[AnswerCase, PanelOfAnswer, SearchQAJudge]):
    """The judge of kind `search_qa`: is every claim of an answer grounded in its notes, and does the answer help?"""

    kind = "search_qa"
    scales: ClassVar[Mapping[str, Scale]] = {
        "correctness": "graded",
        "completeness": "graded",
        "utility": "graded",
        "supported": "binary",
    }

    @property
    def cuts(self) -> bool:
        """Whether a model cuts sentences into claims."""
        return self.judge_in("").cutting is not None

    def looking_once(self) -> "SearchQA":
        """The same without second looks: what is doubtful then stays unverified."""
        judges = self.by_language.items()
        return SearchQA({language: replace(judge, second=None) for language, judge in judges})

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """Those that vote, and the one that looks at claims once more."""
        voting = self.voters(options)
        second = self.judge_in("").second
        return tuple(dict.fromkeys((*voting, second.model))) if second and second.model else voting

    def voters(self, options: ModelOptions) -> tuple[str, ...]:
        return super().models(options)

    def planned_once(self) -> Iterator[PlannedCall]:
        """What a model is asked before its second looks are believed, in each language that may occur."""
        for judge in self.by_language.values():
            if judge.second is None:
                continue
            for pairs in judge.second.trials():
                yield judge.second.planned(pairs)

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
        if judge.second and questions.claims:
            doubtful = [
                Statement(claim.piece.text, Passage("", claim.piece.text), case.question)
                for claim in questions.claims[: math.ceil(_DOUBTFUL * len(questions.claims))]
            ]
            yield judge.second.planned(doubtful)

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[PanelOfAnswer]:
        """Without a note that has text, there is nothing to judge by, and no score."""
        return verdict_of(await judge_answer_by_panel(self.judge_in(case.language), case, asking))


def verdict_of(panel: PanelOfAnswer) -> Verdict[PanelOfAnswer]:
    """What it says of the answer, in the terms that all judges share."""
    judgement, errors = panel.judgement, tuple(panel.errors.values())
    if judgement is None:
        code = panel.panel.code if panel.panel else None
        votes = "; ".join(f"{seat.name}: {error}" for seat, error in panel.errors.items())
        why = f"no vote of {votes}" if panel.panel else ""
        return Verdict({}, panel, errors=errors, code=code or "", why=why)
    told = [claim.told == "supported" for claim in judgement.claims if claim.told]
    return Verdict(
        {
            "correctness": judgement.correctness,
            "completeness": judgement.completeness,
            "utility": judgement.utility,
        },
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
        text="\n".join((judgement.summary, judgement.utility_reason, *judgement.reported_issues)),
        flags=judgement.flagged,
        errors=errors,
    )


def load_search_qa(path: Path, language: PromptLanguage = "auto") -> SearchQA:
    """The judge of a file of kind `search_qa`.

    Raises:
        InputError: see `load_llm_judge`.
    """
    return SearchQA({name: load_search_qa_judge(path, name) for name in LANGUAGES[language]})
