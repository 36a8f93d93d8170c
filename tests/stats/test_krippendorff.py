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


def alpha(ratings):
    return krippendorff_alpha(np.asarray(ratings, float))


@pytest.mark.each(
    "ratings, expected",
    [(FOUR_OBSERVERS, 0.743), (BINARY, 0.095), (FIVE_CATEGORIES, 0.692), (THREE_CODERS, 0.691)],
)
def test_the_published_examples(ratings, expected):
    assert alpha(ratings) == pytest.approx(expected, abs=0.0005)


def test_items_that_nobody_else_rated_do_not_count():
    paired = (~np.isnan(FOUR_OBSERVERS)).sum(axis=1) > 1
    assert paired.sum() == 11
    assert alpha(FOUR_OBSERVERS) == alpha(FOUR_OBSERVERS[paired])


@pytest.mark.parametrize(
    "ratings",
    [np.empty((0, 2)), [[1, _], [_, 2]], [[1, 1], [1, 1]], [[0.1, 0.1, 0.1], [0.1, 0.1, _]]],
    ids=["none", "no pair", "one value", "one value that is no sum of twos"],
)
def test_alpha_without_a_pair_or_without_a_difference_is_unknown(ratings):
    assert alpha(ratings) is None


def test_full_agreement_is_1_and_one_disagreement_alone_is_chance():
    assert alpha([[1, 1], [2, 2], [3, 3]]) == pytest.approx(1.0)
    assert alpha([[0, 1]]) == pytest.approx(0.0)
