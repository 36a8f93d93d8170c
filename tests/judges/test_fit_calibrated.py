from dataclasses import fields, replace

import pytest

from gigamind.errors import DatasetError
from gigamind.judges.calibrated import probability_of
from gigamind.judges.fit import Labelled, best_threshold, fit_cosine, fit_keyword
from gigamind.retrieval.signals import Signals


def row(number: int, *, answerable: bool, strength: float, note: str | None = None) -> Labelled:
    """A query whose signals are all as strong as `strength`, give or take its number."""
    value = strength + number % 5 / 50
    alike = dict.fromkeys((field.name for field in fields(Signals)), value)
    signals = replace(
        Signals(**alike), found=strength > 0, query_words=1.0 + number % 3, bm25_top=10 * value
    )
    key = note or f"note {number}"
    return Labelled(signals, answerable, left_out=False, keys=frozenset({key}))


def rows(answerable: int, unanswerable: int) -> list[Labelled]:
    high = [row(n, answerable=True, strength=0.8) for n in range(answerable)]
    return high + [row(100 + n, answerable=False, strength=0.2) for n in range(unanswerable)]


def test_a_fit_to_clear_cases_is_right_on_folds_it_has_not_seen():
    fitted = fit_keyword(rows(30, 25))
    found = fitted.reliability
    assert (found.queries, found.unanswerable, found.left_out, found.folds) == (55, 25, 0, 10)
    assert (found.auc, found.f1, found.far) == (1.0, 1.0, 0.0)
    assert found.brier < 0.05
    low, high = row(0, answerable=False, strength=0.2), row(0, answerable=True, strength=0.8)
    assert probability_of(low.signals, fitted) < fitted.min_probability
    assert probability_of(high.signals, fitted) > fitted.min_probability


def test_the_cosine_set_names_its_embedder_and_weighs_cosines():
    fitted = fit_cosine(rows(30, 25), "ours@1")
    assert fitted.embedder == "ours@1"
    assert fitted.signals["cosine_top"].weight > 0
    assert "cosine_top" not in fit_keyword(rows(30, 25)).signals


def test_labels_without_a_pattern_are_reported_as_no_better_than_chance():
    mixed = [row(n, answerable=n % 2 == 0, strength=0.5) for n in range(200)]
    assert fit_keyword(mixed).reliability.auc < 0.6


def test_the_same_rows_give_the_same_judge():
    assert fit_keyword(rows(30, 25)) == fit_keyword(rows(30, 25))


@pytest.mark.parametrize(
    ("answerable", "unanswerable", "message"),
    [(19, 30, "19 answerable ones"), (30, 19, "19 unanswerable ones")],
)
def test_fewer_than_twenty_of_a_kind_are_refused_with_the_number_needed(
    answerable: int, unanswerable: int, message: str
):
    with pytest.raises(DatasetError, match=f"{message}.*20 are needed"):
        fit_keyword(rows(answerable, unanswerable))
    assert fit_keyword(rows(20, 20)).reliability.queries == 40


def test_queries_that_find_nothing_are_no_rows_of_the_fit():
    nothing = [row(900 + n, answerable=False, strength=-1.0) for n in range(30)]
    with pytest.raises(DatasetError, match="19 unanswerable"):
        fit_keyword(rows(30, 19) + nothing)


@pytest.mark.parametrize(("notes", "enough"), [(9, False), (10, True)])
def test_ten_groups_without_a_common_note_are_needed(notes: int, enough: bool):
    shared = [
        row(n, answerable=n < 30, strength=0.8 if n < 30 else 0.2, note=f"note {n % notes}")
        for n in range(60)
    ]
    if enough:
        assert fit_keyword(shared).reliability.queries == 60
    else:
        with pytest.raises(DatasetError, match=r"only 9 groups .* and 10 are needed"):
            fit_keyword(shared)


@pytest.mark.parametrize(
    ("probabilities", "answerable", "expected"),
    [
        ([0.1, 0.3, 0.9], [False, False, True], 0.6),  # midway between the kinds
        (
            [0.1, 0.2, 0.3, 0.9],
            [False, True, False, True],
            0.6,
        ),  # 2 of 3 right beat 1 of 1: 0.8, 0.67
        ([0.5, 0.5], [True, False], 1.0),  # equal values stay together; F1 is 2/3 with both caught
        ([0.9, 0.8], [False, False], 1.0),
    ],
)
def test_the_threshold_has_the_best_f1(
    probabilities: list[float], answerable: list[bool], expected: float
):
    assert best_threshold(probabilities, answerable) == pytest.approx(expected)


def test_of_equal_f1_the_threshold_nearest_to_one_half_wins():
    # Below 0.2: 1 of 2 caught, F1 2/3.  Below 0.55: 2 caught and 2 wrong, F1 4/6: the same.
    probabilities = [0.1, 0.3, 0.3, 0.4, 0.7]
    answerable = [False, True, True, False, True]
    assert best_threshold(probabilities, answerable) == pytest.approx(0.55)
