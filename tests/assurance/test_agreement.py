from dataclasses import replace

import pytest

from gigamind.assurance.certify import (
    _agreement,
    _agreement_by_language,
    _corrected,
    _flips,
    _LabelledVerdict,
    _UnlabelledVerdict,
    _worst_misses,
)


def one(name, label, verdict, language="ko", confidence=None, of=None):
    return _LabelledVerdict(name, label, verdict, language, confidence, of)


# Five answers of two claims each: both right, or both wrong.
CLAIMS = [
    one(f"{answer}#{claim}", label, verdict, of=answer)
    for answer, label, verdict in [("v", 1, 1), ("w", 1, 1), ("x", 0, 1), ("y", 0, 0), ("z", 1, 0)]
    for claim in (1, 2)
]


def ends(figure):
    return figure.low, figure.high


def test_only_verdicts_with_a_confidence_are_asked_whether_it_was_right():
    verdicts = [one("a", 1, 1, confidence=0.8), one("b", 0, 1, confidence=0.6), one("c", 1, 1)]
    found = _agreement(verdicts, "binary", seed=42, label="t")
    assert (found.items, found.positive) == (3, 2)
    assert found.figures["accuracy"].value == pytest.approx(2 / 3)
    # a was right at 0.8 and b wrong at 0.6
    assert found.figures["brier"].value == pytest.approx((0.04 + 0.36) / 2)
    assert found.figures["brier"].n == 2


def test_without_confidences_there_is_no_calibration():
    found = _agreement([one("a", 1, 1)], "binary", seed=42, label="t")
    assert (found.bins, "brier" in found.figures) == ((), False)


def test_items_of_no_language_belong_to_none():
    verdicts = [one("a", 1, 1, "ko"), one("b", 0, 0, "en"), one("c", 1, 0, None)]
    found = _agreement_by_language(verdicts, "binary", seed=42, label="t")
    assert {language: group.items for language, group in found.items()} == {"en": 1, "ko": 1}


def test_flips_are_the_pairs_of_runs_that_differ():
    runs = [{"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}]
    found = _flips(runs, seed=42, label="t")
    # a never; b in two of its three pairs
    assert (found.value, found.n) == (pytest.approx((0 + 2 / 3) / 2), 2)
    assert found.interval.low == pytest.approx(0.0)
    # two items tell little: Wilson's upper end of a third of two
    assert found.interval.high == pytest.approx(0.8406, abs=1e-4)


def test_items_that_one_run_alone_judged_cannot_flip():
    found = _flips([{"a": 1.0, "b": 0.0}, {"a": 0.0}], seed=42, label="t")
    assert (found.value, found.n) == (1.0, 1)
    assert _flips([{"a": 1.0}, {}], seed=42, label="t").value is None
    assert _flips([], seed=42, label="t").value is None


def test_graded_repetitions_differ_by_their_distance():
    found = _flips([{"a": 0.5}, {"a": 0.75}, {"a": 0.5}], seed=42, label="t")
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
    assert [m.id for m in _worst_misses(verdicts, least=0.5)] == ["b", "a", "c", "half"]
    assert [m.id for m in _worst_misses(verdicts, least=0.51)] == ["b", "a", "c"]


def test_a_mean_is_corrected_by_two_labels_or_more():
    pairs = [one("a", 1, 1), one("b", 0, 0), one("c", 0, 1)]
    rest = [_UnlabelledVerdict(f"u{n}", v) for n, v in enumerate((1.0, 0.0, 1.0, 1.0))]
    found = _corrected(pairs, rest)
    assert (found.labels, found.items, found.labelled) == (3, 7, pytest.approx(1 / 3))
    assert (found.label_clusters, found.item_clusters) == (3, 7)
    assert _corrected(pairs[:1], rest[:1]) is None


def test_alike_claims_of_an_answer_have_the_figures_and_intervals_of_the_answer():
    found = _agreement(CLAIMS, "binary", seed=42, label="t")
    alone = _agreement(CLAIMS[::2], "binary", seed=42, label="t")
    assert (found.items, found.clusters, found.positive) == (10, 5, 6)
    assert (alone.items, alone.clusters, alone.positive) == (5, None, 3)
    for name, figure in alone.figures.items():
        of_claims = {"n": 2 * figure.n, "clusters": figure.n}
        assert found.figures[name] == figure.model_copy(update=of_claims)


def test_alike_grades_and_confidences_of_a_cluster_count_once():
    for scale in ("binary", "graded"):
        claims = [replace(claim, confidence=0.8) for claim in CLAIMS]
        found = _agreement(claims, scale, seed=42, label="t")
        alone = _agreement(claims[::2], scale, seed=42, label="t")
        assert found.figures.keys() == alone.figures.keys()
        for name, figure in alone.figures.items():
            assert ends(found.figures[name]) == ends(figure)
        assert [ends(b.right) for b in found.bins] == [ends(b.right) for b in alone.bins]


def test_clusters_are_counted_by_language():
    claims = [replace(one, language="en") if one.cluster == "v" else one for one in CLAIMS]
    found = _agreement_by_language(claims, "binary", seed=42, label="t")
    assert [(group.items, group.clusters) for group in found.values()] == [(2, 1), (8, 4)]
    # both claims of a single answer: right, and nobody knows how it would be with another
    accuracy = found["en"].figures["accuracy"]
    assert (accuracy.value, *ends(accuracy)) == (1.0, None, None)


def test_a_cluster_of_its_own_is_as_none():
    alone = [replace(claim, cluster=None) for claim in CLAIMS]
    named = [replace(claim, cluster=f"of {claim.id}") for claim in CLAIMS]
    rest = [_UnlabelledVerdict("r", 1.0), _UnlabelledVerdict("s", 0.0)]
    of_rest = [replace(one, cluster=f"of {one.id}") for one in rest]
    options = {"seed": 42, "label": "t"}
    assert _agreement(named, "binary", **options) == _agreement(alone, "binary", **options)
    assert _corrected(named, of_rest) == _corrected(alone, rest)


def test_flips_of_an_answers_claims_are_drawn_together():
    names = [f"{answer}#{claim}" for answer in "xy" for claim in range(5)]
    runs = [dict.fromkeys(names, 1.0), {name: float(name[0] == "y") for name in names}]
    found = _flips(runs, {name: name[0] for name in names}, seed=42, label="t")
    # of two draws of the two answers a quarter has either twice
    assert (found.value, found.interval.low, found.interval.high) == (0.5, 0.0, 1.0)
    assert (found.n, found.clusters) == (10, 2)
    alone = _flips(runs, {name: name for name in names}, seed=42, label="t")
    assert alone == _flips(runs, seed=42, label="t")
    # ten claims would flip by chances of a half
    assert (alone.interval.low, alone.interval.high, alone.clusters) == (0.2, 0.8, 10)


def test_an_answer_may_be_labelled_in_part():
    rest = [_UnlabelledVerdict("z#3", 0.0, "z"), _UnlabelledVerdict("q#1", 1.0, "q")]
    found = _corrected(CLAIMS, rest)
    assert (found.labels, found.label_clusters) == (10, 5)
    assert (found.items, found.item_clusters) == (12, 6)
