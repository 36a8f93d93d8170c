from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.stats import intervals
from gigamind.stats.agreement import binary_agreement, graded_agreement
from gigamind.stats.intervals import Interval

# Twenty agree in "yes", fifteen in "no"; ten times the judge alone says yes, five times the label alone.
LABELS = np.array([True] * 20 + [False] * 10 + [True] * 5 + [False] * 15)
VERDICTS = np.array([True] * 30 + [False] * 20)

binary_pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)
grades = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20)


def binary(labels, verdicts, seed=42, clusters=None):
    return binary_agreement(
        np.array(labels, bool), np.array(verdicts, bool), seed=seed, label="t", clusters=clusters
    )


def graded(labels, verdicts, seed=42, clusters=None):
    return graded_agreement(
        np.array(labels, float), np.array(verdicts, float), seed=seed, label="t", clusters=clusters
    )


def weighted_kappa(pairs):
    """Cohen's weighted kappa from the table of all pairs of levels, in fractions; None when it is not defined."""
    n = len(pairs)
    observed = Fraction(sum((a - b) ** 2 for a, b in pairs), n)
    expected = Fraction(sum((a - b) ** 2 for a, _ in pairs for _, b in pairs), n * n)
    return None if expected == 0 else float(1 - observed / expected)


def test_figures_of_binary_verdicts_worked_out_by_hand():
    found = binary(LABELS, VERDICTS)
    assert {name: figure.value for name, figure in found.items()} == pytest.approx(
        {
            "accuracy": 35 / 50,
            "balanced_accuracy": (20 / 25 + 15 / 25) / 2,
            "sensitivity": 20 / 25,
            "specificity": 15 / 25,
            # 0.7 agree; by chance 0.6 * 0.5 + 0.4 * 0.5 = 0.5 would
            "cohen_kappa": (0.7 - 0.5) / (1 - 0.5),
        }
    )
    assert [figure.n for figure in found.values()] == [50, 50, 25, 25, 50]


def test_an_interval_of_a_share_is_that_of_a_binomial():
    interval = binary(LABELS, VERDICTS)["accuracy"].interval
    # 50 draws of a chance of 0.7 give 28 to 41 in 95 of 100 cases
    assert interval == Interval(0.56, 0.82)


def test_a_kappa_holds_its_value_inside_its_interval():
    kappa = binary(LABELS, VERDICTS)["cohen_kappa"]
    # 1.96 standard errors by Cohen's formula: sqrt(0.7 * 0.3 / (50 * 0.5^2)) = 0.1296
    assert kappa.interval.low == pytest.approx(0.4 - 0.254, abs=0.03)
    assert kappa.interval.high == pytest.approx(0.4 + 0.254, abs=0.03)


def test_figures_without_a_label_of_their_class_are_unknown():
    found = binary([True, True], [True, False])
    assert found["sensitivity"].value == 0.5
    for name in ("specificity", "balanced_accuracy"):
        assert (found[name].value, found[name].interval) == (None, None)
    assert found["specificity"].n == 0


@pytest.mark.parametrize("same", [True, False])
def test_kappa_of_two_columns_that_are_one_constant_is_unknown(same):
    found = binary([same] * 4, [same] * 4)
    assert (found["accuracy"].value, found["cohen_kappa"].value) == (1.0, None)


def test_kappa_of_a_judge_that_always_says_the_same_is_0():
    assert binary([True, False, False], [False] * 3)["cohen_kappa"].value == 0.0


def test_no_items_have_no_figures():
    assert all(figure.value is None and figure.n == 0 for figure in binary([], []).values())
    assert all(figure.value is None for figure in graded([], []).values())


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others():
    assert binary(LABELS, VERDICTS) == binary(LABELS, VERDICTS)
    kappas = [binary(LABELS, VERDICTS, seed)["cohen_kappa"].interval for seed in (1, 2)]
    assert kappas[0] != kappas[1]


def test_clusters_worked_out_by_hand():
    # Five right of one answer, five wrong of another.  Of two draws a quarter has either answer twice: 0 to 1.  Of ten
    # single claims all would be wrong once in a thousand: 0.2 to 0.8.
    labels, verdicts, clusters = [1] * 5 + [0] * 5, [1] * 10, np.repeat([0, 1], 5)
    found = binary(labels, verdicts, clusters=clusters)
    assert (found["accuracy"].value, found["accuracy"].interval) == (0.5, Interval(0.0, 1.0))
    assert binary(labels, verdicts)["accuracy"].interval == Interval(0.2, 0.8)
    assert {name: (figure.n, figure.clusters) for name, figure in found.items()} == {
        "accuracy": (10, 2), "balanced_accuracy": (10, 2), "sensitivity": (5, 1),
        "specificity": (5, 1), "cohen_kappa": (10, 2),
    }  # fmt: skip


