import pytest
from fit_calibration import auc, brier


def test_auc_is_the_share_of_pairs_in_the_right_order_ties_counting_half():
    # Pairs (positive, negative): 0.9 > 0.4, 0.9 > 0.1, 0.4 = 0.4, 0.4 > 0.1.
    assert auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == pytest.approx(3.5 / 4)


def test_auc_is_undefined_with_one_kind_of_items():
    assert auc([0.2, 0.7], [True, True]) is None
    assert auc([0.2, 0.7], [False, False]) is None


def test_brier_is_the_mean_squared_distance():
    assert brier([1.0, 0.5, 0.2], [True, False, False]) == pytest.approx((0 + 0.25 + 0.04) / 3)
