"""Paired comparison of two runs on the same items: tests, detectable differences and non-inferiority.

`_mcnemar` is for values in {0, 1}, `_sign_flip` (Fisher's randomisation test) for graded values.  Sign-flip tests the
difference that reports and gates show, and is exact.  Wilcoxon misses real differences and reports false ones: Smucker,
Allan & Carterette, "A comparison of statistical significance tests for information retrieval evaluation", CIKM 2007.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, fsum, inf
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from gigamind.stats.intervals import CONFIDENCE, Interval, Matrix, resampled_sums, summable
from gigamind.stats.special import beta_quantile, binomial_cdf, binomial_pmf, student_quantile

MIN_PAIRS = 6  # five changes in one direction give p = 2 / 2**5 = 0.0625, above 0.05
_FLIPS = 9_999
_ENUMERATED = 12  # up to 4 096 sign patterns
_BLOCK_BYTES = 1 << 20
_TIE = 1e-12  # relative to the largest sum: 0.1 + 0.2 - 0.3 is not 0 in float64

_BITS: npt.NDArray[np.uint8] = np.unpackbits(
    np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little"
)
_SIGNS: Matrix = 1 - 2 * _BITS.astype(np.float64)  # 256 x 8: the signs that a byte stands for


def _mcnemar(improved: int, worse: int) -> float:
    """Return the exact (binomial) two-sided p-value of McNemar's test, in (0, 1]: Psychometrika 12, 1947."""
    rarer = binomial_cdf(min(improved, worse), improved + worse, 0.5)
    return min(1.0, 2 * rarer)


