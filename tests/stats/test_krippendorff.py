"""Expected values: Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, and his Content Analysis, 2004."""

import numpy as np
import pytest

from gigamind.stats.agreement import krippendorff_alpha

_ = np.nan
FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T
THREE_CODERS = np.array(
    [
        [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
        [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
        [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
    ]
).T
BINARY = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], float).T
FIVE_CATEGORIES = np.array(
    [[1, 1, 2, 2, 4, 3, 3, 3, 5, 4, 4, 1], [2, 1, 2, 2, 2, 3, 3, 3, 5, 4, 4, 4]], float
).T


def alpha(ratings, level="nominal", seed=42):
    return krippendorff_alpha(np.asarray(ratings, float), level, seed=seed, label="t")


@pytest.mark.each(
    "ratings, level, expected",
    [
        (FOUR_OBSERVERS, "nominal", 0.743), (FOUR_OBSERVERS, "interval", 0.849),
        (BINARY, "nominal", 0.095), (FIVE_CATEGORIES, "nominal", 0.692),
        (THREE_CODERS, "nominal", 0.691), (THREE_CODERS, "interval", 0.811),
    ],
)  # fmt: skip
def test_the_published_examples(ratings, level, expected):
    assert alpha(ratings, level).value == pytest.approx(expected, abs=0.0005)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_items_that_nobody_else_rated_do_not_count(level):
    paired = ~np.isnan(FOUR_OBSERVERS).all(axis=1) & ((~np.isnan(FOUR_OBSERVERS)).sum(axis=1) > 1)
    assert alpha(FOUR_OBSERVERS, level) == alpha(FOUR_OBSERVERS[paired], level)
    assert alpha(FOUR_OBSERVERS, level).n == 11


@pytest.mark.parametrize("level", ["nominal", "interval"])
@pytest.mark.parametrize(
    "ratings",
    [np.empty((0, 2)), [[1, _], [_, 2]], [[1, 1], [1, 1]], [[0.1, 0.1, 0.1], [0.1, 0.1, _]]],
    ids=["none", "no pair", "one value", "one value that is no sum of twos"],
)
def test_alpha_without_a_pair_or_without_a_difference_is_unknown(ratings, level):
    found = alpha(ratings, level)
    assert (found.value, found.interval) == (None, None)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_full_agreement_on_several_values_is_1_and_how_sure_it_is_nobody_knows(level):
    found = alpha([[1, 1], [2, 2], [3, 3]], level)
    assert (found.value, found.interval) == (pytest.approx(1.0), None)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_one_item_has_an_alpha_of_0_and_no_interval(level):
    # Observed and expected disagreement are the same two values.
    found = alpha([[0, 1]], level)
    assert (found.value, found.interval) == (pytest.approx(0.0), None)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_the_interval_holds_the_value_and_depends_on_the_seed_alone(level):
    found = alpha(FOUR_OBSERVERS, level)
    assert found.interval.low < found.value < found.interval.high
    assert found == alpha(FOUR_OBSERVERS, level)
    assert found.interval != alpha(FOUR_OBSERVERS, level, seed=1).interval
