import time

import numpy as np
import pytest

from gigamind.stats.ppi import corrected_mean

SIMULATIONS = 2_000
Z = 1.959963984540054


def corrected(labels, verdicts, unlabelled):
    return corrected_mean(*(np.array(v, float) for v in (labels, verdicts, unlabelled)))


def test_a_case_worked_out_by_hand():
    found = corrected([1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 0, 0])
    # labels: mean 1/2; their covariance with the verdicts, (1.5 - 4 * 0.5 * 0.75 + 0.5) / 3 = 1/6
    # all verdicts: 9 of 12 are 1, variance 12/11 * 3/16 = 9/44; weight = (1/6) / ((1 + 4/8) * 9/44) = 44/81
    weight = 44 / 81
    assert found.weight == pytest.approx(weight)
    assert found.value == pytest.approx(0.5 + weight * (6 / 8 - 3 / 4))
    # the rest: 1-w, 1-w, -w, 0; the unlabelled verdicts: variance 8/7 * 3/16 = 3/14
    rest = np.array([1 - weight, 1 - weight, -weight, 0])
    variance = sum((rest - rest.mean()) ** 2) / 3 / 4 + weight**2 * (3 / 14) / 8
    assert found.interval.low == pytest.approx(max(0, found.value - Z * variance**0.5))
    assert found.interval.high == pytest.approx(min(1, found.value + Z * variance**0.5))
    assert (found.judged, found.labelled, found.labels, found.items) == (0.75, 0.5, 4, 12)
    # labels alone: variance 1/3, of the mean 1/12
    assert found.labelled_interval.high == pytest.approx(min(1, 0.5 + Z * (1 / 12) ** 0.5))


def test_the_bias_of_the_judge_is_taken_out():
    """A judge that says 0.2 too much everywhere, and nothing else wrong."""
    labels = np.linspace(0, 0.8, 50)
    found = corrected(labels, labels + 0.2, np.linspace(0.2, 1, 500))
    assert found.judged == pytest.approx(0.6)
    assert found.value == pytest.approx(0.4)


def test_labels_of_every_item_leave_nothing_to_correct():
    found = corrected([1, 0, 1], [1, 1, 1], [])
    assert (found.weight, found.value) == (0.0, pytest.approx(2 / 3))
    assert found.interval == found.labelled_interval


@pytest.mark.parametrize("verdicts", [[1, 1, 1, 1], [0, 0, 1, 1]], ids=["constant", "opposite"])
def test_a_judge_that_knows_nothing_counts_nothing(verdicts):
    found = corrected([1, 1, 0, 0], verdicts, [1, 0, 1, 1])
    assert (found.weight, found.value) == (0.0, 0.5)


def test_two_labels_are_needed():
    assert corrected([1], [1], [0, 1]) is None
    assert corrected([1, 0], [1, 0], [0, 1]) is not None


def test_values_outside_0_to_1_are_refused():
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        corrected([1, 0], [1, 2], [])
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        corrected([1, 0], [1, 0], [float("nan")])
    with pytest.raises(ValueError, match="equally long"):
        corrected([1, 0], [1], [])


def simulate(draw, truth, labels=150, items=1_000, seed=7):
    """Share of simulations whose interval holds the truth, and the mean widths of corrected and of labels alone."""
    generator = np.random.default_rng(seed)
    held, widths, alone = 0, 0.0, 0.0
    for _ in range(SIMULATIONS):
        label, verdict = draw(generator, items)
        found = corrected_mean(label[:labels], verdict[:labels], verdict[labels:])
        held += found.interval.low <= truth <= found.interval.high
        widths += found.interval.high - found.interval.low
        alone += found.labelled_interval.high - found.labelled_interval.low
    return held / SIMULATIONS, widths / SIMULATIONS, alone / SIMULATIONS


def biased(generator, items):
    """A binary judge that is right for 95 % of the positives and for 80 % of the negatives."""
    label = generator.random(items) < 0.6
    verdict = np.where(label, generator.random(items) < 0.95, generator.random(items) < 0.2)
    return label.astype(float), verdict.astype(float)


def graded(generator, items):
    label = generator.beta(2, 2, items)
    return label, np.clip(label * 0.7 + generator.normal(0.2, 0.1, items), 0, 1)


def unrelated(generator, items):
    return (generator.random(items) < 0.6).astype(float), generator.random(items)


@pytest.mark.parametrize(
    ("draw", "truth", "most_of_labels_alone"), [(biased, 0.6, 0.85), (graded, 0.5, 0.75)]
)
def test_95_percent_intervals_cover_the_truth_and_are_narrower_than_labels_alone(
    draw, truth, most_of_labels_alone
):
    start = time.process_time()
    held, width, alone = simulate(draw, truth)
    assert 0.93 <= held <= 0.97
    assert width < most_of_labels_alone * alone
    assert time.process_time() - start < 5


def test_a_judge_without_relation_to_the_labels_costs_nothing():
    held, width, alone = simulate(unrelated, 0.6)
    assert 0.93 <= held <= 0.97
    assert width <= 1.01 * alone


def test_the_verdicts_alone_would_miss_the_truth():
    """Why the correction is made: the interval around the mean of the biased verdicts holds 0.6 in one of thirteen."""
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        _, verdict = biased(generator, 1_000)
        arm = Z * (verdict.var(ddof=1) / verdict.size) ** 0.5
        held += abs(verdict.mean() - 0.6) <= arm
    assert held < 20  # of 200
