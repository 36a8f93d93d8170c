"""Probabilities and quantiles of the binomial, beta and Student's t distributions, to about eight digits."""

from functools import cache, lru_cache
from math import comb, exp, lgamma, log, log1p, pi, sqrt, tan

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

_HALVINGS = 60  # bisection to the precision of a float
_NODES = 100
_FARTHEST = 40.0  # t with 1 600 degrees or more has no wider quantile
_EXACT = 200  # trials: their powers and numbers of combinations are floats
_KEPT = 512  # cached quantiles; the metrics of a comparison share few


def binomial_pmf(successes: int, trials: int, chance: float) -> float:
    """Return P(exactly `successes` in `trials`), of 0 to `trials` successes.

    Raises:
        ValueError: `chance` is not in [0, 1], or there are not so many trials.
    """
    if not (0 <= chance <= 1 and 0 <= successes <= trials):
        raise ValueError(f"no binomial probability: {successes} of {trials} trials of {chance}")
    if chance in {0, 1}:
        return float(successes == trials * chance)
    failures = trials - successes
    if trials <= _EXACT:
        return comb(trials, successes) * (chance**successes * (1 - chance) ** failures)
    ways = lgamma(trials + 1) - lgamma(successes + 1) - lgamma(failures + 1)
    return exp(ways + successes * log(chance) + failures * log1p(-chance))


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """Return P(at most `successes` in `trials`); ValueError if `chance` is not in [0, 1], or `trials` is negative."""
    if successes < 0 or successes >= trials:
        return float(successes >= 0)
    if successes > trials * chance:
        return 1 - binomial_cdf(trials - successes - 1, trials, 1 - chance)
    last = binomial_pmf(successes, trials, chance)
    if not last:
        return 0.0
    fewer: Matrix = np.arange(successes, 0, -1, dtype=np.float64)
    ratios = fewer * (1 - chance) / ((trials - fewer + 1) * chance)
    return last * (1 + float(np.cumprod(ratios).sum()))


@lru_cache(_KEPT)
def beta_quantile(share: float, a: int, b: int) -> float:
    """Return the value below which `share` of Beta(a, b) is: the chance of `a` successes or more in a + b - 1 trials.

    Raises:
        ValueError: a or b is not at least 1, or the share is not in [0, 1].
    """
    if not (min(a, b) >= 1 and 0 <= share <= 1):
        raise ValueError(f"no share of a beta distribution: {share} of {a}, {b}")
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_below = binomial_cdf(a - 1, a + b - 1, middle) > 1 - share
        low, high = (middle, high) if is_below else (low, middle)
    return high


@lru_cache(_KEPT)
def student_quantile(share: float, degrees: float) -> float:
    """Return the quantile of Student's t for a share in [0.5, 1), by the integral of its density.

    Raises:
        ValueError: there is less than one degree of freedom, or the share is not in [0.5, 1).
    """
    if not (degrees >= 1 and 0.5 <= share < 1):  # noqa: PLR2004  the median
        raise ValueError(f"no quantile of Student's t: {share}, {degrees} degrees")
    scale = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(pi)
    places, weights = _quadrature()
    low, high = 0.0, min(pi / 2, _FARTHEST / sqrt(degrees))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        density: Matrix = np.cos(middle * places) ** (degrees - 1)
        is_below = 0.5 + scale * middle * float(weights @ density) < share
        low, high = (middle, high) if is_below else (low, middle)
    return sqrt(degrees) * tan(high)


@cache
def _quadrature() -> tuple[Matrix, Matrix]:
    """Return the places and weights of Gauss-Legendre quadrature over [0, 1]."""
    places, weights = np.polynomial.legendre.leggauss(_NODES)
    return (places + 1) / 2, weights / 2
