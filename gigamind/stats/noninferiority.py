"""Is the current run worse than the baseline by more than a margin, when the verdicts themselves are noisy?

Larger is better; of a metric whose smaller values are, the caller passes the negated difference and interval.  Gated on
the raw drop, 200 verdicts of which 5 % flip between equal runs would fail a margin of 0.02 in 8 of 100 comparisons, and
one of 0.01 in 22 (benchmarks/gate_stability.py).
"""

from dataclasses import dataclass
from math import ceil, inf
from typing import Literal

from gigamind.stats.intervals import Interval
from gigamind.stats.significance import MIN_PAIRS

_TIE = 1e-9  # a mean of float64 differences that is the margin on paper must not pass it by a rounding error

Decision = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """What a gate on a judged metric decides.

    Attributes:
        decision: "fail": the drop passes the margin and the interval excludes 0.  "inconclusive": it is no fail, but a
            drop beyond the margin lies inside the interval, or there are fewer than six pairs.  "pass": neither.
        drop: baseline - current; negative for a gain.
        margin: largest drop that is tolerated.
        needed_n: pairs that would tell, if the difference and its spread stayed as they are; None when the decision is
            made, and when the drop is the margin itself, which no number of pairs tells.
    """

    decision: Decision
    drop: float
    margin: float
    needed_n: int | None


def non_inferiority(
    difference: float, interval: Interval, *, n: int, margin: float
) -> NonInferiority:
    """Decide by a mean paired difference and its interval.

    Args:
        difference: current - baseline.
        interval: of the difference; it excludes 0 on the side of a drop when `high < 0`.
        n: number of pairs.
        margin: at least 0, in the unit of the metric.

    Raises:
        ValueError: the margin is negative or not a number.
    """
    if not 0 <= margin < inf:
        raise ValueError(f"a margin is a drop that is tolerated, so 0 or more, not {margin}")
    drop = -difference
    decision = _decide(n, drop, interval, margin)
    needed = _needed_n(n, drop, interval, margin) if decision == "inconclusive" else None
    return NonInferiority(decision, drop, margin, needed)


def _decide(n: int, drop: float, interval: Interval, margin: float) -> Decision:
    if n < MIN_PAIRS:
        return "inconclusive"
    if drop > margin + _TIE and interval.high < 0:
        return "fail"
    return "inconclusive" if interval.low < -margin - _TIE else "pass"


def _needed_n(n: int, drop: float, interval: Interval, margin: float) -> int | None:
    """Pairs at which the interval ends before 0 (a drop past the margin), or before -margin (any other).

    The arms of an interval shrink with the root of n.  They are those of the interval at hand: after one changed item
    among 200, the arm of a normal interval is half as long, and would ask for fewer pairs than there are.
    """
    if n < MIN_PAIRS:
        return MIN_PAIRS
    fails = drop > margin + _TIE
    distance = drop if fails else margin - drop
    if distance <= _TIE:
        return None
    arm = interval.high + drop if fails else -drop - interval.low
    return max(n + 1, ceil(n * (arm / distance) ** 2 * (1 - _TIE)))
