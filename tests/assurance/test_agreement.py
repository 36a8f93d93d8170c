from dataclasses import replace

import pytest

from gigamind.assurance.certify import _agreement, _flips, _LabelledVerdict, _worst_misses


def one(name, label, verdict, language="ko", confidence=None, of=None):
    return _LabelledVerdict(name, label, verdict, language, confidence, of)


@pytest.mark.parametrize(
    ("runs", "value", "n"),
    [
        ([{"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}], (0 + 2 / 3) / 2, 2),
        ([{"a": 0.5}, {"a": 0.75}, {"a": 0.5}], (0.25 + 0 + 0.25) / 3, 1),  # grades
        ([{"a": 1.0, "b": 0.0}, {"a": 0.0}], 1.0, 1),  # one run alone judged b
        ([{"a": 1.0}, {}], None, 0),
    ],
)
def test_repetitions_differ_by_the_mean_distance_of_their_pairs(runs, value, n):
    found = _flips(runs, seed=42, label="t")
    assert (found.value, found.n) == (pytest.approx(value), n)


def test_the_worst_misses_are_the_farthest_then_the_surest_then_by_id():
    verdicts = [
        one("near", 1.0, 0.8), one("c", 0.0, 1.0, confidence=0.5),
        one("b", 0.0, 1.0, confidence=0.9), one("a", 0.0, 1.0, confidence=0.5),
        one("half", 0.0, 0.5), one("right", 1.0, 1.0),
    ]  # fmt: skip
    assert [m.id for m in _worst_misses(verdicts, least=0.5)] == ["b", "a", "c", "half"]
    assert [m.id for m in _worst_misses(verdicts, least=0.51)] == ["b", "a", "c"]


def test_alike_grades_and_confidences_of_a_cluster_count_once():
    rows = [("v", 1, 1), ("w", 1, 1), ("x", 0, 1), ("y", 0, 0), ("z", 1, 0)]
    answers = [one(name, label, judged, confidence=0.8, of=name) for name, label, judged in rows]
    claims = [replace(answer, id=f"{answer.id}#{n}") for answer in answers for n in (1, 2)]
    for scale in ("binary", "graded"):
        found = _agreement(claims, scale, seed=42, label="t")
        alone = _agreement(answers, scale, seed=42, label="t")
        assert found.figures.keys() == alone.figures.keys()
        for name, figure in alone.figures.items():
            assert (found.figures[name].low, found.figures[name].high) == (figure.low, figure.high)
        ends = [[(b.right.low, b.right.high) for b in group.bins] for group in (found, alone)]
        assert ends[0] == ends[1]
