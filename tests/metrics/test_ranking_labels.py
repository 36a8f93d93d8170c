"""Graded, judged and grouped labels: against ir_measures, against every way to fill the holes, and by hand."""

import math
import random
from itertools import product

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranked import measure_ranking, ndcg

from gigamind.metrics.ranking import RankedQuery, measure_rankings, ndcg_changes

CUTOFFS = (1, 3, 5, 10, 50)
THEIRS = {"hit": "Success", "ndcg": "nDCG", "recall": "R", "judged": "Judged"}


def cranfield(seed, queries=225, documents=1400):
    """Judgements as Cranfield has them, 1 to 4 and -1, and rankings that hold a part of them, some of few notes."""
    chance = random.Random(seed)
    qrels, rankings = {}, {}
    for name in map(str, range(1, queries + 1)):
        pool = chance.sample(range(documents), 90)
        qrels[name] = {
            f"d{n}": chance.choice((-1, 0, 1, 2, 3, 4)) for n in pool[: chance.randint(2, 40)]
        }
        qrels[name][f"d{pool[0]}"] = chance.randint(1, 4)  # something can be found
        found = chance.sample(pool, chance.choice((2, 50, 50, 50)))
        rankings[name] = [f"d{n}" for n in found]
    return qrels, rankings


@pytest.mark.parametrize("seed", range(2))
def test_every_figure_of_graded_judgements_is_that_of_ir_measures(seed):
    qrels, rankings = cranfield(seed)
    names = {"mrr": ir_measures.RR} | {  # their parser is deprecated from Python 3.12 on
        f"{ours}_at_{k}": getattr(ir_measures, theirs) @ k
        for ours, theirs in THEIRS.items()
        for k in CUTOFFS
    }
    run = {
        query: {note: 100.0 - rank for rank, note in enumerate(ranking)}
        for query, ranking in rankings.items()
    }
    expected = {
        (row.query_id, row.measure): row.value
        for row in ir_measures.iter_calc(names.values(), qrels, run)
    }
    queries = [RankedQuery(rankings[name], qrels[name], is_judged=True) for name in qrels]
    measured = dict(zip(qrels, measure_rankings(queries, 50), strict=True))
    assert len(expected) == len(qrels) * len(names)
    for (query, measure), value in expected.items():
        name = next(name for name, theirs in names.items() if theirs == measure)
        assert measured[query][name] == pytest.approx(value, abs=1e-12), (query, name)


def test_a_query_has_the_same_figures_to_the_last_bit_whatever_it_is_measured_beside():
    qrels, rankings = cranfield(7, queries=60)
    queries = [RankedQuery(rankings[name], qrels[name], is_judged=True) for name in qrels]
    together = measure_rankings(queries * 18, 50)  # more than one table, of 1 024 queries
    alone = [measure_rankings([query], 50)[0] for query in queries]
    assert together == alone * 18


small_qrels = st.dictionaries(st.sampled_from("abcd"), st.integers(-1, 3), min_size=1).filter(
    lambda qrels: any(gain > 0 for gain in qrels.values())
)


@given(small_qrels, st.permutations("abcdvwxyz"), st.integers(0, 9), st.integers(1, 7))
def test_the_bounds_of_ndcg_are_the_extremes_of_every_way_to_fill_the_holes(
    qrels, notes, length, k
):
    ranking = notes[:length]
    holes = [note for note in ranking[:k] if note not in qrels]
    best = max(qrels.values())
    filled = [
        ndcg(ranking, qrels | dict(zip(holes, gains, strict=True)), k)
        for gains in product((0, best), repeat=len(holes))
    ]
    measured = measure_ranking(ranking, qrels, k, is_judged=True)
    assert measured[f"ndcg_low_at_{k}"] == pytest.approx(min(filled), abs=1e-12)
    assert measured[f"ndcg_high_at_{k}"] == pytest.approx(max(filled), abs=1e-12)
    assert (
        measured[f"ndcg_low_at_{k}"]
        <= measured[f"ndcg_at_{k}"]
        <= measured[f"ndcg_high_at_{k}"]
        <= 1
    )


