import hashlib
import statistics
import tracemalloc
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gigamind.stats import intervals
from gigamind.stats.intervals import Estimate, Interval, _mean_intervals, _ratio_intervals

MANY = 40_000  # resamples: the ends are then within 0.014 standard errors of their limit


def _column(*values):
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def _mean_interval(*values, seed=42, label="t", resamples=2_000, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_RESAMPLES", resamples)
        (found,) = _mean_intervals(_column(*values), seed=seed, label=label, **options)
    return found


def test_an_interval_worked_out_by_hand():
    # One success in four.  Drawing four: P(sum >= 3) = 13/256 = 5.1 % and P(4) = 1/256 = 0.4 %, so the upper 2.5 %
    # begins at 3/4; P(0) = 81/256, so the lower 2.5 % ends at 0.
    assert _mean_interval(1, 0, 0, 0) == Interval(0.0, 0.75, 0.95)


def test_a_lower_confidence_gives_a_narrower_interval():
    # P(sum >= 2) = 67/256 = 26 %: the upper 25 % begins at 2/4, the upper 30 % at 1/4.
    assert _mean_interval(1, 0, 0, 0, confidence=0.5, resamples=MANY) == Interval(0.0, 0.5, 0.5)
    assert _mean_interval(1, 0, 0, 0, confidence=0.4, resamples=MANY) == Interval(0.0, 0.25, 0.4)


def test_a_ratio_worked_out_by_hand():
    # Two items count in the denominator, one of them in the numerator; drawn alone, the first gives 1, the other 0.
    (found,) = _ratio_intervals(_column(1, 0, 0), _column(1, 1, 0), seed=42, label="t")
    assert found == Interval(0.0, 1.0)


def test_resamples_without_a_denominator_are_left_out():
    # 35 % of the resamples never draw the one item that counts; in the others the ratio is 1.
    (found,) = _ratio_intervals(_column(1, *[0] * 19), _column(1, *[0] * 19), seed=42, label="t")
    assert found == Interval(1.0, 1.0)


def test_clusters_of_unequal_size_worked_out_by_hand():
    # A one alone and a cluster of three zeros.  Of two draws half give each once: 1 of 4 items; the others give 1 or 0.
    found = _mean_interval(1, 0, 0, 0, clusters=np.array([5, 2, 2, 2]), confidence=0.4)
    assert found == Interval(0.25, 0.25, 0.4)
    found = _mean_interval(1, 0, 0, 0, clusters=np.array([5, 2, 2, 2]), confidence=0.6)
    assert found == Interval(0.0, 1.0, 0.6)


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_an_item_tell_no_more_than_the_item(copies):
    values = np.random.default_rng(3).random(30)
    (found,) = _mean_intervals(
        np.repeat(values, copies)[:, np.newaxis],
        seed=42,
        label="t",
        clusters=np.repeat(np.arange(30), copies),
    )
    alone = _mean_interval(*values)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-12)


@pytest.mark.parametrize(("clusters", "known"), [([0, 0], False), ([0, 1], True)])
def test_several_items_of_a_single_cluster_have_no_interval(clusters, known):
    found = _mean_interval(0.3, np.nan, 0.7, clusters=np.array([clusters[0], 9, clusters[1]]))
    assert (found is not None) is known


@given(st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=1, max_size=12), st.randoms())
def test_clusters_of_one_item_change_nothing(values, random):
    clusters = random.sample(range(100), len(values))
    clustered = _mean_interval(*values, clusters=np.array(clusters), resamples=200)
    assert clustered == _mean_interval(*values, resamples=200)


@pytest.mark.parametrize("values", [[0.3], [0.1, 0.1, 0.1], [np.nan, 0.7, np.nan], [1e-300] * 4])
def test_one_item_or_equal_items_give_a_degenerate_interval(values):
    value = next(value for value in values if not np.isnan(value))
    assert _mean_interval(*values) == Interval(value, value)


@pytest.mark.parametrize("values", [[], [np.nan], [np.nan, np.nan]])
def test_a_column_that_was_never_measured_has_no_interval(values):
    assert _mean_interval(*values) is None


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_ratio_over_nothing_has_no_interval(rows):
    nothing = np.zeros((rows, 2))
    assert _ratio_intervals(nothing, nothing, seed=42, label="t") == [None, None]


def test_items_that_a_column_lacks_are_never_drawn_for_it():
    values = [1.0, 0.0, 0.5, 0.25, 0.0, 1.0]
    sparse = [x for value in values for x in (np.nan, value, np.nan)]
    assert _mean_interval(*sparse) == _mean_interval(*values)


