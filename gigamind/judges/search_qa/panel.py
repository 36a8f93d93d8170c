"""Judges an answer by one model, or by a panel: several models, or one several times, whose judgements become one.

A claim's verdict is that of more than half of the seats, else the less favourable one; utility is the median.  All else
is told by the first of the seats that come closest to both.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gigamind.errors import LlmError
from gigamind.judges.ballot import hold_ballot
from gigamind.judges.panel import PanelVerdict, Seat, Vote, decide_graded
from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.judge import Judgement, cut_answer, judge_answer
from gigamind.judges.search_qa.reply import SearchQAJudge
from gigamind.judges.search_qa.rules import confidence, correctness
from gigamind.judges.search_qa.verify import JudgedClaim
from gigamind.llm.ask import LanguageModel

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
    models: Mapping[str, LanguageModel],
    judge: SearchQAJudge,
    case: AnswerCase,
    *,
    item_id: str,
    fence_key: bytes,
    fresh: bool = False,
) -> PanelOfAnswer:
    """The judgement of the seats of the judge file, each of whose models is among `models`, by name.

    Raises:
        LlmError: see `cut_answer`; and `judge_answer` for a judge without a panel, `hold_ballot` for one with.
    """
    said: dict[Seat, Judgement] = {}
    fields, first = judge.file, Seat(next(iter(models)))
    if not case.has_context:
        return PanelOfAnswer(None, None, {}, {})
    # All seats vote on the same claims, so one model cuts for all.
    pieces = await cut_answer(models[first.model], judge, case.answer, item_id=item_id, fresh=fresh)

    async def ask(seat: Seat) -> Vote[float]:
        found = await judge_answer(
            models[seat.model],
            judge,
            case,
            pieces,
            item_id=item_id,
            fence_key=fence_key,
            repeat=seat.repeat,
            fresh=fresh,
        )
        said[seat] = found
        graded = found.utility if found.correctness is None else found.correctness
        return Vote(graded, proven=_is_clear(found, fields.near))

    if not fields.is_panel:
        await ask(first)
        return PanelOfAnswer(said.get(first), None, {}, {})
    ballot = await hold_ballot(fields, first.model, ask, thresholds=_CORRECTNESS)
    votes = {seat: Vote(said[seat].utility) for seat in ballot.asked if seat in ballot.votes}
    panel = decide_graded(votes, ballot.asked)
    by_seat = {seat: said[seat] for seat in votes}
    whole = None if panel.value is None else _together(list(by_seat.values()), panel.value)
    return PanelOfAnswer(whole, panel, by_seat, ballot.errors)


def _is_clear(found: Judgement, near: float) -> bool:
    """Whether one seat is enough for an adaptive panel: no quote failed, and the utility is not near its threshold."""
    doubted = any(one.doubt is not None for one in found.claims)
    return not doubted and abs(found.utility - _UTILITY) > near


def _together(found: Sequence[Judgement], useful: float) -> Judgement:
    claims = tuple(_majority(rows) for rows in zip(*(one.claims for one in found), strict=True))
    correct = correctness(claims)
    speaker = min(found, key=lambda one: (_apart(one, correct), abs(one.utility - useful)))
    return replace(
        speaker,
        claims=claims,
        correctness=correct,
        utility=useful,
        confidence=confidence(correct, useful),
    )


def _majority(rows: Sequence[JudgedClaim]) -> JudgedClaim:
    """The claim as the majority has it; without one, as the first has it that does not call it supported."""
    verdict, count = Counter(row.verdict for row in rows).most_common(1)[0]
    if 2 * count > len(rows):
        return next(row for row in rows if row.verdict == verdict)
    return next(row for row in rows if row.verdict != "supported")


def _apart(one: Judgement, correct: float | None) -> float:
    return 0.0 if one.correctness is None or correct is None else abs(one.correctness - correct)
