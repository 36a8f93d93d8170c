"""Which of many settings to take: nulls are kept, gains are found, and what is told of them is not flattered."""

import math

import numpy as np
import pytest

from gigamind.stats.selection import Selection


def beside(reference, *others):
    """Values of items under the reference and under others."""
    return np.column_stack([reference, *others]).astype(np.float64)


def chosen(values, seed=42):
    return Selection.of(values, seed=seed, label="test")


def noise(random, items, columns):
    """Values that belong to no column: those of each item in any order."""
    return random.permuted(random.choice([0.0, 0.3, 0.5, 1.0], size=(items, columns)), axis=1)


def test_the_chance_is_that_of_signs_with_one_unseen_loss():
    """Eleven items that all gain 1, and the unseen one: 1 + 12 of 2**12 patterns sum as high."""
    found = chosen(beside(np.zeros(11), np.ones(11)))
    assert found.p_values[1] == pytest.approx(13 / 2**12, abs=0.0025)
    assert found.p_values[0] == 1.0
    assert found.chosen
    assert found.chosen == found.best == 1


def test_equal_settings_are_kept_and_nothing_is_flattered():
    found = chosen(np.full((40, 5), 0.5))
    assert (found.chosen, found.best, found.selection_bias) == (0, 0, 0.0)
    assert found.detectable is None
    assert found.picked.tolist() == [1.0, 0, 0, 0, 0]
    assert found.corrected(0)[0] == 0.0


def test_a_setting_that_is_worse_is_never_taken():
    found = chosen(beside(np.ones(60), np.zeros(60)))
    assert (found.chosen, found.best) == (0, 0)
    assert found.gains[1] == -1.0
    assert found.highs[1] < 0


def test_a_planted_gain_is_found_among_noise_and_told_as_large_as_it_is():
    random = np.random.default_rng(1)
    values = noise(random, 400, 20)
    better = random.random(400) < 0.3
    values[better, 7] = 1.0
    found = chosen(values)
    assert (found.chosen, found.best) == (7, 7)
    told, interval = found.corrected(7)
    planted = 0.3 * (1 - 0.45)
    assert interval.low < planted < interval.high
    assert 0 < interval.low < told < interval.high
    assert found.detectable is not None
    assert found.detectable < planted


def test_of_settings_that_are_as_good_the_first_is_taken():
    random = np.random.default_rng(2)
    base = noise(random, 200, 1)[:, 0]
    good = np.where(random.random(200) < 0.5, 1.0, base)
    hardly_better = good.copy()
    hardly_better[np.flatnonzero(good < 1)[:1]] = 1.0
    found = chosen(beside(base, good, hardly_better))
    assert (found.best, found.chosen) == (2, 1)
    much_better = np.ones(200)
    assert chosen(beside(base, good, much_better)).chosen == 2


def test_noise_is_kept_and_what_it_seems_to_gain_is_gone_out_of_fold():
    """100 nulls: 3 may switch by chance, and more than 8 of 100 do so once in a hundred times."""
    random = np.random.default_rng(3)
    found = [chosen(noise(random, 60, 15), seed) for seed in range(100)]
    assert sum(bool(one.chosen) for one in found) <= 8
    looks = np.mean([one.gains[one.best] for one in found])
    told = np.mean([one.corrected(one.best)[0] for one in found])
    assert looks > 0.05
    assert abs(told) < looks / 5
    held = sum(one.corrected(one.best)[1].low <= 0 for one in found)
    assert held >= 92


def test_many_small_gains_beside_rare_losses_are_no_gain():
    """Each setting gains 0.1 on 30 % of the items and loses 0.6 on 5 %: nothing, of which few see all."""
    random = np.random.default_rng(4)
    switches = 0
    for seed in range(40):
        drawn = random.random((60, 1)) + 0.02 * random.random((60, 10))
        moved = np.where(drawn < 0.3, 0.1, np.where(drawn > 0.96, -0.6, 0.0))
        switches += bool(chosen(beside(np.full(60, 0.6), 0.6 + moved), seed).chosen)
    assert switches <= 3


def test_seed_and_values_decide_and_the_order_of_items_hardly():
    values = noise(np.random.default_rng(5), 50, 6)
    one, again, other = chosen(values), chosen(values), chosen(values, seed=43)
    assert one.p_values.tolist() == again.p_values.tolist()
    assert one.selection_bias == again.selection_bias
    assert other.p_values.tolist() != one.p_values.tolist()
    assert np.abs(other.p_values - one.p_values).max() < 0.04


def test_shares_of_folds_and_gains_out_of_fold_add_up():
    found = chosen(noise(np.random.default_rng(6), Selection.FOLDS * 12, 4))
    assert found.picked.sum() == pytest.approx(1)
    # folds of equal size: the mean of all picks is that of the columns, weighed by how often each was picked
    gained = np.nansum(found.picked * np.nan_to_num(found.fold_gains))
    assert gained == pytest.approx(found.gains[found.best] - found.selection_bias)
    assert all(
        math.isnan(gain) == (share == 0)
        for gain, share in zip(found.fold_gains, found.picked, strict=True)
    )


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((Selection.MIN_ITEMS - 1, 2)), np.zeros((Selection.MIN_ITEMS, 1)), np.full((20, 2), 1.5),
        np.full((20, 2), np.nan),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_from_is_refused(values):
    with pytest.raises(ValueError, match=r"too few|not in"):
        chosen(values)


def test_as_many_items_as_it_takes_are_enough():
    assert chosen(np.zeros((Selection.MIN_ITEMS, 2))).chosen == 0
    assert 0 < Selection.LEVEL < 0.05
