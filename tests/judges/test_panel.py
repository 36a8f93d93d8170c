import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gigamind.judges.asking import PanelMember
from gigamind.judges.panel import (
    PanelJudgeFile,
    Vote,
    decide_binary,
    decide_graded,
    first_members,
    panel_alpha,
    panel_members,
)

THREE = tuple(PanelMember("m", repeat) for repeat in range(3))
REPEATS = PanelJudgeFile(prompt="a/v1", repeats=3, adaptive=True)


def votes(*values):
    return {PanelMember("m", n): Vote(value) for n, value in enumerate(values) if value is not None}


def binary(*values, tie="unscored"):
    asked = tuple(PanelMember("m", n) for n in range(len(values)))
    return decide_binary(votes(*values), asked, PanelJudgeFile(prompt="a/v1", repeats=3, tie=tie))


def graded(*values):
    return decide_graded(
        votes(*values), tuple(PanelMember("m", n) for n in range(len(values))), REPEATS
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [((True,), True), ((True, True, False), True), ((True, False, False), False)],
)
def test_the_majority_decides(values, expected):
    verdict = binary(*values)
    assert (verdict.value, verdict.code, verdict.missing) == (expected, None, ())


@pytest.mark.parametrize(
    ("tie", "value", "code"),
    [("unscored", None, "panel_tied"), ("positive", True, None), ("negative", False, None)],
)
def test_a_split_in_halves_is_decided_by_the_rule_for_ties(tie, value, code):
    verdict = binary(True, False, tie=tie)
    assert (verdict.value, verdict.code) == (value, code)
    assert binary(True, True, False, False, tie=tie).value is value


@pytest.mark.parametrize(
    ("values", "expected"), [((0.2, 0.9, 0.8), 0.8), ((0.2, 0.4), 0.3), ((0.7,), 0.7)]
)
def test_the_median_decides_between_grades(values, expected):
    assert graded(*values).value == pytest.approx(expected)


@pytest.mark.parametrize("decide", [binary, graded])
def test_a_panel_that_lost_a_member_is_unscored_and_keeps_its_votes(decide):
    verdict = decide(True, True, None)
    assert (verdict.value, verdict.code) == (None, "panel_incomplete")
    assert verdict.missing == (PanelMember("m", 2),)
    assert len(verdict.votes) == 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [((True,), None), ((True, True), 0.0), ((True, True, False), 2 / 3), ((True, False), 1.0)],
)
def test_disagreement_is_the_share_of_pairs_that_differ(values, expected):
    assert binary(*values).disagreement == pytest.approx(expected)


def test_disagreement_of_grades_is_their_mean_distance():
    assert graded(0.2, 0.4, 0.9).disagreement == pytest.approx((0.2 + 0.5 + 0.7) / 3)


def test_a_panel_of_nobody_and_votes_of_strangers_are_mistakes():
    with pytest.raises(ValueError, match="panel member"):
        decide_binary({}, (), REPEATS)
    with pytest.raises(ValueError, match="panel member"):
        decide_graded(votes(0.1, 0.2), (PanelMember("m", 0),), REPEATS)


@given(st.lists(st.booleans(), min_size=1, max_size=9).filter(lambda v: 2 * sum(v) != len(v)))
def test_majority_and_median_agree_where_there_is_no_tie(values):
    assert binary(*values).value == bool(graded(*map(float, values)).value)


def test_seats_are_the_panel_or_the_repetitions_of_the_runs_model():
    assert panel_members(PanelJudgeFile(prompt="a/v1"), "m") == (PanelMember("m", 0),)
    assert panel_members(PanelJudgeFile(prompt="a/v1", repeats=3), "m") == THREE
    assert panel_members(PanelJudgeFile(prompt="a/v1", panel=("a", "b")), "m") == (
        PanelMember("a"),
        PanelMember("b"),
    )


def test_an_adaptive_panel_asks_one_seat_first_and_another_all_at_once():
    assert first_members(REPEATS, "m") == THREE[:1]
    assert first_members(PanelJudgeFile(prompt="a/v1", repeats=3), "m") == THREE


def test_agreement_of_the_seats_over_items():
    """Krippendorff's own binary example: alpha 0.095."""
    a, b = "0100000010", "1110010000"
    verdicts = [binary(x == "1", y == "1", tie="positive") for x, y in zip(a, b, strict=True)]
    found = panel_alpha(verdicts, "nominal", seed=42)
    assert found.value == pytest.approx(0.095, abs=0.0005)
    assert found.n == 10


def test_items_with_one_vote_have_no_part_in_the_agreement():
    verdicts = [graded(0.1, 0.2), graded(0.5), graded(0.9, 0.8)]
    assert panel_alpha(verdicts, "interval", seed=42).n == 2
    assert panel_alpha([graded(0.5)], "interval", seed=42).value is None
    assert panel_alpha([], "interval", seed=42).value is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"panel": ("a", "b"), "repeats": 2}, "`panel` or `repeats`"), ({"panel": ("a",)}, "panel"),
        ({"panel": ("a", "a")}, "panel"), ({"adaptive": True}, "adaptive"),
        ({"repeats": 0}, "repeats"), ({"near": 1.1}, "near"),
    ],
)  # fmt: skip
def test_a_panel_that_cannot_be_is_refused(fields, message):
    with pytest.raises(ValidationError, match=message):
        PanelJudgeFile(prompt="a/v1", **fields)
