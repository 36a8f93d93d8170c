"""Judges an answer by one model, or by a panel: several models, or one several times, whose judgements become one.

A claim's verdict is that of more than half of the seats, else it is not supported; utility is the median, by the rule
for abstentions.  What figures do not decide is told by the first of the seats that come closest to them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from gigamind.errors import LlmError
from gigamind.judges.ballot import hold_ballot
from gigamind.judges.panel import PanelVerdict, Seat, Vote, decide_graded, is_near
from gigamind.judges.search_qa.asking import AnswerCase
from gigamind.judges.search_qa.coverage import agreed
from gigamind.judges.search_qa.judge import Judgement, cut_answer, judge_answer
from gigamind.judges.search_qa.reply import SearchQAJudge
from gigamind.judges.search_qa.rules import Outcome, confidence, correctness, utility
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
