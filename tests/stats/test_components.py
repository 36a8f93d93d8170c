"""Variance components are recovered in simulations, and worked out by hand."""

import numpy as np
import pytest

from gigamind.stats.agreement import _Components, variance_components
from gigamind.stats.intervals import clusters_of

ITEMS = 4_000


def test_small_components_are_those_worked_out_by_hand():
    """Means 1, 4 and 5 of sizes 2, 1 and 2; MSE = (2 + 2) / 2, MSA = 83 - 64 - 0.2 over 2, n_0 = (5 - 9/5) / 2."""
    scores = np.array([0.0, 2.0, 4.0, 4.0, 6.0])
    found = variance_components(scores, clusters_of("aabcc"), np.arange(5))
    grand = 16 / 5
    between = (2 * (1 - grand) ** 2 + (4 - grand) ** 2 + 2 * (5 - grand) ** 2) / 2
    assert found.item == pytest.approx((between - 2.0) / ((5 - 9 / 5) / 2))
    assert (found.system, found.judge) == (2.0, None)
    assert (found.items, found.scores) == (3, 5)


def test_equal_answers_show_what_the_judge_adds():
    """Each of the two items has one pair of equal answers, whose verdicts differ by 1: a mean square of 1/2."""
    scores = np.array([0.0, 1.0, 4.0, 6.0, 7.0, 9.0])
    answers = clusters_of(["a1", "a1", "a2", "b1", "b1", "b2"])
    found = variance_components(scores, clusters_of("aaabbb"), answers)
    assert found.judge == pytest.approx(0.5)
    within = (np.var(scores[:3]) * 3 + np.var(scores[3:]) * 3) / 4
    assert found.system == pytest.approx(within - 0.5)


def test_without_repeats_or_with_one_item_nothing_is_known():
    assert variance_components(np.array([0.0, 1.0]), np.arange(2), np.arange(2)) is None
    assert variance_components(np.array([0.0, 1.0]), np.zeros(2, int), np.arange(2)) is None


def test_no_component_is_below_0():
    scores = np.array([0.0, 1.0, 1.0, 0.0])
    found = variance_components(scores, clusters_of("aabb"), np.arange(4))
    assert (found.item, found.system) == (0.0, 0.5)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("kind", ["normal", "binary"])
def test_components_are_recovered_within_a_tenth(kind, balanced):
    """Answers are one of three variants per item, so that equal answers occur; the judge adds its own noise."""
    generator = np.random.default_rng(7)
    sizes = np.full(ITEMS, 4) if balanced else generator.integers(1, 6, ITEMS)
    items = np.repeat(np.arange(ITEMS), sizes)
    if kind == "binary":  # a Bernoulli score: no noise of the judge
        shares = generator.beta(2, 2, ITEMS)
        scores = (generator.random(items.size) < shares[items]).astype(float)
        found = variance_components(scores, items, clusters_of(zip(items, scores, strict=True)))
        assert found.item == pytest.approx(0.05, rel=0.1)  # of a beta distribution: 1/20
        assert found.system == pytest.approx(0.2, rel=0.1)  # 1/4 - 1/20
        assert found.judge == 0.0
        return
    variants = generator.normal(0, 1, (ITEMS, 3))
    variants -= variants.mean(axis=1, keepdims=True)  # variance 2/3 of a variant drawn at random
    drawn = generator.integers(0, 3, items.size)
    of_item = generator.normal(0, 0.5, ITEMS)[items]
    scores = of_item + variants[items, drawn] + generator.normal(0, 0.4, items.size)
    found = variance_components(scores, items, items * 3 + drawn)
    assert found.item == pytest.approx(0.25, rel=0.1)
    assert found.system == pytest.approx(2 / 3, rel=0.1)
    assert found.judge == pytest.approx(0.16, rel=0.1)


def test_the_variance_of_the_mean_is_the_one_that_the_advice_uses():
    """Means of 2 000 simulated runs of 50 items: more repeats narrow as `more_repeats` says."""
    generator = np.random.default_rng(3)

    def width(repeats):
        item = generator.normal(0, 0.3, (2_000, 50))
        noise = generator.normal(0, 0.4, (2_000, 50, repeats)).mean(axis=2)
        return (item + noise).mean(axis=1).std()

    known = _Components(0.09, 0.16, None, 50, 100)
    assert 1 - width(4) / width(2) == pytest.approx(known.more_repeats, abs=0.04)


def test_repeats_narrow_at_most_as_much_as_items():
    assert _Components(0.0, 0.2, 0.1, 5, 10).more_repeats == pytest.approx(1 - 0.5**0.5)
    assert _Components(0.2, 0.0, None, 5, 10).more_repeats == 0.0
    assert _Components(0.2, 0.2, None, 5, 10).more_repeats == pytest.approx(1 - (0.25 / 0.3) ** 0.5)
    assert _Components(0.0, 0.0, None, 5, 10).more_repeats == 0.0
