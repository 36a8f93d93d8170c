from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.stats.agreement import binary_agreement, graded_agreement
from gigamind.stats.intervals import Interval

# Twenty agree in "yes", fifteen in "no"; ten times the judge alone says yes, five times the label alone.
LABELS = np.array([True] * 20 + [False] * 10 + [True] * 5 + [False] * 15)
VERDICTS = np.array([True] * 30 + [False] * 20)

binary_pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)
grades = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20)


def binary(labels, verdicts, seed=42):
    return binary_agreement(np.array(labels, bool), np.array(verdicts, bool), seed=seed, label="t")


def graded(labels, verdicts, seed=42):
    return graded_agreement(
        np.array(labels, float), np.array(verdicts, float), seed=seed, label="t"
    )


def weighted_kappa(pairs):
    """Cohen's weighted kappa from the table of all pairs of levels, in fractions; None when it is not defined."""
    n = len(pairs)
    observed = Fraction(sum((a - b) ** 2 for a, b in pairs), n)
    expected = Fraction(sum((a - b) ** 2 for a, _ in pairs for _, b in pairs), n * n)
    return None if expected == 0 else float(1 - observed / expected)


def test_figures_of_binary_verdicts_worked_out_by_hand():
    found = binary(LABELS, VERDICTS)
    assert {name: figure.value for name, figure in found.items()} == pytest.approx(
        {
            "accuracy": 35 / 50,
            "balanced_accuracy": (20 / 25 + 15 / 25) / 2,
            "sensitivity": 20 / 25,
            "specificity": 15 / 25,
            # 0.7 agree; by chance 0.6 * 0.5 + 0.4 * 0.5 = 0.5 would
            "cohen_kappa": (0.7 - 0.5) / (1 - 0.5),
        }
    )
    assert [figure.n for figure in found.values()] == [50, 50, 25, 25, 50]


def test_an_interval_of_a_share_is_that_of_a_binomial():
    interval = binary(LABELS, VERDICTS)["accuracy"].interval
    # 50 draws of a chance of 0.7 give 28 to 41 in 95 of 100 cases
    assert interval == Interval(0.56, 0.82)


def test_a_kappa_holds_its_value_inside_its_interval():
    kappa = binary(LABELS, VERDICTS)["cohen_kappa"]
    # 1.96 standard errors by Cohen's formula: sqrt(0.7 * 0.3 / (50 * 0.5^2)) = 0.1296
    assert kappa.interval.low == pytest.approx(0.4 - 0.254, abs=0.03)
    assert kappa.interval.high == pytest.approx(0.4 + 0.254, abs=0.03)


def test_figures_without_a_label_of_their_class_are_unknown():
    found = binary([True, True], [True, False])
    assert found["sensitivity"].value == 0.5
    for name in ("specificity", "balanced_accuracy"):
        assert (found[name].value, found[name].interval) == (None, None)
    assert found["specificity"].n == 0


@pytest.mark.parametrize("same", [True, False])
def test_kappa_of_two_columns_that_are_one_constant_is_unknown(same):
    found = binary([same] * 4, [same] * 4)
    assert (found["accuracy"].value, found["cohen_kappa"].value) == (1.0, None)


def test_kappa_of_a_judge_that_always_says_the_same_is_0():
    assert binary([True, False, False], [False] * 3)["cohen_kappa"].value == 0.0


def test_no_items_have_no_figures():
    assert all(figure.value is None and figure.n == 0 for figure in binary([], []).values())
    assert all(figure.value is None for figure in graded([], []).values())


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others():
    assert binary(LABELS, VERDICTS) == binary(LABELS, VERDICTS)
    kappas = [binary(LABELS, VERDICTS, seed)["cohen_kappa"].interval for seed in (1, 2)]
    assert kappas[0] != kappas[1]


@given(binary_pairs)
@settings(max_examples=30, deadline=None)
def test_kappa_on_two_levels_is_the_weighted_kappa(pairs):
    labels, verdicts = zip(*pairs, strict=True)
    expected = weighted_kappa([(int(a), int(b)) for a, b in pairs])
    assert binary(labels, verdicts)["cohen_kappa"].value == pytest.approx(expected)


@given(grades)
@settings(max_examples=50, deadline=None)
def test_the_quadratic_kappa_is_cohens_on_levels(pairs):
    labels, verdicts = zip(*pairs, strict=True)
    found = graded(labels, verdicts)["quadratic_kappa"].value
    assert found == pytest.approx(weighted_kappa(pairs), abs=1e-9)


def test_the_quadratic_kappa_does_not_change_with_the_scale():
    labels, verdicts = [0, 1, 2, 3, 4, 4], [0, 2, 2, 3, 3, 4]
    # squares apart: 2 of 6 pairs by 1; all pairs of the two columns: 98 + ... = 150 / 36 on average
    expected = weighted_kappa(list(zip(labels, verdicts, strict=True)))
    scaled = graded(np.array(labels) / 4, np.array(verdicts) / 4)["quadratic_kappa"]
    assert scaled.value == pytest.approx(expected)
    assert scaled.interval.low < scaled.value <= scaled.interval.high


def test_errors_of_graded_verdicts_worked_out_by_hand():
    found = graded([0.0, 0.5, 1.0, 1.0], [0.5, 0.5, 0.5, 1.0])
    assert found["mean_absolute_error"].value == pytest.approx(0.25)
    assert found["mean_error"].value == pytest.approx(0.0)
    assert graded([0.0, 0.0], [0.5, 0.25])["mean_error"].value == pytest.approx(0.375)


def test_the_quadratic_kappa_of_equal_constants_is_unknown_and_of_different_ones_0():
    assert graded([0.1] * 3, [0.1] * 3)["quadratic_kappa"].value is None
    assert graded([0.1] * 3, [0.7] * 3)["quadratic_kappa"].value == pytest.approx(0.0, abs=1e-9)


def test_columns_of_different_length_or_without_numbers_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        binary([True], [True, False])
    with pytest.raises(ValueError, match="equally long"):
        graded([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="not a finite number"):
        graded([1.0, float("nan")], [1.0, 1.0])
