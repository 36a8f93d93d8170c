from math import exp

import numpy as np
import pytest
from scipy import stats

from gigamind.stats.intervals import Estimate


def test_the_ratio_is_that_of_geometric_means_with_welchs_interval():
    over, under = [2.0, 8.0, 4.0], [1.0, 2.0, 2.0, 1.0, 4.0]
    found = Estimate.ratio_of_means(over, under)
    oracle = stats.ttest_ind(np.log(over), np.log(under), equal_var=False).confidence_interval(0.95)
    assert found.value == pytest.approx(4 / 2**0.8)  # the means are 4 and 2^(4/5)
    assert (found.low, found.high) == pytest.approx((exp(oracle.low), exp(oracle.high)))
    assert found.n == 3


def test_without_scatter_the_interval_is_the_ratio_and_without_repetition_there_is_none():
    equal = Estimate.ratio_of_means([3.0, 3.0], [2.0, 2.0])
    assert (equal.value, equal.low, equal.high) == pytest.approx((1.5, 1.5, 1.5))
    assert Estimate.ratio_of_means([3.0], [2.0, 2.0]).interval is None


@pytest.mark.parametrize(("over", "under"), [([], [1.0]), ([1.0], []), ([0.0], [1.0])])
def test_measurements_that_have_no_ratio_are_refused(over, under):
    with pytest.raises(ValueError, match="above 0"):
        Estimate.ratio_of_means(over, under)
