import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.stats.paired import PairedComparison, compare_metrics, compare_ratios


def _compare(baseline, current, seed=42, label="t"):
    pair = (np.array(baseline, dtype=np.float64), np.array(current, dtype=np.float64))
    return compare_metrics({"": pair}, seed=seed, label=label)[""]


def test_a_binary_comparison_worked_out_by_hand():
    # 8 of 10 change: 1 up, 7 down; McNemar 2 * 9 / 256.
    found = _compare([0] + [1] * 7 + [1, 0], [1] + [0] * 7 + [1, 0])
    assert (found.n, found.improved, found.worse, found.unchanged) == (10, 1, 7, 2)
    assert (found.baseline, found.current, found.difference) == (0.8, 0.2, -0.6)
    assert (found.test, found.p_value) == ("mcnemar", pytest.approx(18 / 256))
    assert -1 <= found.low < -0.6 < found.high <= 0


def test_a_graded_comparison_worked_out_by_hand():
    # Differences 1/2, 1/2, 1/4, 0, 0, 0: of 8 patterns, +++ and --- are as far from 0.
    found = _compare([0, 0.5, 0.5, 1, 0, 0.25], [0.5, 1, 0.75, 1, 0, 0.25])
    assert (found.n, found.improved, found.worse, found.unchanged) == (6, 3, 0, 3)
    assert (found.difference, found.test, found.p_value) == (1.25 / 6, "sign-flip", 0.25)
    assert found.detectable is None  # three changes tell no more than that they are too few
    # And six: 1/2, 1/2, 1/4, 1/2, 1/4, -1/2.  Sum of squares 9/8 - (3/2)**2 / 6 over 5: deviation 0.38730; t with 5
    # degrees: 2.57058 and 0.91954.
    found = _compare([0, 0.5, 0.5, 0.5, 0, 0.75], [0.5, 1, 0.75, 1, 0.25, 0.25])
    assert found.detectable == pytest.approx(3.49012 * 0.38730 / 6**0.5, abs=1e-4)


def test_a_ratio_few_of_whose_items_changed_has_no_detectable_difference():
    """What an equal item weighs changes with the others, so that all of them differ a little."""
    rows = np.array([[[1.0, 2.0]] * 2] * 20 + [[[1.0, 2.0], [0.0, 3.0]]] * 5)
    (found,) = compare_ratios({"r": rows}, seed=1, label="t").values()
    assert (found.n - found.unchanged, found.detectable) == (5, None)
    rows = np.append(rows, rows[-1:], axis=0)
    (found,) = compare_ratios({"r": rows}, seed=1, label="t").values()
    assert found.detectable is not None


def test_one_graded_value_makes_the_whole_metric_graded():
    binary = [0, 1] * 4
    assert _compare(binary, binary[::-1]).test == "mcnemar"
    assert _compare(binary, [0.5, *binary[1:]]).test == "sign-flip"
    assert _compare([0.5, *binary[1:]], binary).test == "sign-flip"
    assert _compare([-1, *binary[1:]], binary).test == "sign-flip"


def test_five_pairs_have_no_test_and_six_have_one():
    few = _compare([1] * 5, [0] * 5)
    assert (few.test, few.p_value, few.detectable) == (None, None, None)
    assert (few.difference, few.low, few.high) == (-1.0, -1.0, -1.0)
    enough = _compare([1] * 6, [0] * 6)
    assert (enough.test, enough.p_value) == ("mcnemar", 2 / 64)


def test_a_run_compared_with_itself_shows_nothing():
    values = np.random.default_rng(1).random(50)
    assert _compare(values, values) == PairedComparison(
        n=50, baseline=pytest.approx(values.mean()), current=pytest.approx(values.mean()),
        difference=0.0, low=0.0, high=0.0, test="sign-flip", p_value=1.0, detectable=None,
        improved=0, worse=0, unchanged=50,
    )  # fmt: skip


def test_one_pair_has_an_interval_of_no_width():
    found = _compare([0.25], [0.75])
    assert (found.n, found.difference, found.low, found.high) == (1, 0.5, 0.5, 0.5)


def test_equal_gains_that_differ_by_rounding_only_detect_nothing():
    baseline = np.full(10, 0.3)
    found = _compare(baseline, baseline + 0.1)
    assert (found.low, found.high) == (0.4 - 0.3, 0.4 - 0.3)
    assert found.detectable is None


