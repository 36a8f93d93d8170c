import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gigamind.stats.agreement import corrected_mean
from gigamind.stats.intervals import Interval

T_QUARTILE = {2: 0.8164965809, 3: 0.7648923284}  # Student's, by degrees of freedom, of any table


def corrected(labels, verdicts, unlabelled, clusters=None, confidence=0.95):
    values = (np.array(v, float) for v in (labels, verdicts, unlabelled))
    groups = None if clusters is None else np.array(clusters)
    return corrected_mean(*values, clusters=groups, confidence=confidence)


def test_a_case_worked_out_by_hand():
    found = corrected([1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 0, 0])
    # labels: mean 1/2; their covariance with the verdicts, (1.5 - 4 * 0.5 * 0.75 + 0.5) / 3 = 1/6
    # all verdicts: 9 of 12 are 1, variance 12/11 * 3/16 = 9/44; weight = (1/6) / ((1 + 4/8) * 9/44) = 44/81
    weight = 44 / 81
    assert found.weight == pytest.approx(weight)
    assert found.value == pytest.approx(0.5 + weight * (6 / 8 - 3 / 4))
    assert (found.judged, found.labelled, found.labels, found.items) == (0.75, 0.5, 4, 12)
    assert found.interval.low < found.value < found.interval.high


@pytest.mark.parametrize("verdicts", [[1, 1], [0, 0], [1, 0]])
def test_two_labels_of_1_tell_next_to_nothing(verdicts):
    found = corrected([1, 1], verdicts, [1, 1, 1, 0])
    assert (found.value, found.interval) == (1.0, Interval(0.0, 1.0))


def test_twenty_labels_of_1_leave_room_below():
    found = corrected([1] * 20, [1] * 20, [1] * 500)
    # 21.25 of 22.5; Student's t of 19 degrees: 2.093
    share = 21.25 / 22.5
    low = share - 2.093 * (share * (1 - share) / 21.5) ** 0.5
    assert (found.interval.low, found.interval.high) == (pytest.approx(low, abs=1e-4), 1.0)
    assert found.interval == found.labelled_interval


def test_the_bias_of_the_judge_is_taken_out():
    """A judge that says 0.2 too much everywhere, and nothing else wrong."""
    labels = np.linspace(0, 0.8, 50)
    found = corrected(labels, labels + 0.2, np.linspace(0.2, 1, 500))
    assert found.judged == pytest.approx(0.6)
    assert found.value == pytest.approx(0.4)


def test_labels_of_every_item_leave_nothing_to_correct():
    found = corrected([1, 0, 1], [1, 1, 1], [])
    assert (found.weight, found.value) == (0.0, pytest.approx(2 / 3))
    assert found.interval == found.labelled_interval


@pytest.mark.parametrize("verdicts", [[1, 1, 1, 1], [0, 0, 1, 1]], ids=["constant", "opposite"])
def test_a_judge_that_knows_nothing_counts_nothing(verdicts):
    found = corrected([1, 1, 0, 0], verdicts, [1, 0, 1, 1])
    assert (found.weight, found.value) == (0.0, 0.5)


def test_a_judge_that_says_too_little_counts_no_more_than_its_verdicts():
    """By the formula, the weight would be (0.2 / 3) / ((1 + 4/20) * 0.24 / 23), five and more."""
    found = corrected([1, 1, 0, 0], [0.6, 0.6, 0.4, 0.4], [0.6] * 15 + [0.4] * 5)
    assert (found.weight, found.value) == (1.0, pytest.approx(0.5 + 0.55 - 0.5))


def test_two_labels_are_needed():
    assert corrected([1], [1], [0, 1]) is None
    assert corrected([1, 0], [1, 0], [0, 1]) is not None


def test_values_outside_0_to_1_are_refused():
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        corrected([1, 0], [1, 2], [])
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        corrected([1, 0], [1, 0], [float("nan")])
    with pytest.raises(ValueError, match="equally long"):
        corrected([1, 0], [1], [])