def _sign_flip(differences: Matrix, *, seed: int, label: str, flips: int = _FLIPS) -> float:
    """Return the two-sided p-value of the mean of finite differences under random signs, in (0, 1].

    Exact by enumeration for up to 12 non-zero differences; otherwise by `flips` random patterns, with the observed one
    included so that p is never 0.
    """
    moved = differences[differences != 0]
    if not moved.size:
        return 1.0
    moved = summable(moved)
    far = abs(moved.sum()) - _TIE * np.abs(moved).sum()
    # The signed sums of every eight values under every byte of signs, at least two rows x 256.
    groups = max(2, -(-moved.size // 8))
    padded = np.zeros(8 * groups)
    padded[: moved.size] = moved
    table = padded.reshape(groups, 8) @ _SIGNS.T
    if moved.size <= _ENUMERATED:
        patterns = np.arange(2**moved.size, dtype="<u2").view(np.uint8).reshape(-1, 2)
        return float((np.abs(_signed_sums(table, patterns)) >= far).mean())
    counted = 1
    step = max(1, _BLOCK_BYTES // len(table))
    for start in range(0, flips, step):
        rows = min(step, flips - start)
        # Bits of a hash: equal on any machine and with any version of NumPy.
        stream = hashlib.shake_256(f"{seed}\0{label}\0sign-flip\0{start}".encode())
        signs = np.frombuffer(stream.digest(rows * len(table)), dtype=np.uint8)
        sums = _signed_sums(table, signs.reshape(rows, -1))
        counted += int((np.abs(sums) >= far).sum())
    return counted / (flips + 1)


def _signed_sums(table: Matrix, signs: npt.NDArray[np.uint8]) -> Matrix:
    places = signs + 256 * np.arange(len(table), dtype=np.int64)
    sums: Matrix = table.ravel()[places].sum(axis=1)
    return sums


ALPHA = 0.05
_POWER = 0.8
_WINDOW = 6  # standard deviations of the number of changes, the range of the sum
_HALVINGS = 24  # bisection to 6e-8 of the share of changes


def _detectable_graded(n: int, deviation: float, *, changed: int, size: float) -> float | None:
    """Return the smallest mean difference of graded values that n pairs detect with 80 % power.

    By Student's t, which approximates the sign-flip test, but at least six changes in one direction of the observed
    size: fewer are never significant.  None with fewer than six pairs or changed pairs, and if all differences are
    equal, as their spread is then unknown.

    Args:
        deviation: sample standard deviation of the differences.
        changed: pairs whose two values differ.
        size: mean absolute difference of those.
    """
    if min(n, changed) < MIN_PAIRS or deviation == 0:
        return None
    quantiles = student_quantile(1 - ALPHA / 2, n - 1) + student_quantile(_POWER, n - 1)
    return max(quantiles * deviation / n**0.5, _unidirectional_share(n) * size)


def _detectable_binary(n: int, changed: int) -> float | None:
    """Return the smallest difference of two shares that McNemar's exact test detects with n pairs, in (0, 1).

    The share of changed pairs is taken from the comparison and bounds the difference.  If even changes in one direction
    only were too few, the required share of such changes is returned.  None with fewer than six pairs.
    """
    if n < MIN_PAIRS:
        return None
    unidirectional = _unidirectional_share(n)
    if changed <= n * unidirectional:
        return unidirectional
    low, high = 0.0, changed / n
    power = _power_of_mcnemar(n, changed / n)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # Share of the changes in the other direction.
        opposite = (1 - middle * n / changed) / 2
        low, high = (middle, high) if power(opposite) < _POWER else (low, middle)
    return high


def _unidirectional_share(n: int) -> float:
    """Return the share of changed pairs at which six of n, the fewest for significance, change in 80 % of cases."""
    return beta_quantile(_POWER, MIN_PAIRS, n - MIN_PAIRS + 1)


def _power_of_mcnemar(n: int, share: float) -> Callable[[float], float]:
    """Return the power with n pairs of which `share` change, as a function of the share in one direction.

    Summed over the number of changes; fewer than six are never significant.  Each term follows from the one before
    it: one more change is in the other direction, or one more minority change is allowed.
    """
    reach = _WINDOW * (n * share * (1 - share)) ** 0.5 + 1
    first, last = max(MIN_PAIRS, int(n * share - reach)), min(n, int(n * share + reach))
    counts: Matrix = np.arange(first, last + 1, dtype=np.float64)
    falling = counts[:0:-1] * (1 - share) / ((n + 1 - counts[:0:-1]) * share)
    # Probability of as many changes or more, up to `last`.
    reached: Matrix = binomial_pmf(last, n, share) * np.cumprod([1.0, *falling]).cumsum()[::-1]
    rarer = _largest_minorities(first, last)
    grows: npt.NDArray[np.bool_] = np.diff(rarer) > 0
    grown = counts[1:] / np.where(grows, rarer[1:], counts[1:] - rarer[1:])

    def power(opposite: float) -> float:
        ratios = grown * np.where(grows, opposite, 1 - opposite)
        exactly = binomial_pmf(int(rarer[0]), first, opposite) * np.cumprod([1.0, *ratios])
        steps = np.where(grows, exactly[1:], 0.0) - opposite * exactly[:-1]
        least = binomial_cdf(int(rarer[0]), first, opposite)
        return float(least * reached[0] + steps @ reached[1:])

    return power


def _largest_minorities(first: int, last: int) -> Matrix:
    """Return the largest significant minority for each number of changes from `first`, at least six, to `last`."""
    halves = range(first // 2 + 1)
    rarer = bisect_right(halves, ALPHA, key=lambda k: _mcnemar(k, first - k)) - 1
    at_most = binomial_cdf(rarer, first, 0.5)
    following = binomial_pmf(rarer + 1, first, 0.5)
    minorities = [rarer]
    for changes in range(first, last):
        # One more change has the same minority or one more.
        at_most -= following * (rarer + 1) / (changes - rarer) / 2
        following *= (changes + 1) / (changes - rarer) / 2
        if 2 * (at_most + following) <= ALPHA:
            at_most += following
            following *= (changes - rarer) / (rarer + 2)
            rarer += 1
        minorities.append(rarer)
    return np.array(minorities, dtype=np.float64)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm-adjusted p-values (Scandinavian Journal of Statistics 6, 1979); None (no test) stays None, uncounted.

    Raises:
        ValueError: a p-value is not in [0, 1].
    """
    family = {place: p for place, p in enumerate(p_values) if p is not None}
    if not all(0 <= p <= 1 for p in family.values()):
        raise ValueError(f"p-values are in [0, 1], not {list(family.values())}")
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (place, p) in enumerate(sorted(family.items(), key=lambda entry: entry[1])):
        largest = max(largest, min(1.0, (len(family) - rank) * p))
        adjusted[place] = largest
    return adjusted


_MARGIN_TIE = 1e-9  # a difference equal to the margin must not exceed it by rounding

_Decision = Literal["pass", "fail", "inconclusive"]
"""Of a gate on a judged metric.

"fail": the drop exceeds the margin and the interval excludes 0. "inconclusive": not a fail, but the interval includes
a drop beyond the margin, or there are fewer than six pairs. "pass": neither.
"""


def non_inferiority(
    difference: float, interval: Interval, *, n: int, margin: float
) -> tuple[_Decision, int | None]:
    """Decide by a mean paired difference, current - baseline, and its interval; the margin is in the metric's unit.

    The number is that of the pairs needed to decide; None if decided, or if the drop is the margin.

    Raises:
        ValueError: the margin is negative or not a number.
    """
    if not 0 <= margin < inf:
        raise ValueError(f"margin must be 0 or more, not {margin}")
    drop = -difference
    if n >= MIN_PAIRS and drop > margin + _MARGIN_TIE and interval.high < 0:
        return "fail", None
    if n < MIN_PAIRS or interval.low < -margin - _MARGIN_TIE:
        return "inconclusive", _needed_n(n, drop, interval, margin)
    return "pass", None


def _needed_n(n: int, drop: float, interval: Interval, margin: float) -> int | None:
    """Return the pairs at which the interval ends before 0 (a drop beyond the margin), or before -margin (any other).

    The half-widths of the observed interval shrink with the root of n.  A normal interval would be too narrow for few
    changed items.
    """
    if n < MIN_PAIRS:
        return MIN_PAIRS
    fails = drop > margin + _MARGIN_TIE
    distance = drop if fails else margin - drop
    if distance <= _MARGIN_TIE:
        return None
    arm = interval.high + drop if fails else -drop - interval.low
    return max(n + 1, ceil(n * (arm / distance) ** 2 * (1 - _MARGIN_TIE)))


_Test = Literal["mcnemar", "sign-flip"]


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """One metric on the items that both runs measured."""

    n: int  # number of pairs, at least 1
    baseline: float  # mean
    current: float  # mean
    difference: float  # current - baseline
    low: float  # ends of its BCa bootstrap interval, as `high`
    high: float
    test: _Test | None  # McNemar's if all values are 0 or 1; None with fewer than six pairs
    p_value: float | None  # two-sided, unadjusted; None without a test
    detectable: float | None  # absolute, with 80 % power; None if too few pairs change
    improved: int  # items whose value rose
    worse: int  # items whose value fell
    unchanged: int  # items with equal values; for ratios some items may be in none of the three
    confidence: float = CONFIDENCE  # confidence level of the interval


def compare_metrics(
    pairs: Mapping[str, tuple[Matrix, Matrix]],
    *,
    seed: int,
    label: str,
    confidence: float = CONFIDENCE,
) -> dict[str, PairedComparison]:
    """Compare each metric by its (baseline, current) values of the same items in the same order.

    Metrics with equally many pairs share their draws for speed, but results do not depend on the other metrics.

    Raises:
        ValueError: a metric has no pairs, different lengths, or a value that is not finite.
    """
    by_length: dict[int, list[str]] = {}
    for metric, (baseline, current) in pairs.items():
        shape = baseline.shape
        if len(shape) != 1 or shape != current.shape or not baseline.size:
            shapes = f"{shape} and {current.shape}"
            raise ValueError(f"{metric}: expected two vectors of equal length, got {shapes}")
        if not (np.isfinite(baseline).all() and np.isfinite(current).all()):
            raise ValueError(f"{metric}: not a finite number among the paired values")
        by_length.setdefault(baseline.size, []).append(metric)
    intervals: dict[str, Interval] = {}
    for metrics in by_length.values():
        differences = np.stack([pairs[m][1] - pairs[m][0] for m in metrics], axis=1)
        drawn = _bca_intervals(differences, seed=seed, label=label, confidence=confidence)
        intervals.update(zip(metrics, drawn, strict=True))
    return {
        metric: _compare(*values, intervals[metric], seed, label)
        for metric, values in pairs.items()
    }


def compare_ratios(
    terms: Mapping[str, Matrix], *, seed: int, label: str, confidence: float = CONFIDENCE
) -> dict[str, PairedComparison]:
    """Compare figures in [0, 1] that are ratios of sums over items, if no run's denominators sum to 0.

    Items are linearised around the ratio of both runs together (delta method), so that tests and intervals of means
    apply; intervals are cut to the possible range.  An item is improved if its own ratio rose, and unchanged if it
    adds the same to both runs.

    Args:
        terms: n x 2 x 2 for each metric: item, baseline and current, numerator and denominator.

    Raises:
        ValueError: a number is not finite.
    """
    used = {
        name: rows[(rows[:, :, 1] > 0).any(axis=1)]
        for name, rows in terms.items()
        if (rows[:, :, 1].sum(axis=0) > 0).all()
    }
    linear = {name: _linearised(rows) for name, rows in used.items()}
    compared = compare_metrics(linear, seed=seed, label=label, confidence=confidence)
    return {name: _recounted(compared[name], rows) for name, rows in used.items()}


def _linearised(terms: Matrix) -> tuple[Matrix, Matrix]:
    """Return a value per item and run, whose means are the ratios of the runs."""
    over, under = terms[:, :, 0], terms[:, :, 1]
    both = over.sum() / under.sum()
    values: Matrix = both + (over - both * under) / under.mean(axis=0)
    return values[:, 0], values[:, 1]


def _recounted(compared: PairedComparison, terms: Matrix) -> PairedComparison:
    """Return the comparison with items counted by their own ratios, exact values, and the interval within [-1, 1]."""
    over, under = terms[:, :, 0], terms[:, :, 1]
    ways = over[:, 1] * under[:, 0] - over[:, 0] * under[:, 1]
    unchanged = int((terms[:, 0] == terms[:, 1]).all(axis=1).sum())
    detectable = compared.detectable
    if compared.test == "sign-flip":
        before, after = _linearised(terms)
        detectable = _detectable_in(after - before, compared.n - unchanged)
    first, second = (fsum(over[:, run]) / fsum(under[:, run]) for run in (0, 1))
    return replace(
        compared,
        baseline=first,
        current=second,
        difference=second - first,
        detectable=detectable,
        low=max(-1.0, compared.low),
        high=min(1.0, compared.high),
        improved=int((ways > 0).sum()),
        worse=int((ways < 0).sum()),
        unchanged=unchanged,
    )


def _compare(
    baseline: Matrix, current: Matrix, interval: Interval, seed: int, label: str
) -> PairedComparison:
    n, differences = baseline.size, current - baseline
    improved, worse = int((differences > 0).sum()), int((differences < 0).sum())
    test: _Test | None
    if n < MIN_PAIRS:
        test, p_value, detectable = None, None, None
    elif np.isin([baseline, current], (0.0, 1.0)).all():
        test, p_value = "mcnemar", _mcnemar(improved, worse)
        detectable = _detectable_binary(n, improved + worse)
    else:
        test, p_value = "sign-flip", _sign_flip(differences, seed=seed, label=label)
        detectable = _detectable_in(differences, improved + worse)
    return PairedComparison(
        n=n,
        baseline=fsum(baseline) / n,
        current=fsum(current) / n,
        difference=fsum(differences) / n,
        test=test,
        p_value=p_value,
        detectable=detectable,
        improved=improved,
        worse=worse,
        unchanged=n - improved - worse,
        **asdict(interval),
    )


def _detectable_in(differences: Matrix, changed: int) -> float | None:
    size = float(np.abs(differences).sum()) / max(1, changed)
    # Exactly 0 for equal values despite rounding.
    deviation = float(np.std(differences, ddof=1)) if np.ptp(differences) else 0.0
    return _detectable_graded(differences.size, deviation, changed=changed, size=size)


def _bca_intervals(
    values: Matrix, *, seed: int, label: str, confidence: float = CONFIDENCE
) -> list[Interval]:
    """Return the interval of each column's mean of finite values; one item, or equal values, give `low == high`."""
    least = values.min(axis=0)
    # Relative to the smallest value, equal values are 0 and stay exact.
    above = summable(values - least)
    sums = resampled_sums(above, seed=seed, label=label)
    intervals: list[Interval] = []
    for column, start in enumerate(least):
        most = float(values[:, column].max())
        ends = _ends(above[:, column], sums[:, column], confidence)
        low, high = (min(float(start) + end, most) for end in ends)
        intervals.append(Interval(low, high, confidence))
    return intervals


def _ends(values: Matrix, sums: Matrix, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of the mean of one column of `summable` values, all at least 0."""
    if not values.any():
        return 0.0, 0.0
    # The standard deviations between the observed sum and the median of the resampled; ties count half.
    total = values.sum()
    below = float((sums < total).mean() + (sums <= total).mean()) / 2
    # With few resamples all may be on one side, with an infinite normal deviate.
    edge = 0.5 / sums.size
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(below, edge), 1 - edge))
    # The jackknife acceleration of a mean, skewness / (6 sqrt n), in (-1/6, 1/6).
    relative = values / values.max()  # cubes of very small values would vanish
    centred = relative - relative.mean()
    acceleration = float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
    half = normal.inv_cdf((1 + confidence) / 2)
    shifted = (bias + z for z in (-half, half))
    tails = [100 * normal.cdf(bias + z / (1 - acceleration * z)) for z in shifted]
    low, high = np.percentile(sums, tails, method="linear") / len(values)
    return float(low), float(high)