def test_a_metric_is_compared_the_same_alone_and_among_others():
    generator = np.random.default_rng(4)
    pairs = {
        f"graded {n} {i}": (generator.random(n), generator.random(n))
        for n in (20, 30)
        for i in range(2)
    }
    pairs["binary"] = (np.array([0.0, 1.0] * 15), np.array([1.0, 1.0] * 15))
    together = compare_metrics(pairs, seed=42, label="t")
    assert list(together) == list(pairs)
    for metric, values in pairs.items():
        assert together[metric] == _compare(*values)


@pytest.mark.parametrize(
    ("baseline", "current", "message"),
    [
        ([], [], "equal length"), ([1, 0], [1], "equal length"),
        ([[1, 0]], [[1, 0]], "equal length"), ([1, np.nan], [1, 0], "finite"),
        ([1, 0], [1, np.inf], "finite"),
    ],
)  # fmt: skip
def test_what_is_no_pair_of_measured_values_is_refused(baseline, current, message):
    with pytest.raises(ValueError, match=message):
        _compare(baseline, current)


@given(
    st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 2), min_size=1, max_size=40),
    st.integers(),
)
def test_swapping_the_runs_turns_everything_round(pairs, seed):
    baseline, current = zip(*pairs, strict=True)
    there, back = _compare(baseline, current, seed), _compare(current, baseline, seed)
    assert back.difference == pytest.approx(-there.difference, abs=1e-12)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=1e-9)
    assert (back.p_value, back.test) == (there.p_value, there.test)
    assert back.improved == there.worse
    assert back.worse == there.improved
    assert back.unchanged == there.unchanged
    assert there.improved + there.worse + there.unchanged == there.n == len(pairs)


def ratio(*items, seed=1):
    """Compare items given as (over, under) in the baseline and (over, under) in the current run."""
    pairs = {"m": np.array(items, dtype=np.float64)}
    return compare_ratios(pairs, seed=seed, label="x").get("m")


def test_an_item_of_a_quotient_is_improved_by_its_own_quotient_not_by_its_weight():
    # The second item adds the same to both runs, though the denominators of the others moved its weight.
    found = ratio([[1, 2], [2, 2]], [[1, 4], [1, 4]], [[1, 1], [1, 3]])
    assert (found.improved, found.worse, found.unchanged) == (1, 1, 1)


def test_items_without_a_denominator_count_for_nothing():
    with_empty = ratio([[1, 2], [2, 2]], [[0, 0], [0, 0]], [[1, 1], [0, 1]])
    assert with_empty == ratio([[1, 2], [2, 2]], [[1, 1], [0, 1]])


def test_a_quotient_that_one_run_does_not_have_is_not_compared():
    assert ratio([[1, 2], [0, 0]]) is None


def test_quotients_over_ones_are_the_means_that_they_are():
    before, after = [0, 1, 1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 1, 1, 1, 1]
    items = [[[a, 1], [b, 1]] for a, b in zip(before, after, strict=True)]
    assert ratio(*items, seed=3) == _compare(before, after, seed=3, label="x")


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)),
        min_size=1,
        max_size=12,
    )
)
def test_the_means_of_quotients_are_the_quotients(rows):
    items = [[[min(a, b), b], [min(c, d), d]] for a, b, c, d in rows]
    found = ratio(*items)
    over, under = np.array(items, float).sum(axis=0).T
    if (under > 0).all():
        assert found.baseline == pytest.approx(over[0] / under[0])
        assert found.current == pytest.approx(over[1] / under[1])
    else:
        assert found is None


def test_the_difference_of_two_quotients_stays_within_what_is_possible():
    found = ratio([[0, 9], [1, 1]], [[0, 1], [1, 1]], [[0, 1], [1, 1]])
    assert found.difference == 1.0
    assert -1.0 <= found.low <= found.high <= 1.0


def test_an_item_that_leaves_a_quotient_changed_it_though_its_own_is_no_better():
    """A false alarm that is gone: it adds 0 of 1, then nothing."""
    found = ratio([[0, 1], [0, 0]], [[1, 1], [1, 1]])
    assert (found.improved, found.worse, found.unchanged) == (0, 0, 1)
