from dataclasses import fields, replace

import numpy as np
import pytest
from fit_calibration import (
    Labelled,
    auc,
    balance,
    brier,
    fit_cosine,
    fit_cross,
    fit_keyword,
    grouped_folds,
    label,
)
from fitted_on import collection
from hypothesis import given
from hypothesis import strategies as st
from row_files import query_row, write_rows

from gigamind.datasets.check import check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.errors import DatasetError
from gigamind.judges.unanswerable import CalibratedJudge, CalibratedJudgeFile, _KeywordCalibration
from gigamind.retrieval.cache import quiet
from gigamind.retrieval.hit import Signals
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.identity import Identities


def row(
    number: int,
    *,
    answerable: bool,
    strength: float,
    note: str | None = None,
    candidates: int = 99,
    cross_lingual: bool = False,
) -> Labelled:
    """A query whose signals are all as strong as `strength`, give or take its number."""
    value = strength + number % 5 / 50
    alike = dict.fromkeys((field.name for field in fields(Signals)), value)
    signals = replace(
        Signals(**alike), matched=strength > 0, notes=100, candidates=candidates,
        cross_lingual=cross_lingual, bm25_top=10 * value,
    )  # fmt: skip
    key = note or f"note {number}"
    return Labelled(signals, answerable, left_out=False, keys=frozenset({key}))


def rows(answerable: int, unanswerable: int, *, cross_lingual: bool = False) -> list[Labelled]:
    kinds = [True] * answerable + [False] * unanswerable
    return [
        row(n, answerable=kind, strength=0.8 if kind else 0.2, cross_lingual=cross_lingual)
        for n, kind in enumerate(kinds)
    ]


def chance(found: Labelled, fitted: _KeywordCalibration) -> float:
    source = collection(100)
    file = CalibratedJudgeFile(
        kind="calibrated", rules=3, min_probability=0.5, keyword=fitted, fitted_on=(source,)
    )
    return CalibratedJudge(file, False, "", ()).verdict(found.signals).score


def test_a_fit_to_clear_cases_is_right_on_folds_it_has_not_seen():
    fitted = fit_keyword(rows(30, 25))
    found = fitted.reliability
    counts = {"queries": 55, "unanswerable": 25, "left_out": 0, "folds": 10}
    perfect = {"auc": 1.0, "f1": 1.0, "far": 0.0, "false_refusals": 0.0}
    assert found == found | counts | perfect
    assert found["brier"] < 0.05
    low, high = row(0, answerable=False, strength=0.2), row(0, answerable=True, strength=0.8)
    assert chance(low, fitted) < 0.5 < chance(high, fitted)


def test_the_same_signals_say_less_in_a_larger_vault():
    fitted = fit_keyword(rows(30, 25))
    small, large = (
        row(0, answerable=True, strength=0.8, candidates=count) for count in (99, 9_999)
    )
    odds = [p / (1 - p) for p in (chance(small, fitted), chance(large, fitted))]
    assert fitted.kappa == 0.8
    assert odds[0] / odds[1] == pytest.approx(100**0.8)  # 1 + candidates: 100 and 10 000


def test_queries_across_languages_get_a_table_of_their_own_once_there_are_enough():
    assert fit_cross(rows(30, 25)) is None
    assert fit_cross(rows(30, 19, cross_lingual=True)) is None
    fitted = fit_cross(rows(30, 25, cross_lingual=True))
    assert fitted is not None
    assert fitted.reliability["queries"] == 55


def test_the_notes_that_share_a_word_say_nothing_of_the_size_with_vectors():
    kinds = [row(n, answerable=n < 30, strength=0.8 if n < 30 else 0.2) for n in range(60)]
    few = [replace(kind, signals=replace(kind.signals, candidates=9)) for kind in kinds]
    assert fit_cosine(few) == fit_cosine(kinds)
    assert fit_keyword(few) != fit_keyword(kinds)


def test_the_cosine_set_weighs_cosines():
    fitted = fit_cosine(rows(30, 25))
    assert fitted.signals["cosine_top"].weight > 0
    assert "cosine_top" not in fit_keyword(rows(30, 25)).signals


def test_labels_without_a_pattern_are_reported_as_no_better_than_chance():
    mixed = [row(n, answerable=n % 2 == 0, strength=0.5) for n in range(200)]
    assert fit_keyword(mixed).reliability["auc"] < 0.6