def test_clusters_of_which_one_is_labelled_in_part_worked_out_by_hand():
    """The values of the case above, of seven answers; answer 2 has one claim with a label and one without."""
    found = corrected(
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1, 0, 0],
        clusters=[0, 0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6],
        confidence=0.5,  # an interval inside of 0 to 1
    )
    plain = corrected([1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 0, 0])
    weight = 44 / 81
    assert (
        (found.value, found.weight) == (plain.value, plain.weight) == (0.5, pytest.approx(weight))
    )
    # Three answers of 2, 1 and 1 labels: 16 / 6 independent ones, so a pair weighs as much as 1.5 labels.
    rest, pairs = [2 - 2 * weight, -weight, 0], [1 - weight, 0, 1, -weight]
    mean = (2 - 3 * weight + 1.5 * (1.25 - 1.25 * weight)) / 7.75
    labelled = [total - size * mean for total, size in zip(rest, (2, 1, 1), strict=True)]
    added = [1.5**2 * c * (p - mean) ** 2 for p, c in zip(pairs, (1, 1, 0.25, 0.25), strict=True)]
    variance = 5.5 / 4.5 * (sum(s * s for s in labelled) + sum(added)) / 7.75**2
    # Five answers of 1, 2, 2, 2 and 1 others: 64 / 14, so a pair weighs 1.75.
    other = (6 + 1.75 * 1.25) / 12.375
    others = [1 - other, 2 - 2 * other, 2 - 2 * other, 1 - 2 * other, -other]
    added = 1.75**2 * 1.25 * (other**2 + (1 - other) ** 2)
    variance += weight**2 * 7.5 / 6.5 * (sum(s * s for s in others) + added) / 12.375**2
    # Answer 2 is in both: 0 less a mean of 1/2 - 3/4 weight, and 1 less 3/4.
    shared = (3 / 4 * weight - 1 / 2) * 1 / 4
    variance += 2 * weight * (3 / 2 * 5 / 4) ** 0.5 * shared / (4 * 8)
    middle, arm = mean + weight * other, T_QUARTILE[2] * variance**0.5
    assert found.interval.low == pytest.approx(middle - arm)
    assert found.interval.high == pytest.approx(middle + arm)
    # labels alone, less 1/2: 1 of answer 0, -1/2 of 1 and of 2; pairs 1/2 and -1/2
    alone = 5.5 / 4.5 * (1 + 1 / 4 + 1 / 4 + 1.5**2 * 2.5 / 4) / 7.75**2
    assert found.labelled_interval.high == pytest.approx(0.5 + T_QUARTILE[2] * alone**0.5)
    assert 0 < found.labelled_interval.low < found.labelled_interval.high < 1
    assert (found.labels, found.label_clusters) == (4, 3)
    assert (found.items, found.item_clusters) == (12, 7)


def test_copies_of_a_label_tell_no_more_than_the_label():
    labels, verdicts = np.linspace(0, 0.8, 50), np.linspace(0.2, 1, 50)
    clusters = np.arange(50)
    alone = corrected(labels, verdicts, []).labelled_interval
    found = corrected(labels.repeat(3), verdicts.repeat(3), [], clusters.repeat(3))
    ends = pytest.approx((alone.low, alone.high))
    assert (found.labelled_interval.low, found.labelled_interval.high) == ends


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20),
    st.lists(st.floats(0, 1), max_size=20),
    st.randoms(),
)
def test_clusters_of_one_item_change_nothing(pairs, unlabelled, random):
    labels, verdicts = zip(*pairs, strict=True)
    clusters = random.sample(range(100), len(pairs) + len(unlabelled))
    found = corrected(labels, verdicts, unlabelled, clusters)
    assert found == corrected(labels, verdicts, unlabelled)
    assert (found.label_clusters, found.item_clusters) == (found.labels, found.items)
    # an average with the pairs as weights, and its variance
    rest = np.array(labels) - found.weight * np.array(verdicts)
    middle, variance = with_pairs(rest, found.weight)
    if found.weight:
        other, spread = with_pairs(unlabelled, 0)
        middle, variance = middle + found.weight * other, variance + found.weight**2 * spread
    arm = stats.t.ppf(0.975, len(labels) - 1) * variance**0.5
    assert found.interval.low == pytest.approx(max(0, min(found.value, middle - arm)), abs=1e-9)
    assert found.interval.high == pytest.approx(min(1, max(found.value, middle + arm)), abs=1e-9)


def with_pairs(values, weight):
    weights = np.array([1.0] * len(values) + [1, 1, 0.25, 0.25])
    every = np.concatenate([values, [1 - weight, 0, 1, -weight]])
    mean = np.average(every, weights=weights)
    return mean, np.average((every - mean) ** 2, weights=weights) / (weights.sum() - 1)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=12),
    st.lists(st.floats(0, 1), max_size=12),
    st.lists(st.integers(0, 6), min_size=24, max_size=24),
)
def test_an_interval_holds_its_value_and_has_a_width(pairs, unlabelled, clusters):
    labels, verdicts = zip(*pairs, strict=True)
    found = corrected(labels, verdicts, unlabelled, clusters[: len(pairs) + len(unlabelled)])
    if found is None:
        assert len(set(clusters[: len(pairs)])) == 1
        return
    for value, interval in (
        (found.value, found.interval),
        (found.labelled, found.labelled_interval),
    ):
        assert 0 <= interval.low <= value <= interval.high <= 1
        assert interval.high - interval.low > 0.05


def test_labels_of_one_cluster_are_too_few():
    assert corrected([1, 0], [1, 0], [0, 1], [3, 3, 4, 5]) is None
    assert corrected([1, 0], [1, 0], [0, 1], [3, 4, 4, 3]) is not None


def test_unlabelled_items_of_one_cluster_count_nothing():
    """They would narrow the interval, and nothing tells how far another answer would be off."""
    values = [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1]
    assert corrected(*values, [0, 1, 2, 3, 4, 4, 4, 4]).weight == 0
    assert corrected(*values, [0, 1, 2, 3, 4, 4, 4, 5]).weight > 0


def test_clusters_of_other_items_are_refused():
    with pytest.raises(ValueError, match="3 items have as many cluster numbers"):
        corrected([1, 0], [1, 0], [1], [0, 1])
