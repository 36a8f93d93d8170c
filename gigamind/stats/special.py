"""Probabilities and quantiles of the binomial, beta and Student's t distributions, to about 13 digits.

All are based on the regularised incomplete beta function I_x(a, b): NIST Digital Library of Mathematical Functions
(DLMF) 8.17.  Functions take both x and 1 - x, as the difference from 1 would lose digits.
"""

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, pi, sqrt

_SETTLED = 1e-15  # relative change at which the continued fraction stops
_CLOSE = 1e-8  # relative Newton step at which to stop; the error is its square
_ASYMPTOTIC = 16.0  # the series is exact from here on
_LEAST = -690.0  # log-odds below which x underflows
_SMALLEST, _LARGEST = 1e-3, 1e9  # range of a and b with enough precision
_KEPT = 512  # cached quantiles; the metrics of a comparison share few


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
        return (1 - chance) ** trials  # exact at 1/2
    return _share_below(trials - successes, successes + 1, 1 - chance, chance)


def binomial_pmf(successes: int, trials: int, chance: float) -> float:
    """Return P(exactly `successes` in `trials`), of 0 to `trials` successes.

    Raises:
        ValueError: `chance` is not in [0, 1], or there are not so many trials.
    """
    if not (0 <= chance <= 1 and 0 <= successes <= trials):
        raise ValueError(f"no binomial probability: {successes} of {trials} trials of {chance}")
    failures = trials - successes
    if not (successes and failures and 0 < chance < 1):
        return chance**successes * (1 - chance) ** failures
    density = exp(_log_density(successes, failures, chance, 1 - chance))
    return density / successes / failures * trials


@lru_cache(_KEPT)
def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the value below which `share` of Beta(a, b) is.

    Raises:
        ValueError: a or b is not in [0.001, 1e9], or the share is not in [0, 1].
    """
    _check(a, b, share)
    return _logistic(_log_odds(share, 1 - share, a, b))


@lru_cache(_KEPT)
def student_quantile(share: float, degrees: float) -> float:
    """Return the quantile of Student's t: degrees / (degrees + t^2) is Beta(degrees / 2, 1 / 2).

    Raises:
        OverflowError: the value is beyond 1e308, which takes less than one degree of freedom.
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
    """Return log(x / (1 - x)) of the x with `below` of Beta(a, b) on one side and `above`, 1 - below, on the other.

    Newton's method on the logarithm of the smaller share, by log-odds.  That function is concave, as the density is
    log-concave, so steps from the left never pass the root and no bracket is needed.
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
    return x > (a + 1) / (a + b + 2)


def _log_density(a: float, b: float, x: float, y: float) -> float:
    """Return log(x^a y^b / B(a, b)), the density of log(x / y).

    Uses the deviations from Stirling's formula: Loader, "Fast and accurate computation of binomial probabilities",
    2000. Differences of log-gammas would keep 8 digits at a = b = 1e6.
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
    """Return I_x(a, b) as a multiple of x^a y^b / B(a, b): the continued fraction DLMF 8.17.22, two terms a round.

    Written with y as by DiDonato and Morris ("Significant digit computation of the incomplete beta function ratios",
    ACM TOMS 18, 1992), as 1 - x (a + b) / (a + 1) loses half of the digits for x close to 1.  Near the mean it takes
    about 40 rounds for a + b = 1 000 and 400 for a million; fewer in the tails.
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