def test_a_column_has_the_same_interval_whatever_stands_beside_it():
    generator = np.random.default_rng(1)
    table = generator.random((200, 7))
    # The other five are summed in one matrix product.
    table[generator.random(200) < 0.2, 5:] = np.nan
    together = _mean_intervals(table, seed=42, label="t")
    assert together == [_mean_interval(*column) for column in table.T]
    backwards = _mean_intervals(table[:, ::-1].copy(), seed=42, label="t")
    assert backwards[::-1] == together


def test_seed_and_label_both_choose_the_draws():
    values = np.random.default_rng(2).random(50)
    assert _mean_interval(*values) == _mean_interval(*values)
    assert _mean_interval(*values, seed=43) != _mean_interval(*values)
    assert _mean_interval(*values, label="u") != _mean_interval(*values)
    assert _mean_interval(*values, seed=1, label="2t") != _mean_interval(*values, seed=12)


def test_intervals_are_those_of_a_plain_exact_computation():
    # 2000 x 97 draws: more than are held at once, so that pieces must join without a seam.
    values = [i * 7 % 33 for i in range(97)]
    digest = hashlib.sha256(b"42\0plain").digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    drawn = generator.integers(0, 97, size=(2000, 97)).tolist()
    means = sorted(Fraction(sum(values[i] for i in row), 97) for row in drawn)

    def percentile(share):
        below, part = divmod(share * 1999, 1)
        return means[int(below)] + part * (means[int(below) + 1] - means[int(below)])

    expected = (percentile(Fraction(25, 1000)), percentile(Fraction(975, 1000)))
    found = _mean_interval(*values, label="plain")
    assert (found.low, found.high) == pytest.approx([float(end) for end in expected], abs=1e-12)


@pytest.mark.parametrize(
    "draw",
    [
        lambda generator: generator.random(60),
        lambda generator: generator.exponential(size=60),
        lambda generator: (generator.random(60) < 0.8).astype(np.float64),
    ],
    ids=["uniform", "skewed", "binary"],
)
def test_means_agree_with_scipy(draw):
    sample = draw(np.random.default_rng(3))
    oracle = stats.bootstrap(
        (sample,), np.mean, n_resamples=MANY, method="percentile", rng=np.random.default_rng(4)
    ).confidence_interval
    found = _mean_interval(*sample, resamples=MANY)
    error = statistics.stdev(sample) / 60**0.5
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=0.1 * error)


def test_ratios_agree_with_scipy(monkeypatch):
    monkeypatch.setattr(intervals, "_RESAMPLES", MANY)
    generator = np.random.default_rng(5)
    under = (generator.random(80) < 0.6).astype(np.float64)
    over = under * (generator.random(80) < 0.7)

    def ratio(over, under, axis):
        return over.sum(axis=axis) / under.sum(axis=axis)

    oracle = stats.bootstrap(
        (over, under),
        ratio,
        paired=True,
        n_resamples=MANY,
        method="percentile",
        rng=np.random.default_rng(6),
    )
    ends = oracle.confidence_interval
    (found,) = _ratio_intervals(_column(*over), _column(*under), seed=42, label="t")
    close = 0.1 * oracle.standard_error
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=close)


def test_about_95_of_100_intervals_over_clusters_cover_the_true_mean(claims, monkeypatch):
    # 2 000 simulated shares of right verdicts, 0.6 * 0.9 + 0.4 * 0.75 in truth.  Binomial deviation 0.5 %.
    monkeypatch.setattr(intervals, "_RESAMPLES", 500)
    generator = np.random.default_rng(7)
    _, _, clusters = claims(generator, 100)
    sizes = np.bincount(clusters)
    samples = np.empty((clusters.size, 2_000))
    for column in samples.T:
        shared = generator.random(sizes.size)[clusters]
        along = generator.random(clusters.size) < 0.6
        column[:] = np.where(along, shared, generator.random(clusters.size)) < 0.84
    covered = [
        statistics.fmean(
            interval.low <= 0.84 <= interval.high
            for interval in _mean_intervals(samples, seed=42, label="coverage", clusters=drawn)
        )
        for drawn in (clusters, None)
    ]
    assert 0.93 <= covered[0] <= 0.97
    assert covered[1] < 0.85


@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=12), st.integers()
)
def test_an_interval_lies_within_the_values(values, seed):
    found = _mean_interval(*values, seed=seed, resamples=200)
    measured = [value for value in values if value == value]  # noqa: PLR0124 - NaN is not itself
    if not measured:
        assert found is None
    else:
        assert min(measured) <= found.low <= found.high <= max(measured)


def test_memory_stays_small_with_many_items():
    values = (np.arange(20_000) % 10 == 0).astype(np.float64)
    tracemalloc.start()
    found = _mean_interval(*values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6  # all draws at once would take 320 MB
    error = (0.1 * 0.9 / 20_000) ** 0.5
    assert found.low == pytest.approx(0.1 - 1.96 * error, abs=0.3 * error)
    assert found.high == pytest.approx(0.1 + 1.96 * error, abs=0.3 * error)


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
