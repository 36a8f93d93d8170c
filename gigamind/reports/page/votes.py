"""Who of a panel voted how, as compact JSON for report.html: a seat by its number, a verdict by a digit."""

from collections.abc import Iterable, Mapping
from typing import get_args

from gigamind.reports.answer_schema import AnswerItemReport, AnswerVoteReport
from gigamind.reports.judged import VoteReport
from gigamind.reports.search_qa import Verdict

Seat = tuple[str, int]

_DIGITS = {verdict: str(digit) for digit, verdict in enumerate(get_args(Verdict))}
_DECIMALS = 3  # as many as the page shows


def seat_of(vote: VoteReport | AnswerVoteReport) -> Seat:
    """Its model, and the number of its repetition from 0."""
    return vote.model, vote.repeat


def seat_names(votes: Iterable[VoteReport | AnswerVoteReport]) -> dict[Seat, str]:
    """What each seat is called: its model, with the number from 1 where models vote several times; as first met."""
    seats = dict.fromkeys(map(seat_of, votes))
    repeated = any(repeat for _, repeat in seats)
    return {seat: f"{seat[0]} #{seat[1] + 1}" if repeated else seat[0] for seat in seats}


def answer_votes(item: AnswerItemReport, places: Mapping[Seat, int]) -> list[list[object]]:
    """Of each seat its place, why it did not vote, correctness, utility, and a digit a claim: its place in `Verdict`.

    A seat that did not vote ends with the reason.
    """
    return [
        [places[seat_of(vote)], vote.code]
        if vote.code
        else [
            places[seat_of(vote)],
            "",
            None if vote.correctness is None else round(vote.correctness, _DECIMALS),
            vote.utility,
            "".join(_DIGITS[verdict] for verdict in vote.verdicts),
        ]
        for vote in item.votes
    ]
