"""The distributions of scipy that the tests stand on, with types."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import special

_special = cast("Any", special)  # ships no types

Numbers = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """P(at most `successes` in `trials`), for 0 <= successes <= trials."""
    return float(_special.bdtr(successes, trials, chance))


def binomial_cdfs(successes: Counts, trials: Counts | int, chance: float) -> Numbers:
    """`binomial_cdf` of each pair; fewer than 0 successes have probability 0."""
    found: Numbers = _special.bdtr(np.maximum(successes, 0).astype(np.float64), trials, chance)
    return np.where(successes < 0, 0.0, found)


def student_quantile(share: float, degrees: int) -> float:
    """The value below which `share` of Student's t lies."""
    return float(_special.stdtrit(degrees, share))


def beta_quantile(share: float, a: float, b: float) -> float:
    """The value below which `share` of the beta distribution lies."""
    return float(_special.betaincinv(a, b, share))