@pytest.mark.parametrize(
    ("answerable", "unanswerable", "kind"), [(19, 30, "answerable"), (30, 19, "unanswerable")]
)
def test_fewer_than_twenty_of_a_kind_are_refused_with_the_number_needed(
    answerable, unanswerable, kind
):
    with pytest.raises(DatasetError) as error:
        fit_keyword(rows(answerable, unanswerable))
    assert error.value.message.values == {"n": 19, "kind": kind, "least": 20}
    assert fit_keyword(rows(20, 20)).reliability["queries"] == 40


def test_queries_that_find_nothing_are_no_rows_of_the_fit():
    nothing = [row(900 + n, answerable=False, strength=-1.0) for n in range(30)]
    with pytest.raises(DatasetError, match=" 19 "):
        fit_keyword(rows(30, 19) + nothing)


@pytest.mark.parametrize(
    ("odds", "answerable", "expected"),
    [
        ([-2.0, -1.0, 3.0], [0, 0, 1], 1.0),  # midway between the kinds
        # Below 0 one of two answerable ones is refused, and one of two others let pass.
        ([-2.0, -1.0, 1.0, 2.0], [0, 1, 0, 1], 0.0),
        # Three unanswerable and one answerable: shares count, not numbers.
        ([-3.0, -2.0, -1.0, 1.0], [0, 0, 0, 1], 0.0),
    ],
)
def test_the_threshold_balances_both_errors(odds, answerable, expected):
    found = balance(np.array(odds), np.array(answerable, float), np.ones(len(odds)))
    assert found == pytest.approx(expected)


def test_a_row_that_counts_more_moves_the_threshold():
    odds, answerable = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), np.array([0.0, 0, 1, 0, 1])
    alike = balance(odds, answerable, np.ones(5))
    heavy = balance(odds, answerable, np.array([8.0, 1, 1, 1, 1]))
    assert alike == pytest.approx(
        0.5
    )  # refuses 1 / 2 and lets 1 / 3 pass; at -0.5 it were 0 and 1 / 3
    assert heavy == pytest.approx(-0.5)  # refuses none and lets 1 / 10 pass


def test_rows_of_the_stratum_spread_over_all_folds():
    keys = [{str(row)} for row in range(20)]
    folds = grouped_folds(keys, [row < 4 for row in range(20)], 4)
    assert sorted(folds[:4]) == [0, 1, 2, 3]
    assert sorted(folds) == sorted([0, 1, 2, 3] * 5)


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=3), max_size=20))
def test_no_key_is_ever_in_two_folds(keys: list[frozenset[str]]):
    folds = grouped_folds(keys, [bool(len(own) % 2) for own in keys], 3)
    home: dict[str, int] = {}
    for own, fold in zip(keys, folds, strict=True):
        assert 0 <= fold < 3
        assert {home.setdefault(key, fold) for key in own} == {fold}


def test_a_left_out_query_is_unanswerable_and_stays_with_its_original(vault_of, tmp_path):
    notes = {"a": "apple", "b": "apple", "c": "cherry", "d": "plum", "e": "pear"}
    vault = vault_of({f"{name}.md": text for name, text in notes.items()})
    identities = Identities(vault.notes)
    dataset = write_rows(tmp_path / "q.jsonl", [query_row("q", "apple", "a.md", "b")])
    queries = check_queries(read_queries(dataset), vault, identities).usable
    settings = RetrievalSettings(mode="keyword")
    with open_retriever(vault, identities, settings, quiet) as retriever:
        first, second = label(retriever, queries, "v1", leave_out=True)
        (alone,) = label(retriever, queries, "v1", leave_out=False)
    assert (first.answerable, first.left_out, first.signals.matched) == (True, False, True)
    assert (second.answerable, second.left_out, second.signals.matched) == (False, True, False)
    assert first.keys == second.keys == {"id q", "note v1 a.md", "note v1 b.md"}
    assert first.vault == second.vault == "v1"
    assert alone == first


def test_auc_is_the_share_of_pairs_in_the_right_order_ties_counting_half():
    # Pairs (positive, negative): 0.9 > 0.4, 0.9 > 0.1, 0.4 = 0.4, 0.4 > 0.1.
    assert auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == pytest.approx(3.5 / 4)


def test_auc_is_undefined_with_one_kind_of_items():
    assert auc([0.2, 0.7], [True, True]) is None
    assert auc([0.2, 0.7], [False, False]) is None


def test_brier_is_the_mean_squared_distance():
    assert brier([1.0, 0.5, 0.2], [True, False, False]) == pytest.approx((0 + 0.25 + 0.04) / 3)