def test_a_share_of_several_items_of_one_cluster_has_no_interval():
    found = binary([1, 1, 0], [1, 0, 0], clusters=np.array([0, 0, 1]))
    assert (found["sensitivity"].value, found["sensitivity"].interval) == (0.5, None)
    # one item, as without clusters: Wilson's 1 / (1 + 1.96^2)
    assert found["specificity"].interval == Interval(pytest.approx(0.2065, abs=1e-4), 1.0)
    assert (found["balanced_accuracy"].value, found["balanced_accuracy"].interval) == (0.75, None)


def test_figures_of_a_judge_that_made_no_mistake_have_a_width_or_no_interval():
    found = binary([1, 1, 1, 0], [1, 1, 1, 0])
    # By Wilson n / (n + 3.8415) of n in n; the arms of the mean of two are 1/2 sqrt(0.5615^2 + 0.7935^2).
    lows = {
        "accuracy": 4 / 7.8415, "sensitivity": 3 / 6.8415, "specificity": 1 / 4.8415,
        "balanced_accuracy": 1 - 0.48602,
    }  # fmt: skip
    for name, low in lows.items():
        assert found[name].interval == Interval(pytest.approx(low, abs=1e-4), 1.0)
    # At most 1 - 4 / 7.8415 of the verdicts are wrong, and 2 * 3/4 * 1/4 would be by chance.
    assert found["cohen_kappa"].interval == Interval(
        pytest.approx(1 - 0.48989 / 0.375, abs=1e-4), 1
    )


def test_graded_verdicts_that_are_all_right_may_still_be_wrong_by_the_whole_scale():
    found = graded([0.0, 0.5, 1.0, 0.5], [0.0, 0.5, 1.0, 0.5])["quadratic_kappa"]
    # Twice the variance of the labels, 1/8, is expected by chance, and at most 1 - 4 / 7.8415 is seen.
    assert found.interval == Interval(pytest.approx(1 - 0.48989 / 0.25, abs=1e-4), 1.0)
    many = graded([0.0, 0.5, 1.0, 0.5] * 50, [0.0, 0.5, 1.0, 0.5] * 50)["quadratic_kappa"]
    most = 1 - 200 / 203.8415
    assert many.interval == Interval(pytest.approx(1 - most / 0.25, abs=1e-4), 1.0)


def test_a_mean_of_two_shares_knows_that_one_of_them_is_near_1():
    # 80 of 100 negatives and 3 of 3 positives are right: the bootstrap sees the spread of the negatives alone.
    labels, verdicts = [0] * 100 + [1] * 3, [0] * 80 + [1] * 23
    found = binary(labels, verdicts)
    drawn = found["specificity"].interval  # twenty misses are enough for it
    assert drawn.high - drawn.low == pytest.approx(0.16, abs=0.01)
    balanced = found["balanced_accuracy"]
    below = (3.8415 / 6.8415) ** 2 + (0.8 - drawn.low) ** 2
    assert balanced.interval.low == pytest.approx(0.9 - below**0.5 / 2, abs=1e-4)
    assert balanced.interval.high == pytest.approx(0.9 + (drawn.high - 0.8) / 2, abs=1e-2)


def test_five_mistakes_in_each_class_are_enough_for_the_bootstrap():
    five = binary([1] * 20 + [0] * 20, [1] * 15 + [0] * 20 + [1] * 5)["balanced_accuracy"]
    four = binary([1] * 20 + [0] * 20, [1] * 16 + [0] * 19 + [1] * 5)["balanced_accuracy"]
    # 1.96 standard errors of 40 items, 15 right of each 20: 0.134
    assert five.interval.low == pytest.approx(0.75 - 0.134, abs=0.02)
    # Wilson's of 16 in 20, from 0.584, and 0.55 to 0.95 of 15 in 20: an arm of 1/2 sqrt(0.216^2 + 0.2^2)
    assert four.interval.low == pytest.approx(0.775 - 0.147, abs=0.01)


def test_errors_that_are_all_equal_have_no_interval():
    found = graded([0.0, 0.5, 1.0], [0.0, 0.5, 1.0])
    errors = (found["mean_error"], found["mean_absolute_error"])
    assert all(one.value == 0 and one.interval is None for one in errors)
    assert graded([0.0, 0.5, 1.0], [0.0, 0.5, 0.9])["mean_error"].interval is not None


