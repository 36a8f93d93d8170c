from types import SimpleNamespace

import numpy as np
import pytest

from gigamind.stats.agreement import expected_calibration_error, reliability, reliability_bins


def judged(confidences, outcomes, **options):
    figures, bins = reliability(
        np.array(confidences, float), np.array(outcomes, bool), seed=42, label="t", **options
    )
    return SimpleNamespace(**figures, bins=bins)


def test_figures_worked_out_by_hand():
    found = judged([0.9, 0.9, 0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0, 1, 0])
    assert found.brier.value == pytest.approx((3 * 0.01 + 0.81 + 0.16 + 0.36) / 6)
    # four items told 0.9 and three right, two told 0.6 and one right
    assert found.calibration_error.value == pytest.approx((4 * 0.15 + 2 * 0.1) / 6)
    filled = {place: b for place, b in enumerate(found.bins) if b.outcome.n}
    assert {place: (b.confidence, b.outcome.value) for place, b in filled.items()} == {
        6: (pytest.approx(0.6), 0.5),
        9: (pytest.approx(0.9), 0.75),
    }


def test_bins_without_items_are_unknown():
    found = judged([0.95], [1])
    assert [b.outcome.value for b in found.bins] == [None] * 9 + [1.0]
    assert [b.confidence for b in found.bins][:9] == [None] * 9


@pytest.mark.each(
    "confidence, place", [(0.0, 0), (0.3, 3), (0.2999, 2), (0.7, 7), (1.0, 9), (0.9999, 9)]
)
def test_a_bin_begins_at_its_lower_edge_and_the_last_holds_1(confidence, place):
    found = judged([confidence], [1])
    assert [b.outcome.n for b in found.bins].index(1) == place


def test_intervals_hold_their_figures_and_depend_on_the_seed_alone():
    generator = np.random.default_rng(1)
    confidences = generator.random(200)
    right = generator.random(200) < confidences
    found = judged(confidences, right)
    assert found == judged(confidences, right)
    assert found.brier.interval.low < found.brier.value < found.brier.interval.high
    assert found.brier.value == pytest.approx(1 / 6, abs=0.04)  # of a calibrated, uniform forecast
    for b in found.bins:
        assert b.outcome.interval.low <= b.outcome.value <= b.outcome.interval.high


def test_a_bin_whose_items_were_all_right_has_an_interval_of_some_width():
    b = judged([0.95] * 8, [1] * 8).bins[-1]
    # by Wilson's formula, one over one plus 1.96 squared over eight
    assert (b.outcome.value, b.outcome.interval.high) == (1.0, pytest.approx(1.0))
    assert b.outcome.interval.low == pytest.approx(0.676, abs=0.001)


def test_a_brier_score_of_0_is_not_known_for_sure():
    found = judged([1.0] * 8, [1] * 8)
    # by Wilson's formula, z^2 over eight and z^2
    assert found.brier.interval.high == pytest.approx(3.8415 / 11.8415, abs=1e-4)
    assert (found.calibration_error.value, found.calibration_error.interval) == (0.0, None)


def test_copies_of_items_tell_no_more_than_the_items():
    confidences, right = [0.95, 0.95, 0.92, 0.6, 0.6], [1, 1, 0, 1, 0]
    alone = judged(confidences, right)
    found = judged(
        np.repeat(confidences, 2), np.repeat(right, 2), clusters=np.repeat(np.arange(5), 2)
    )
    assert found.brier.interval == alone.brier.interval
    assert found.calibration_error.interval == alone.calibration_error.interval
    assert [b.outcome.interval for b in found.bins] == [b.outcome.interval for b in alone.bins]
    assert (found.bins[9].outcome.n, found.bins[9].outcome.clusters) == (6, 3)


def test_clusters_of_one_item_change_nothing():
    generator = np.random.default_rng(1)
    confidences = generator.random(60)
    right = generator.random(60) < confidences
    assert judged(confidences, right, clusters=generator.permutation(60) + 3) == judged(
        confidences, right
    )


def test_a_cluster_in_two_bins_counts_in_both():
    found = judged([0.95, 0.95, 0.6], [1, 0, 1], clusters=np.array([4, 4, 4]))
    assert [(b.outcome.n, b.outcome.clusters) for b in found.bins if b.outcome.n] == [
        (1, 1),
        (2, 1),
    ]
    # two alike verdicts of one answer, half of them right, count as one: by Wilson's formula
    interval = found.bins[9].outcome.interval
    assert interval.high == pytest.approx(0.5 + 1.96 * (0.25 + 0.9604) ** 0.5 / 4.8416, abs=1e-4)
    assert found.brier.interval is None


def test_without_items_nothing_is_known():
    found = judged([], [])
    assert (found.brier.value, found.calibration_error.value) == (None, None)


def test_what_is_no_confidence_is_refused():
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        judged([1.01], [1])
    with pytest.raises(ValueError, match=r"not in \[0, 1\]"):
        judged([float("nan")], [1])
    with pytest.raises(ValueError, match="equally long"):
        judged([0.5], [1, 0])


def error_of(confidences, outcomes):
    bins = reliability_bins(np.array(confidences, float), np.array(outcomes, bool))
    return expected_calibration_error(bins)


def test_calibration_error_compares_promise_and_truth_bin_by_bin():
    # [0.8, 0.9): promised 0.8 and 0.84, one of two true; [0.9, 1]: promised 1.0, true.
    error = error_of([0.8, 0.84, 1.0], [True, False, True])
    assert error == pytest.approx((1.64 - 1) / 3)
    # Errors in one bin cancel out, those of two bins do not.
    assert error_of([0.55, 0.55], [True, False]) == pytest.approx(0.05)
    assert error_of([0.0, 1.0], [True, False]) == 1.0
