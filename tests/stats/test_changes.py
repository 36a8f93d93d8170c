from itertools import permutations
from statistics import mean

import numpy as np
import pytest

from gigamind.stats.changes import level_changes

LOW, HIGH = 0.7, 0.8


def places(series, **more):
    return [change.at for change in level_changes(series, seed=42, **more)]


def test_nine_runs_are_enough_for_a_change_and_seven_are_not():
    assert places({"mrr": [LOW] * 4 + [HIGH] * 5}) == [4]
    assert places({"mrr": [LOW] * 3 + [HIGH] * 4}) == []


def test_one_wild_night_is_no_new_level():
    assert places({"mrr": [HIGH] * 10 + [0.1] + [HIGH] * 10}) == []


def test_changes_on_either_side_of_a_change_are_found_too():
    assert places({"mrr": [LOW] * 10 + [HIGH] * 10 + [0.3] * 10}) == [10, 20]


def test_only_the_series_that_moved_are_named():
    steady = [HIGH, LOW] * 8
    moved = [value + (at >= 8) for at, value in enumerate(steady)]
    (change,) = level_changes({"steady": steady, "moved": moved}, seed=42)
    assert (change.at, change.series) == (8, ("moved",))


@pytest.mark.parametrize("series", [{}, {"mrr": []}, {"mrr": [0.5]}, {"mrr": [0.5] * 40}])
def test_what_never_moves_has_no_change(series):
    assert places(series) == []


def test_what_is_no_finite_number_is_refused():
    with pytest.raises(ValueError, match="finite"):
        level_changes({"mrr": [0.5, float("nan")]}, seed=42)


def farthest(ranks):
    """Pettitt's statistic by its definition, over the places of one series without ties."""
    n = len(ranks)
    middle, square = mean(ranks), sum((rank - mean(ranks)) ** 2 for rank in ranks)
    return max(
        abs(sum(ranks[:k]) - k * middle) / (k * (n - k) / (n * (n - 1)) * square) ** 0.5
        for k in range(1, n)
    )


def test_the_chance_is_that_of_all_orders():
    observed = farthest([1, 2, 3, 5, 4, 6])
    orders = [farthest(order) for order in permutations(range(1, 7))]
    exact = mean(far >= observed - 1e-9 for far in orders)
    (change, *_) = level_changes({"mrr": [1, 2, 3, 5, 4, 6]}, seed=42, level=0.99, shuffles=20_000)
    assert change.p_value == pytest.approx(exact, abs=0.01)


def test_histories_without_a_change_alarm_in_at_most_five_of_a_hundred():
    random = np.random.default_rng(11)
    alarms = 0
    for number in range(200):
        runs = int(random.integers(10, 31))
        figures = (
            random.normal(size=(3, runs)) if number % 2 else random.binomial(40, 0.9, (3, runs))
        )
        series = {str(name): list(row) for name, row in enumerate(figures)}
        alarms += bool(level_changes(series, seed=number, shuffles=499))
    assert alarms <= 10
