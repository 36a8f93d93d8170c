"""What reports say of a panel that judged answers: who voted how, and how far the votes agree."""

from collections.abc import Sequence

from gigamind.evals.panel_figures import panel_figures
from gigamind.judges.panel import PanelVerdict, Seat, Vote
from gigamind.judges.search_qa.panel import PanelOfAnswer
from gigamind.reports.answer_schema import AnswerItemReport, AnswerVoteReport
from gigamind.reports.judged import PanelReport

_PAIR = 2


def votes_of(asked: PanelOfAnswer) -> tuple[AnswerVoteReport, ...]:
    """The votes of the seats, those that gave none last."""
    given = [
        AnswerVoteReport(
            model=seat.model,
            repeat=seat.repeat,
            correctness=one.correctness,
            utility=one.utility,
            verdicts=tuple(claim.verdict for claim in one.claims),
        )
        for seat, one in asked.by_seat.items()
    ]
    lost = (
        AnswerVoteReport(model=seat.model, repeat=seat.repeat, code=error.code)
        for seat, error in asked.errors.items()
    )
    return (*given, *lost)


def panel_report(items: Sequence[AnswerItemReport], seed: int) -> PanelReport | None:
    """How far a panel agreed on correctness, or on utility where there is no claim; None where none voted."""
    voted = [item for item in items if item.votes]
    if not voted:
        return None
    cast = [{Seat(v.model, v.repeat): v for v in item.votes if not v.code} for item in voted]
    paired = [votes for votes in cast if len(votes) >= _PAIR]
    split = sum(
        len({(vote.verdicts, vote.utility) for vote in votes.values()}) > 1 for votes in paired
    )
    verdicts: list[PanelVerdict[float]] = [
        PanelVerdict(None, None, {s: Vote(_graded(v)) for s, v in votes.items()}, (), None)
        for votes in paired
    ]
    return panel_figures(
        verdicts,
        "interval",
        seats={seat for votes in cast for seat in votes},
        split=split,
        incomplete=sum(item.code == "panel_incomplete" for item in voted),
        tied=0,
        alone=sum(len(item.votes) == 1 for item in voted),
        seed=seed,
    )


def _graded(vote: AnswerVoteReport) -> float:
    graded = vote.utility if vote.correctness is None else vote.correctness
    return 0.0 if graded is None else graded
