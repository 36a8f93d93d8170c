"""How long a query takes: percentiles in milliseconds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

METHOD = "linear interpolation (Hyndman & Fan type 7, numpy's default)"


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of the wall time of `n` queries, by `METHOD`."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    n: int


def latency(times_ms: Sequence[float]) -> Latency | None:
    """The percentiles of some queries; None when there are none."""
    if not times_ms:
        return None
    p50, p95, p99 = (float(p) for p in np.percentile(times_ms, [50, 95, 99], method="linear"))
    return Latency(p50, p95, p99, n=len(times_ms))
