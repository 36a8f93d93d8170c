import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.stats.paired import holm

P_VALUES = st.lists(st.floats(0, 1), max_size=20)


def test_four_metrics_worked_out_by_hand():
    # In order: 4 * 0.005, 3 * 0.01, 2 * 0.03, 1 * 0.04; the last may not fall below the one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_metric_without_a_test_stays_without_and_does_not_count():
    assert holm([None, 0.02, None, 0.03]) == [None, 0.04, None, 0.04]
    assert holm([None]) == [None]
    assert holm([]) == []


@pytest.mark.parametrize("wrong", [-0.01, 1.01, float("nan")])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        holm([0.5, wrong])


@given(P_VALUES)
def test_adjusted_values_lie_between_the_raw_ones_and_bonferronis(p_values):
    for raw, adjusted in zip(p_values, holm(p_values), strict=True):
        assert raw <= adjusted <= min(1.0, len(p_values) * raw)


@given(P_VALUES)
def test_adjustment_keeps_the_order(p_values):
    adjusted = [value for _, value in sorted(zip(p_values, holm(p_values), strict=True))]
    assert adjusted == sorted(adjusted)


@given(P_VALUES, st.randoms())
def test_the_order_of_the_metrics_does_not_matter(p_values, random):
    places = list(range(len(p_values)))
    random.shuffle(places)
    adjusted = holm(p_values)
    assert holm([p_values[place] for place in places]) == [adjusted[place] for place in places]
