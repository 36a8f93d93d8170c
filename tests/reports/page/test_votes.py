import pytest

from gigamind.records.judged import VoteReport
from gigamind.reports.model import member_names
from gigamind.tasks.answers.page import answer_votes
from gigamind.tasks.answers.schema import AnswerItemReport, AnswerVoteReport

ALL = ("supported", "contradicted", "not_found", "unverified")


@pytest.fixture
def item():
    """An answer with these votes."""

    def make(*votes):
        return AnswerItemReport(
            id="a",
            question="q",
            answer="It is so.",
            language="en",
            tags=(),
            notes=(),
            outcome="unscored",
            code="panel_incomplete",
            evaluation=None,
            metrics={},
            labels=None,
            flipped=None,
            votes=votes,
            latency_ms=1.0,
        )

    return make


def test_a_seat_is_called_by_its_model():
    votes = [VoteReport(model="b"), VoteReport(model="a"), VoteReport(model="b")]
    assert member_names(votes) == {("b", 0): "b", ("a", 0): "a"}


def test_seats_are_numbered_from_1_where_a_model_votes_several_times():
    # An adaptive panel asks only the first seat of most items: its name must not change with the item.
    votes = [AnswerVoteReport(model="a"), AnswerVoteReport(model="a", repeat=1)]
    assert list(member_names(votes).values()) == ["a #1", "a #2"]


def test_a_vote_is_its_seat_its_figures_and_a_digit_a_claim(item):
    vote = AnswerVoteReport(model="a", correctness=1 / 3, utility=0.75, verdicts=ALL)
    assert answer_votes(item(vote), {("a", 0): 4}) == [[4, "", 0.333, 0.75, "0123"]]


def test_a_seat_that_did_not_vote_is_told_with_the_reason_alone(item):
    votes = (AnswerVoteReport(model="a", utility=0.5), AnswerVoteReport(model="b", code="refused"))
    assert answer_votes(item(*votes), {("a", 0): 0, ("b", 0): 1}) == [
        [0, "", None, 0.5, ""],
        [1, "refused"],
    ]


def test_names_of_seats_stand_once_in_the_data_however_many_items_they_voted_on(item, listed):
    first = AnswerVoteReport(model="a", utility=1.0)
    second = first.model_copy(update={"repeat": 1})
    data, rows = listed(item(first), item(first, second), item())
    assert data["seats"] == ["a #1", "a #2"]
    assert [[vote[0] for vote in row["votes"]] for row in rows] == [[0], [0, 1], []]
