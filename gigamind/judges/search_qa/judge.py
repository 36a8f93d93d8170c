"""Judges an answer, by one model or a panel: what was told of its claims becomes verdicts, and a `Judgement`."""

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import ClassVar

from gigamind.choices import PromptLanguage
from gigamind.errors import LlmError
from gigamind.evidence.result import is_same_place
from gigamind.judges.asking import Asking, PlannedCall, Seat, counted
from gigamind.judges.panel import Vote, decide_graded, hold_ballot, is_near
from gigamind.judges.protocol import KEY, AnswerCase, PanelJudge, Scale, Verdict
from gigamind.judges.search_qa.asking import Calls, Questions
from gigamind.judges.search_qa.cutting import cut, cutting_calls
from gigamind.judges.search_qa.definition import SearchQAJudge, load_search_qa_judge
from gigamind.judges.search_qa.judgement import (
    Heard,
    Judgement,
    PanelOfAnswer,
    completeness,
    confidence,
    correctness,
    judgement_of,
    outcome,
    silent,
    utility,
    verdict_of,
)
from gigamind.judges.search_qa.omissions import JudgedOmission
from gigamind.judges.search_qa.reply import PartsReply, SearchQAReply
from gigamind.judges.search_qa.second_look import Statement, Trial
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.segments.claims import claims_of, pieces_of
from gigamind.judges.search_qa.segments.pieces import Piece
from gigamind.judges.search_qa.support import Passage
from gigamind.judges.search_qa.verify import JudgedClaim, Verifier, agreed
from gigamind.judges.spec import LANGUAGES
from gigamind.llm.options import ModelOptions


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
        return silent(case)
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


# Where the confidence of an answer changes: by its correctness, and by its utility.
_CORRECTNESS = (0.5, 0.8)
_UTILITY = 0.7


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
        completeness=completeness(claims, omissions, answerable=told, told=speaker.tells_omissions),
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


def load_search_qa(path: Path, language: PromptLanguage = "auto") -> SearchQA:
    """The judge of a file of kind `search_qa`.

    Raises:
        InputError: see `load_llm_judge`.
    """
    return SearchQA({name: load_search_qa_judge(path, name) for name in LANGUAGES[language]})