def test_a_relevant_note_far_down_makes_ndcg_lower():
    """b was judged irrelevant; if c is relevant, (1 + 1/2) / (1 + 1/log2 3)."""
    measured = measure_ranking(["a", "b", "c"], {"a": 1, "b": 0}, 3, is_judged=True)
    assert measured["ndcg_at_3"] == measured["ndcg_high_at_3"] == 1.0
    assert measured["ndcg_low_at_3"] == pytest.approx(1.5 / (1 + 1 / math.log2(3)), abs=1e-15)


@given(small_qrels, st.permutations("abcdvwxyz"), st.integers(1, 7))
def test_a_hole_matters_by_what_ndcg_would_change_by(qrels, ranking, k):
    best = max(qrels.values())
    query = RankedQuery(ranking, qrels, is_judged=True)
    [changes] = ndcg_changes([query], k)
    assert list(changes) == [note for note in ranking[:k] if note not in qrels]
    for note, change in changes.items():
        expected = ndcg(ranking, qrels | {note: best}, k) - ndcg(ranking, qrels, k)
        assert change == pytest.approx(expected, abs=1e-12)


def test_only_judged_queries_have_holes():
    assert not [
        name
        for name in measure_ranking(["x", "a"], {"a": 1}, 5)
        if "low" in name or "judged" in name
    ]
    assert measure_ranking(["x", "a"], {"a": 1}, 5, is_judged=True)["judged_at_5"] == 0.5
    assert "judged_at_5" not in measure_ranking([], {"a": 1}, 5, is_judged=True)


RANKING = ["a", "x", "c", "b", "d"]


@pytest.mark.parametrize(
    ("labels", "recall_at", "complete_at"),
    [
        # each group needed, by any of its notes: {a, b} at rank 1, {c} at 3, {d} at 5
        ({"all_of": [["a", "b"], ["c"], ["d"]]}, {1: 1 / 3, 3: 2 / 3, 5: 1.0}, {1: 0, 3: 0, 5: 1}),
        # one group enough, with all notes: {d} at 5; of {a, b, c} one at 1, two at 3, the third at 4
        ({"any_of": [["d"], ["a", "b", "c"]]}, {1: 1 / 3, 3: 2 / 3, 5: 1.0}, {1: 0, 3: 0, 5: 1}),
        ({"any_of": [["a"], ["nowhere", "b"]]}, {1: 1.0, 3: 1.0, 5: 1.0}, {1: 1, 3: 1, 5: 1}),
        ({"all_of": [["a"], ["nowhere"]]}, {1: 0.5, 3: 0.5, 5: 0.5}, {1: 0, 3: 0, 5: 0}),
        # both kinds: the smaller one
        ({"all_of": [["a"]], "any_of": [["c", "b"]]}, {1: 0.0, 3: 0.5, 5: 1.0}, {1: 0, 3: 0, 5: 1}),
    ],
)  # fmt: skip
def test_groups_are_served_as_their_kind_asks(labels, recall_at, complete_at):
    qrels = dict.fromkeys("abcd", 1)
    measured = measure_ranking(RANKING, qrels, 5, **labels)
    for k, expected in recall_at.items():
        assert measured[f"group_recall_at_{k}"] == pytest.approx(expected, abs=1e-15), k
        assert measured[f"complete_at_{k}"] == complete_at[k], k
    without = measure_ranking(RANKING, qrels, 5)
    assert not [name for name in without if name.startswith(("group", "complete"))]
    assert {name: measured[name] for name in without} == without


def test_a_cutoff_behind_the_end_of_a_short_ranking_reads_all_of_it():
    measured = measure_ranking(["a"], {"a": 2, "b": 1}, 50, is_judged=True, all_of=[["a"], ["b"]])
    assert measured["group_recall_at_50"] == 0.5
    assert measured["ndcg_low_at_50"] == measured["ndcg_high_at_50"] == measured["ndcg_at_50"]
    assert np.isclose(measured["ndcg_at_50"], 2 / (2 + 1 / math.log2(3)), atol=1e-15)
