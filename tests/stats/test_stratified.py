"""Which items to label, and what labels of a stratified sample estimate."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from gigamind.stats.stratified import neyman, proportional, stratified_mean

BENCHMARK = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "labels.py"))
ONE_STRATUM = np.zeros(10, dtype=np.intp)


def mean_of(labels, verdicts, labelled, strata, clusters=None, **options):
    clusters = np.arange(len(verdicts)) if clusters is None else np.array(clusters)
    return stratified_mean(
        np.array(labels, dtype=float),
        np.array(verdicts, dtype=float),
        np.array(labelled),
        np.array(strata),
        clusters,
        **options,
    )


@pytest.mark.parametrize(
    ("sizes", "budget", "expected"),
    [
        ([60, 40], 10, [6, 4]),
        ([90, 5], 10, [8, 2]),  # two of the small one, as a variance needs
        ([3, 1], 10, [3, 1]),
        ([50, 50], 3, [2, 1]),  # the budget holds
        ([50, 50], 0, [0, 0]),
    ],
)
def test_proportional_counts(sizes, budget, expected):
    assert proportional(sizes, budget) == expected


def test_more_labels_go_where_the_pilot_found_errors_within_bounds():
    counts = neyman([100, 100], [10, 10], [0.0, 5.0], 60)
    assert sum(counts) == 60
    assert counts[0] < 30 < counts[1] <= 60
    assert counts[0] >= 15  # half of the proportional number
    assert neyman([100, 100], [10, 10], [0.0, 0.0], 60) == [30, 30]
    assert neyman([100, 100], [40, 2], [0.0, 1.0], 20)[0] == 40  # what is labelled stays


def test_the_mean_corrects_each_stratum_by_its_own_errors():
    verdicts = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    strata = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    found = mean_of([1, 0, 0, 0], verdicts, [0, 1, 4, 5], strata)
    # Half of the verdicts 1 are wrong and none of the verdicts 0.
    assert found.value == pytest.approx(0.4 * 0.5)
    assert found.run.low <= found.value <= found.run.high
    assert found.interval.low <= found.run.low <= found.run.high <= found.interval.high


def test_labels_of_all_items_leave_no_error_about_the_run():
    labels = [1, 0, 1, 1, 0, 1, 1, 0, 1, 1]
    found = mean_of(labels, [1] * 10, range(10), ONE_STRATUM)
    assert found.value == pytest.approx(0.7)
    assert (found.run.low, found.run.high) == (pytest.approx(0.7), pytest.approx(0.7))
    assert found.interval.low < 0.6
    assert found.interval.high > 0.8


def test_a_sample_without_errors_has_a_width():
    found = mean_of([1, 1, 1], [1] * 10, [0, 1, 2], ONE_STRATUM)
    assert found.value == 1
    assert found.run.low < 0.9


def test_a_stratum_without_labels_has_no_estimate():
    assert mean_of([1, 1], [1] * 10, [0, 1], [0] * 5 + [1] * 5) is None
    assert mean_of([1], [1] * 10, [0], ONE_STRATUM) is None


def test_items_of_a_cluster_are_no_independent_labels():
    labels, labelled = [1, 1, 0, 0], [0, 1, 2, 3]
    apart = mean_of(labels, [1] * 10, labelled, ONE_STRATUM)
    together = mean_of(labels, [1] * 10, labelled, ONE_STRATUM, [0, 0, 1, 1, *range(2, 8)])
    assert together.value == apart.value
    assert together.run.low <= apart.run.low


def test_differences_of_two_runs_are_between_minus_1_and_1():
    found = mean_of([-1, -1, 0], [-1] * 10, [0, 1, 2], ONE_STRATUM, lowest=-1.0)
    assert -1 <= found.run.low <= found.value <= found.run.high <= 1
    assert found.value < 0


@pytest.mark.whole
@pytest.mark.timeout(600)
@pytest.mark.parametrize("world", BENCHMARK["WORLDS"], ids=lambda world: world.name)
def test_stratified_labels_cover_the_truth_and_are_never_worse_than_random_ones(world):
    found = BENCHMARK["line_of"](world, 200, 60, 200)
    assert found.run_coverage >= 0.9  # 200 draws of 95 % are within 0.03
    assert found.kind_coverage >= 0.9
    assert found.needed <= 1.25  # 1.05 with the noise of 200 draws
    assert BENCHMARK["wrong_decisions"](world, 200, 60, 200) <= 0.06 + 0.03