def test_copies_of_items_tell_no_more_than_the_items():
    """Each item twice, as a cluster: the sums double exactly, so shares, kappas and intervals stay what they were."""
    clusters = np.repeat(np.arange(50), 2)
    doubled = binary(LABELS.repeat(2), VERDICTS.repeat(2), clusters=clusters)
    for name, alone in binary(LABELS, VERDICTS).items():
        found = doubled[name]
        assert (found.value, found.interval) == (alone.value, alone.interval)
        assert (found.n, found.clusters) == (2 * alone.n, alone.n)
    naive = binary(LABELS.repeat(2), VERDICTS.repeat(2))["accuracy"].interval
    assert naive.high - naive.low < 0.8 * (0.82 - 0.56)  # by 1 / sqrt(2)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30), st.randoms())
@settings(max_examples=30, deadline=None)
def test_clusters_of_one_item_change_nothing(pairs, random):
    labels, verdicts = zip(*pairs, strict=True)
    clusters = np.array(random.sample(range(100), len(pairs)))
    for judged in (binary, graded):
        assert judged(labels, verdicts, clusters=clusters) == judged(labels, verdicts)


def test_clusters_of_other_items_are_refused():
    for judged in (binary, graded):
        with pytest.raises(ValueError, match="2 items have as many cluster numbers"):
            judged([1, 0], [1, 0], clusters=np.array([0, 0, 1]))


def test_95_percent_intervals_over_clusters_cover_the_truth_and_those_over_items_do_not(
    claims, monkeypatch
):
    """400 simulations: a coverage of 95 % deviates by 1.1 %, and three of that are 92 to 98 of 100."""
    monkeypatch.setattr(intervals, "_RESAMPLES", 500)  # enough for ends that are off by a little
    generator = np.random.default_rng(7)
    # By the chances of `claims`: 0.54 yes and yes, 0.30 no and no, 0.10 judged yes besides.
    accuracy, chance = 0.84, 0.6 * 0.64 + 0.4 * 0.36
    truth = {"accuracy": accuracy, "cohen_kappa": (accuracy - chance) / (1 - chance)}
    held = {(name, clustered): [] for name in truth for clustered in (True, False)}
    for seed in range(400):
        labels, verdicts, clusters = claims(generator, 100)
        # over items a fourth of the simulations will do: it takes long, and the coverage is far off
        for clustered in (True, False)[: 1 if seed % 4 else 2]:
            found = binary(labels, verdicts, seed, clusters if clustered else None)
            for name, true in truth.items():
                interval = found[name].interval
                held[name, clustered].append(interval.low <= true <= interval.high)
    for name in truth:
        assert 0.92 <= np.mean(held[name, True]) <= 0.98
        assert np.mean(held[name, False]) < 0.88


@given(binary_pairs)
@settings(max_examples=30, deadline=None)
def test_kappa_on_two_levels_is_the_weighted_kappa(pairs):
    labels, verdicts = zip(*pairs, strict=True)
    expected = weighted_kappa([(int(a), int(b)) for a, b in pairs])
    assert binary(labels, verdicts)["cohen_kappa"].value == pytest.approx(expected)


@given(grades)
def test_the_quadratic_kappa_is_cohens_on_levels(pairs):
    labels, verdicts = zip(*pairs, strict=True)
    found = graded(labels, verdicts)["quadratic_kappa"].value
    assert found == pytest.approx(weighted_kappa(pairs), abs=1e-9)


def test_the_quadratic_kappa_does_not_change_with_the_scale():
    labels, verdicts = [0, 1, 2, 3, 4, 4], [0, 2, 2, 3, 3, 4]
    # squares apart: 2 of 6 pairs by 1; all pairs of the two columns: 98 + ... = 150 / 36 on average
    expected = weighted_kappa(list(zip(labels, verdicts, strict=True)))
    scaled = graded(np.array(labels) / 4, np.array(verdicts) / 4)["quadratic_kappa"]
    assert scaled.value == pytest.approx(expected)
    assert scaled.interval.low < scaled.value <= scaled.interval.high


def test_errors_of_graded_verdicts_worked_out_by_hand():
    found = graded([0.0, 0.5, 1.0, 1.0], [0.5, 0.5, 0.5, 1.0])
    assert found["mean_absolute_error"].value == pytest.approx(0.25)
    assert found["mean_error"].value == pytest.approx(0.0)
    assert graded([0.0, 0.0], [0.5, 0.25])["mean_error"].value == pytest.approx(0.375)


def test_the_quadratic_kappa_of_equal_constants_is_unknown_and_of_different_ones_0():
    assert graded([0.1] * 3, [0.1] * 3)["quadratic_kappa"].value is None
    assert graded([0.1] * 3, [0.7] * 3)["quadratic_kappa"].value == pytest.approx(0.0, abs=1e-9)


def test_columns_of_different_length_or_without_numbers_are_refused():
    with pytest.raises(ValueError, match="equally long"):
        binary([True], [True, False])
    with pytest.raises(ValueError, match="equally long"):
        graded([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="not a finite number"):
        graded([1.0, float("nan")], [1.0, 1.0])
