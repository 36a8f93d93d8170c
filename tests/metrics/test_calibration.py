import pytest

from gigamind.metrics.calibration import auc, brier, expected_calibration_error


def test_auc_is_the_share_of_pairs_in_the_right_order_ties_counting_half():
    # Pairs (positive, negative): 0.9 > 0.4, 0.9 > 0.1, 0.4 = 0.4, 0.4 > 0.1.
    assert auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == pytest.approx(3.5 / 4)


def test_auc_is_undefined_with_one_kind_of_items():
    assert auc([0.2, 0.7], [True, True]) is None
    assert auc([0.2, 0.7], [False, False]) is None


def test_brier_is_the_mean_squared_distance():
    assert brier([1.0, 0.5, 0.2], [True, False, False]) == pytest.approx((0 + 0.25 + 0.04) / 3)


def test_calibration_error_compares_promise_and_truth_bin_by_bin():
    # [0.8, 0.9): promised 0.8 and 0.84, one of two true; [0.9, 1]: promised 1.0, true.
    error = expected_calibration_error([0.8, 0.84, 1.0], [True, False, True])
    assert error == pytest.approx((1.64 - 1) / 3)
    # Errors in one bin cancel out, those of two bins do not.
    assert expected_calibration_error([0.55, 0.55], [True, False]) == pytest.approx(0.05)
    assert expected_calibration_error([0.0, 1.0], [True, False]) == 1.0
