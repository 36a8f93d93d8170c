"""Probabilities and quantiles of the binomial, beta and Student's t distributions, accurate to about 13 digits.

All three use the regularised incomplete beta function I_x(a, b), the probability of Beta(a, b) below x: Digital Library
of Mathematical Functions (DLMF) of NIST, 8.17. Pure Python suffices; SciPy, of 114 MB, is the reference in tests. Both
x and 1 - x are passed, because the smaller one has digits that a difference from 1 would lose.
"""

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, pi, sqrt

_SETTLED = 1e-15  # relative; further terms of the fraction change only the last digit
_CLOSE = 1e-8  # Newton step relative to the width of the tail; the next step would square it
_ASYMPTOTIC = 16.0  # from here on the series below has full precision
_LEAST = -690.0  # log odds; smaller x underflow, and the logarithm of the probability is linear
_SMALLEST, _LARGEST = 1e-3, 1e9  # limits of a and b, set by float precision near the ends
_KEPT = 512  # cached quantiles; the metrics of a comparison use the same few


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """Return P(at most `successes` in `trials`), by DLMF 8.17.5.

    Raises:
        ValueError: `chance` is not in [0, 1], or `trials` is negative.
    """
    if not (0 <= chance <= 1 and trials >= 0):
        raise ValueError(f"no binomial distribution: {trials} trials of chance {chance}")
    if successes < 0:
        return 0.0
    if successes >= trials or chance == 0:
        return 1.0
    if successes == 0:
        return (1 - chance) ** trials  # exact at 1/2, for changes in one direction only
    return _share_below(trials - successes, successes + 1, 1 - chance, chance)


def binomial_pmf(successes: int, trials: int, chance: float) -> float:
    """Return P(exactly `successes` in `trials`), for 0 to `trials` successes.

    Raises:
        ValueError: `chance` is not in [0, 1], or `successes` not in [0, `trials`].
    """
    if not (0 <= chance <= 1 and 0 <= successes <= trials):
        raise ValueError(f"no binomial probability: {successes} of {trials} trials of {chance}")
    failures = trials - successes
    if not (successes and failures and 0 < chance < 1):
        return chance**successes * (1 - chance) ** failures
    density = exp(_log_density(successes, failures, chance, 1 - chance))
    return density / successes / failures * trials


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the probability of Beta(a, b) below x.

    Raises:
        ValueError: a or b is not in [0.001, 1e9], or x is not in [0, 1].
    """
    _check(a, b, x)
    return _share_below(a, b, x, 1 - x)


@lru_cache(_KEPT)
def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the value below which `share` of Beta(a, b) lies.

    Raises:
        ValueError: a or b is not in [0.001, 1e9], or the share is not in [0, 1].
    """
    _check(a, b, share)
    return _logistic(_log_odds(share, 1 - share, a, b))


@lru_cache(_KEPT)
def student_quantile(share: float, degrees: float) -> float:
    """Return the value below which `share` of Student's t lies: degrees / (degrees + t^2) is Beta(degrees / 2, 1 / 2).

    Raises:
        OverflowError: the value exceeds 1e308, which is possible below one degree of freedom.
        ValueError: the degrees of freedom are not in [0.002, 2e9], or the share is not in [0, 1].
    """
    _check(degrees / 2, 0.5, share)
    outside = 2 * min(share, 1 - share)
    size = sqrt(degrees) * exp(-_log_odds(outside, 1 - outside, degrees / 2, 0.5) / 2)
    return size if share >= 0.5 else -size  # noqa: PLR2004  the median


def _check(a: float, b: float, share: float) -> None:
    if not (min(a, b) >= _SMALLEST and max(a, b) <= _LARGEST and 0 <= share <= 1):
        raise ValueError(f"no share of a distribution that is known here: {share} of {a}, {b}")


def _logistic(odds: float) -> float:
    return 1 / (1 + exp(-odds)) if odds > _LEAST else exp(odds)


def _share_below(a: float, b: float, x: float, y: float) -> float:
    if x == 0 or y == 0:
        return x
    if _is_above(a, b, x):
        return 1 - exp(_log_density(b, a, y, x)) * _fraction(b, a, y, x)
    return exp(_log_density(a, b, x, y)) * _fraction(a, b, x, y)


def _log_odds(below: float, above: float, a: float, b: float) -> float:
    """Return the log odds of the x with probability `below` of Beta(a, b) on one side and `above` on the other.

    Newton's method on the logarithm of the smaller probability over log odds. This function is concave like the
    density: steps from the left never pass the root, and a step from the right ends on the left, so no bracket is
    needed.
    """
    if below > above:
        return -_log_odds(above, below, b, a)
    if below == 0:
        return -inf
    odds = log(a / b)  # where the density is highest
    while True:
        x, y = _logistic(odds), _logistic(-odds)
        log_density = _log_density(a, b, x, y)
        is_above = _is_above(a, b, x)
        width = _share_below(a, b, x, y) / exp(log_density) if is_above else _fraction(a, b, x, y)
        step = (log_density + log(width) - log(below)) * width
        if abs(step) <= _CLOSE * width or (step > 0 and odds == _LEAST):
            return odds - step
        odds = max(odds - step, _LEAST)


def _is_above(a: float, b: float, x: float) -> bool:
    """Return whether x is so large that the fraction converges fast for 1 - x but not for x."""
    return x > (a + 1) / (a + b + 2)


def _log_density(a: float, b: float, x: float, y: float) -> float:
    """Return log(x^a y^b / B(a, b)), the density of log(x / y).

    Computed from the deviations from Stirling's formula: Loader, "Fast and accurate computation of binomial
    probabilities", 2000. The difference of three log-gamma values would keep 8 digits at a = b = 1e6.
    """
    n = a + b
    off = a * y - b * x  # a - n x
    spread = _deviance(a, n * x, off) + _deviance(b, n * y, -off)
    return log(a / n * b / (2 * pi)) / 2 + _beyond(n) - _beyond(a) - _beyond(b) - spread


def _deviance(count: float, expected: float, off: float) -> float:
    """Return count * log(count / expected); `off` is count - expected, exact if these are close."""
    near = abs(off) < expected / 2
    return count * (log1p(off / expected) if near else log(count / expected))


def _beyond(z: float) -> float:
    """Return log Gamma(z + 1) minus Stirling's (z + 1/2) log z - z + log(2 pi) / 2: DLMF 5.11.1."""
    if z < _ASYMPTOTIC:
        return lgamma(z + 1) - (z + 0.5) * log(z) + z - log(2 * pi) / 2
    s = 1 / (z * z)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188))))) / z


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b) as a multiple of x^a y^b / B(a, b): the continued fraction of DLMF 8.17.22, two terms per round.

    With y, as in DiDonato and Morris ("Significant digit computation of the incomplete beta function ratios", ACM TOMS
    18, 1992): 1 - x (a + b) / (a + 1) would lose half of the digits for x close to 1. Near the mean it takes about 40
    rounds for a + b = 1 000 and 400 for a million, fewer in the tails.
    """
    off = a * y - b * x + 1
    value = c = a * off / (a + 1)
    d = 0.0
    m = 0
    change = inf
    while abs(change - 1) > _SETTLED:
        m += 1
        end = a + 2 * m
        over = (a + (m - 1)) * (a + b + (m - 1)) * m * (b - m) * (x / (end - 1)) ** 2
        under = m + m * (b - m) * x / (end - 1) + (a + m) * (off + m * (1 + y)) / (end + 1)
        d = 1 / (under + over * d)
        c = under + over / c
        change = c * d
        value *= change
    return 1 / value
