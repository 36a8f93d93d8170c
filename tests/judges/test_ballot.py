import asyncio

import pytest

from gigamind.errors import LlmError
from gigamind.judges.asking import PanelMember
from gigamind.judges.panel import PanelJudgeFile, Vote, collect_votes, decide_binary, decide_graded

PANEL = PanelJudgeFile(prompt="a/v1", panel=("a", "b", "c"))
ADAPTIVE = PanelJudgeFile(prompt="a/v1", repeats=3, adaptive=True, near=0.1)


class Voters:
    """Seats with their votes or errors; keeps who was asked."""

    def __init__(self, votes):
        self.votes = votes
        self.asked = []

    async def __call__(self, seat):
        self.asked.append(seat)
        vote = self.votes[seat.repeat if seat.model == "m" else seat.model]
        if isinstance(vote, LlmError):
            raise vote
        return vote


def hold(fields, votes, thresholds=()):
    voters = Voters(votes)
    ballot = asyncio.run(collect_votes(fields, "m", voters, thresholds=thresholds))
    return ballot, voters.asked


def test_every_seat_of_a_panel_votes():
    ballot, asked = hold(PANEL, {"a": Vote(True), "b": Vote(False), "c": Vote(True)})
    assert asked == [PanelMember("a"), PanelMember("b"), PanelMember("c")]
    assert decide_binary(ballot.votes, ballot.members, PANEL).value is True


def test_a_seat_without_a_vote_leaves_the_item_unscored_with_its_reason():
    broken = LlmError("no", "invalid_output")
    ballot, _ = hold(PANEL, {"a": Vote(True), "b": broken, "c": Vote(True)})
    verdict = decide_binary(ballot.votes, ballot.members, PANEL)
    assert (verdict.value, verdict.code) == (None, "panel_incomplete")
    assert verdict.missing == (PanelMember("b"),)
    assert ballot.errors == {PanelMember("b"): broken}


@pytest.mark.parametrize(
    ("first", "asked"), [(0.5, 1), (0.69, 1), (0.7, 3), (0.75, 3), (0.8, 3), (0.9, 3), (0.91, 1)]
)
def test_an_adaptive_panel_asks_again_only_near_a_threshold(first, asked):
    ballot, seats = hold(ADAPTIVE, [Vote(first), Vote(0.9), Vote(0.6)], thresholds=[0.8])
    assert len(seats) == len(ballot.members) == asked
    assert decide_graded(ballot.votes, ballot.members, ADAPTIVE).value == first


def test_an_adaptive_panel_asks_again_where_quotes_failed():
    _, seats = hold(ADAPTIVE, [Vote(True, proven=False), Vote(False), Vote(False)])
    assert len(seats) == 3
    _, seats = hold(ADAPTIVE, [Vote(True)], thresholds=[0.9])  # a yes is no grade
    assert len(seats) == 1


def test_an_adaptive_panel_whose_first_seat_failed_asks_no_other():
    ballot, seats = hold(ADAPTIVE, [LlmError("no", "refused")] * 3)
    assert seats == [PanelMember("m", 0)]
    assert decide_graded(ballot.votes, ballot.members, ADAPTIVE).code == "panel_incomplete"


REST = PANEL.model_copy(update={"missing_seat": "majority_of_rest"})


def test_the_rest_of_a_panel_decides_where_its_file_says_so_and_they_are_more_than_half():
    broken = LlmError("no", "invalid_output")
    ballot, _ = hold(REST, {"a": Vote(True), "b": broken, "c": Vote(True)})
    verdict = decide_binary(ballot.votes, ballot.members, REST)
    assert (verdict.value, verdict.code, verdict.missing) == (True, None, (PanelMember("b"),))
    ballot, _ = hold(REST, {"a": Vote(0.4), "b": broken, "c": Vote(0.6)})
    assert decide_graded(ballot.votes, ballot.members, REST).value == pytest.approx(0.5)
    ballot, _ = hold(REST, {"a": Vote(True), "b": broken, "c": broken})
    verdict = decide_binary(ballot.votes, ballot.members, REST)
    assert (verdict.value, verdict.code) == (None, "panel_incomplete")


def test_an_adaptive_panel_whose_first_seat_failed_asks_the_rest_where_they_may_decide():
    fields = ADAPTIVE.model_copy(update={"missing_seat": "majority_of_rest"})
    ballot, seats = hold(fields, [LlmError("no", "refused"), Vote(0.2), Vote(0.4)])
    assert len(seats) == 3
    verdict = decide_graded(ballot.votes, ballot.members, fields)
    assert (verdict.value, verdict.missing) == (pytest.approx(0.3), (PanelMember("m", 0),))


def test_a_later_seat_that_failed_is_told_as_well():
    votes = [Vote(0.8), Vote(0.9), LlmError("no", "timeout")]
    ballot, _ = hold(ADAPTIVE, votes, thresholds=[0.8])
    assert decide_graded(ballot.votes, ballot.members, ADAPTIVE).missing == (PanelMember("m", 2),)
    assert ballot.errors[PanelMember("m", 2)].code == "timeout"


@pytest.mark.parametrize("code", ["budget_exceeded", "auth_failed", "quota_exhausted"])
def test_what_the_next_item_would_meet_too_is_no_fault_of_the_item(code):
    with pytest.raises(LlmError) as caught:
        hold(PANEL, {"a": Vote(True), "b": LlmError("no", code), "c": Vote(True)})
    assert caught.value.code == code


def test_a_bug_in_a_seat_is_not_taken_for_a_missing_vote():
    with pytest.raises(KeyError):
        hold(PANEL, {"a": Vote(True)})
