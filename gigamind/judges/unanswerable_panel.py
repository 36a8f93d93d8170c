"""Puts a question to every seat of a judge file's panel, and makes one verdict of their votes.

A file without a panel has one seat: its verdict is that model's, and its errors are that model's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gigamind.errors import LlmError
from gigamind.judges.ballot import Ballot, hold_ballot
from gigamind.judges.panel import PanelVerdict, Seat, Vote, decide_binary
from gigamind.judges.spec import LlmJudge
from gigamind.judges.unanswerable_llm import LlmVerdict, UnanswerableJudgeFile, judge_by_model
from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import Source

Judge = LlmJudge[UnanswerableJudgeFile]


@dataclass(frozen=True, slots=True)
class PanelJudgement:
    """What the seats said about one question, and what that amounts to.

    Attributes:
        verdict: as if one model had given it; None when the panel gave none.  Answer and quotes are those of the first
            seat that voted as the panel decided, a proven one if there is; a panel states no confidence.
        panel: None when one model alone was asked, or nobody.
        by_seat: what each seat that voted said.
        errors: why a seat did not vote.
    """

    verdict: LlmVerdict | None
    panel: PanelVerdict[bool] | None
    by_seat: Mapping[Seat, LlmVerdict]
    errors: Mapping[Seat, LlmError]

    @property
    def why(self) -> str:
        """Why there is no verdict, in a sentence; "" when there is one."""
        if self.panel is None or self.panel.code is None:
            return ""
        if self.panel.code == "panel_tied":
            return "the votes of the panel are split in halves, and its judge file decides nothing then (tie)"
        seat, error = next(iter(self.errors.items()))
        asked = len(self.by_seat) + len(self.errors)
        return f"{len(self.errors)} of {asked} seats of the panel gave no vote: {seat.model}: {error} ({error.code})"


async def judge_by_panel(
    models: Mapping[str, LanguageModel],
    judge: Judge,
    question: str,
    notes: Sequence[Source],
    *,
    item_id: str,
    fence_key: bytes,
    fresh: bool = False,
) -> PanelJudgement:
    """The judgement of all seats of the judge file; without notes, unanswerable without asking.

    Args:
        models: those of the panel by name, or the one of the run.
        fresh: ask even where a reply is stored.

    Raises:
        LlmError: the one model of a judge without a panel gave no usable reply, or the budget is used up.
    """
    said: dict[Seat, LlmVerdict] = {}

    async def ask(seat: Seat) -> Vote[bool]:
        found = said[seat] = await judge_by_model(
            models[seat.model],
            judge,
            question,
            notes,
            item_id=item_id,
            fence_key=fence_key,
            repeat=seat.repeat,
            fresh=fresh,
        )
        return Vote(found.unanswerable, proven=found.verified or found.told is not False)

    first = Seat(next(iter(models)))
    if not notes or not judge.file.is_panel:
        await ask(first)
        return PanelJudgement(said[first], None, {}, {})
    ballot = await hold_ballot(judge.file, first.model, ask)
    panel = decide_binary(ballot.votes, ballot.asked, judge.file.tie)
    by_seat = {seat: said[seat] for seat in ballot.asked if seat in ballot.votes}
    return PanelJudgement(_verdict(panel, by_seat, ballot, judge), panel, by_seat, ballot.errors)


def _verdict(
    panel: PanelVerdict[bool],
    by_seat: Mapping[Seat, LlmVerdict],
    ballot: Ballot[bool],
    judge: Judge,
) -> LlmVerdict | None:
    if panel.value is None:
        return None
    agreeing = [one for one in by_seat.values() if one.unanswerable == panel.value]
    speaker = max(agreeing, key=lambda one: one.verified)  # the first of equals
    told = {seat: Vote(one.told is not False) for seat, one in by_seat.items()}
    return LlmVerdict(
        unanswerable=panel.value,
        told=decide_binary(told, ballot.asked, judge.file.tie).value,
        verified=2 * sum(one.verified for one in by_seat.values()) > len(by_seat),
        answer=speaker.answer,
        confidence=None,
        evidence=speaker.evidence,
        flagged=speaker.flagged,
        weak=speaker.weak,
    )
