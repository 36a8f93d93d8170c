"""Measure how often `gigamind history` reports a change point without and with a change.

A history has 10 to 60 runs of some metrics.  Without a change its rows are in random order, with heavy tails, ties,
outlier nights or correlated metrics in turn.  With a change, all metrics rise in the middle by a number of standard
deviations.  The last rows are not covered by the test: each night depends on the previous one.

    python benchmarks/change_points.py [--histories 500] [--seed 7]
"""

import argparse
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from gigamind.stats.changes import _LEVEL, level_changes
from gigamind.stats.intervals import Interval

Rows = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Rows]
"""Rows of a history without a change: runs x metrics."""


def _normal(random: np.random.Generator, runs: int, metrics: int) -> Rows:
    return random.normal(0.8, 0.02, (runs, metrics))


def _heavy(random: np.random.Generator, runs: int, metrics: int) -> Rows:
    return 0.8 + 0.02 * random.standard_t(2, (runs, metrics))


def _shares(random: np.random.Generator, runs: int, metrics: int) -> Rows:
    """Return shares of 40 items, so that many runs are equal."""
    return random.binomial(40, 0.95, (runs, metrics)) / 40


def _wild(random: np.random.Generator, runs: int, metrics: int) -> Rows:
    """Return equal values except for one outlier night in ten."""
    return np.where(random.random((runs, 1)) < 0.1, random.random((runs, metrics)), 0.8)


def _together(random: np.random.Generator, runs: int, metrics: int) -> Rows:
    """Return metrics with a common cause: they correlate by 0.8."""
    own = random.normal(0, 0.2**0.5, (runs, metrics))
    return 0.8 + 0.02 * (0.8**0.5 * random.normal(size=(runs, 1)) + own)


NULLS: Mapping[str, Draw] = {
    "normal": _normal,
    "heavy tails (t, 2 degrees)": _heavy,
    "shares of 40 items": _shares,
    "equal but for wild nights": _wild,
    "metrics that move together": _together,
}


def leaning(rho: float) -> Draw:
    """Return nights that keep `rho` of the previous night's deviation."""

    def draw(random: np.random.Generator, runs: int, metrics: int) -> Rows:
        rows = random.normal(size=(runs, metrics))
        for at in range(1, runs):
            rows[at] = rho * rows[at - 1] + (1 - rho**2) ** 0.5 * rows[at]
        return rows

    return draw


def seen(rows: Rows, seed: int) -> list[int]:
    """Return the places of the change points of a history."""
    series = {f"metric {column}": list(values) for column, values in enumerate(rows.T)}
    return [change.at for change in level_changes(series, seed=seed)]


def false_alarms(
    draws: Mapping[str, Draw], histories: int, metrics: int, seed: int
) -> dict[str, list[bool]]:
    """Return for each history, kinds in turn, whether it has a false alarm."""
    random = np.random.default_rng(seed)
    found: dict[str, list[bool]] = {name: [] for name in draws}
    for number in range(histories):
        name = list(draws)[number % len(draws)]
        rows = draws[name](random, int(random.integers(10, 61)), metrics)
        found[name].append(bool(seen(rows, number)))
    return found


def power(shift: float, runs: int, histories: int, metrics: int, seed: int) -> tuple[float, float]:
    """Return the share of detected changes, and the share of these located within two runs."""
    random = np.random.default_rng(seed)
    near: list[bool] = []
    for number in range(histories):
        rows = _normal(random, runs, metrics)
        rows[runs // 2 :] += 0.02 * shift
        if places := seen(rows, number):
            near.append(any(abs(at - runs // 2) <= 2 for at in places))
    return len(near) / histories, sum(near) / max(1, len(near))


def _row(name: str, alarms: list[bool]) -> str:
    ends = Interval.wilson(sum(alarms), len(alarms))
    share = sum(alarms) / len(alarms)
    return f"| {name} | {sum(alarms)} of {len(alarms)} | {share:.3f} | {ends.low:.3f} - {ends.high:.3f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    print(
        f"level {_LEVEL}\n\n| history without a change | alarms | share | 95 % interval |\n|---|---|---|---|"
    )
    for metrics in (1, 6):
        found = false_alarms(NULLS, given.histories, metrics, given.seed)
        for name, alarms in found.items():
            print(_row(f"{name}, {metrics} metrics", alarms))
        print(_row(f"all, {metrics} metrics", [one for alarms in found.values() for one in alarms]))
    for rho in (0.3, 0.6):
        leant = false_alarms({"leaning": leaning(rho)}, given.histories, 6, given.seed)
        print(_row(f"not claimed: AR(1) {rho}, 6 metrics", leant["leaning"]))
    print(
        "\n| rise, standard deviations | runs | seen | of these, within two runs |\n|---|---:|---:|---:|"
    )
    for shift in (1.0, 2.0, 3.0):
        for runs in (10, 20, 40):
            share, near = power(shift, runs, given.histories // 5, 6, given.seed)
            print(f"| {shift:g} | {runs} | {share:.2f} | {near:.2f} |")


if __name__ == "__main__":
    main()
