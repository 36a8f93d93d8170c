import pytest

from gigamind.metrics import links
from gigamind.metrics.spec import cutoffs
from gigamind.stats.agreement import expected_calibration_error


def suggested(target, confidence=0.5, *, exact=None, novel=True, accepted=None) -> links.Suggested:
    return links.Suggested(target, confidence, exact, novel, accepted)


def note(name, suggestions, expected, unlinked=None, language="en") -> links.LinkedNote:
    shown = tuple(suggestions)
    sets = tuple(frozenset(targets.split()) for targets in expected)
    return links.LinkedNote(
        name, language, shown, shown if unlinked is None else tuple(unlinked), sets
    )


# Two of four suggestions are right; one is at the removed place; one target is linked already; of three expected links
# two are found, the second by either of two notes.
FIRST = note(
    "a",
    [
        suggested("x", 0.9, exact=True, accepted=True),
        suggested("w", 0.8, accepted=False),
        suggested("z", 0.6, exact=False, novel=False),
        suggested("v", 0.1),
    ],
    ["x", "y z", "q"],
    unlinked=[suggested("x"), suggested("w"), suggested("v")],
)
SECOND = note("b", [], ["x"])


def test_the_figures_of_one_note_by_hand():
    values = FIRST.values(5)
    expected = {
        "precision_at_5": 2 / 4,
        "precision_at_5_ceiling": 1.0,  # x, y, z and q are right, and four were suggested
        "precision_over_5": 2 / 5,
        "precision_over_5_ceiling": 4 / 5,
        "recall_at_5": 2 / 3,
        "recall_at_5_ceiling": 1.0,
        "recall_at_5_excluding_linked": 1 / 3,
        "novelty_at_5": 3 / 4,
        "span_accuracy_at_5": 1 / 2,
        "precision_at_1": 1.0,
        "precision_over_3": 2 / 3,
        "recall_at_1": 1 / 3,
        "recall_at_1_ceiling": 1 / 3,
        "acceptance_proxy": 1 / 2,
    }
    assert {name: values[name] for name in expected} == pytest.approx(expected)


def test_a_note_without_suggestions_has_no_precision_but_a_recall():
    values = SECOND.values(5)
    assert values["precision_at_5"] is None
    assert values["precision_over_5"] == 0.0
    assert values["recall_at_5"] == 0.0
    assert values["novelty_at_5"] is None
    assert values["acceptance_proxy"] is None


def test_figures_over_notes_are_sums_divided():
    found = links.summarise_links([SECOND, FIRST], 5, seed=1)
    assert found["precision_at_5"].value == pytest.approx(2 / 4)
    assert found["precision_at_5"].n == 1
    assert found["precision_over_5"].value == pytest.approx(2 / 10)
    assert found["recall_at_5"].value == pytest.approx(2 / 4)
    assert found["recall_at_5"].n == 2
    # Drawing b alone gives 0.  Above it is Wilson's: three links of a and one of b are 16 / 10 independent ones, so
    # (0.5 + z^2 / 3.2 + z sqrt(0.25 / 1.6 + z^2 / 10.24)) / (1 + z^2 / 1.6)
    high = pytest.approx(0.9201, abs=1e-4)
    assert (found["recall_at_5"].low, found["recall_at_5"].high) == (0.0, high)
    assert found == links.summarise_links([FIRST, SECOND], 5, seed=1)
    assert links.summarise_links([], 5, seed=1) == {}


@pytest.mark.parametrize(
    ("topk", "expected"), [(1, [1]), (2, [1, 2]), (5, [1, 3, 5]), (7, [1, 3, 5, 7]), (10, [1, 3, 5, 10])]
)  # fmt: skip
def test_cutoffs_end_at_topk(topk, expected):
    assert cutoffs(topk) == expected


def test_two_suggestions_for_one_expected_link_are_two_hits_and_one_found():
    values = note("a", [suggested("x"), suggested("y")], ["x y"]).values(5)
    assert values["precision_at_5"] == 1.0
    assert values["recall_at_5"] == 1.0


def test_the_sweep_keeps_what_reaches_the_floor():
    points = {point.min_confidence: point for point in links.sweep_links([FIRST, SECOND], 5)}
    assert len(points) == 21
    assert (points[0.0].suggested, points[0.0].precision, points[0.0].recall) == (4, 0.5, 0.5)
    assert (points[0.6].suggested, points[0.6].precision) == (3, pytest.approx(2 / 3))
    assert (points[0.65].suggested, points[0.65].precision) == (2, 0.5)
    assert (points[0.9].suggested, points[0.9].precision, points[0.9].recall) == (1, 1.0, 0.25)
    assert (points[0.95].suggested, points[0.95].precision, points[0.95].recall) == (0, None, 0.0)


def test_the_precision_of_a_floor_has_wilsons_interval_of_as_many_suggestions_as_there_are_notes():
    """Of (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), z² = 3.8415 and p = 1: from 1 / (1 + z²/n) to 1."""
    right = [note(name, [suggested("x", 0.9), suggested("y", 0.9)], ["x", "y"]) for name in "ab"]
    points = {point.min_confidence: point for point in links.sweep_links(right, 5)}
    assert (points[0.3].suggested, points[0.3].precision) == (4, 1.0)
    assert points[0.3].low == pytest.approx(1 / (1 + 3.8415 / 2), abs=1e-5)
    assert points[0.3].high == 1.0
    assert (points[0.95].low, points[0.95].high) == (None, None)


def test_reliability_puts_the_highest_confidence_into_the_last_bin():
    notes = [note("a", [suggested("x", 1.0), suggested("w", 0.9), suggested("v", 0.15)], ["x"])]
    bins = links.reliability(notes)
    assert [(one.low, one.high, one.outcome.n, one.outcome.value) for one in bins] == [
        (0.1, 0.2, 1, 0.0),
        (0.9, 1.0, 2, 0.5),
    ]
    assert bins[1].confidence == pytest.approx(0.95)
    assert expected_calibration_error(bins) == pytest.approx((1 * 0.15 + 2 * 0.45) / 3)
    assert expected_calibration_error([]) is None
