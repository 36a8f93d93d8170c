import pytest

from gigamind.judges.certify import (
    LabelledVerdict,
    agreement,
    agreement_by_language,
    corrected,
    flips,
    worst_misses,
)


def one(name, label, verdict, language="ko", confidence=None):
    return LabelledVerdict(name, label, verdict, language, confidence)


def test_only_verdicts_with_a_confidence_are_asked_whether_it_was_right():
    verdicts = [one("a", 1, 1, confidence=0.8), one("b", 0, 1, confidence=0.6), one("c", 1, 1)]
    found = agreement(verdicts, "binary", seed=42, label="t")
    assert (found.items, found.positive) == (3, 2)
    assert found.figures["accuracy"].value == pytest.approx(2 / 3)
    # a was right at 0.8 and b wrong at 0.6
    assert found.figures["brier"].value == pytest.approx((0.04 + 0.36) / 2)
    assert found.figures["brier"].n == 2


def test_without_confidences_there_is_no_calibration():
    found = agreement([one("a", 1, 1)], "binary", seed=42, label="t")
    assert (found.bins, "brier" in found.figures) == ((), False)


def test_items_of_no_language_belong_to_none():
    verdicts = [one("a", 1, 1, "ko"), one("b", 0, 0, "en"), one("c", 1, 0, None)]
    found = agreement_by_language(verdicts, "binary", seed=42, label="t")
    assert {language: group.items for language, group in found.items()} == {"en": 1, "ko": 1}


def test_flips_are_the_pairs_of_runs_that_differ():
    runs = [{"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}]
    found = flips(runs, seed=42, label="t")
    # a never; b in two of its three pairs
    assert (found.value, found.n) == (pytest.approx((0 + 2 / 3) / 2), 2)
    assert found.interval.low == pytest.approx(0.0)
    assert found.interval.high == pytest.approx(2 / 3)


def test_items_that_one_run_alone_judged_cannot_flip():
    found = flips([{"a": 1.0, "b": 0.0}, {"a": 0.0}], seed=42, label="t")
    assert (found.value, found.n) == (1.0, 1)
    assert flips([{"a": 1.0}, {}], seed=42, label="t").value is None
    assert flips([], seed=42, label="t").value is None


def test_graded_repetitions_differ_by_their_distance():
    found = flips([{"a": 0.5}, {"a": 0.75}, {"a": 0.5}], seed=42, label="t")
    assert found.value == pytest.approx((0.25 + 0 + 0.25) / 3)


def test_the_worst_misses_are_the_farthest_then_the_surest_then_by_id():
    verdicts = [
        one("near", 1.0, 0.8),
        one("c", 0.0, 1.0, confidence=0.5),
        one("b", 0.0, 1.0, confidence=0.9),
        one("a", 0.0, 1.0, confidence=0.5),
        one("half", 0.0, 0.5),
        one("right", 1.0, 1.0),
    ]
    assert [m.id for m in worst_misses(verdicts, 9, least=0.5)] == ["b", "a", "c", "half"]
    assert [m.id for m in worst_misses(verdicts, 2, least=0.5)] == ["b", "a"]
    assert [m.id for m in worst_misses(verdicts, 9, least=0.51)] == ["b", "a", "c"]


def test_a_mean_is_corrected_by_two_labels_or_more():
    pairs = [one("a", 1, 1), one("b", 0, 0), one("c", 0, 1)]
    found = corrected(pairs, [1.0, 0.0, 1.0, 1.0])
    assert (found.labels, found.items, found.labelled) == (3, 7, pytest.approx(1 / 3))
    assert corrected(pairs[:1], [1.0]) is None
