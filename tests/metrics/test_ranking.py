import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranked import hit, measure_ranking, ndcg, recall, reciprocal_rank

RANKING = ["a.md", "b.md", "c.md", "d.md"]

notes = st.lists(st.sampled_from("abcdefghij"), unique=True)
gains = st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(0, 3), max_size=8)


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 0.0), (3, 1.0), (4, 1.0), (9, 1.0)])
def test_a_hit_begins_at_the_rank_of_the_first_relevant_note(k, expected):
    assert hit(RANKING, {"c.md": 1, "d.md": 1}, k) == expected


def test_only_the_first_relevant_note_counts_for_the_reciprocal_rank():
    assert reciprocal_rank(RANKING, {"b.md": 1, "d.md": 3}) == 0.5


@pytest.mark.parametrize(
    ("k", "expected"), [(1, 0.0), (2, 1 / 3), (3, 1 / 3), (4, 2 / 3), (9, 2 / 3)]
)
def test_recall_is_the_share_of_all_relevant_notes(k, expected):
    assert recall(RANKING, {"b.md": 1, "d.md": 2, "elsewhere.md": 1}, k) == expected


@pytest.mark.parametrize("qrels", [{}, {"a.md": 0}])
def test_a_query_without_relevant_notes_is_zero_everywhere(qrels):
    assert set(measure_ranking(RANKING, qrels, 10).values()) == {0.0}


def test_an_empty_ranking_is_zero_everywhere():
    assert set(measure_ranking([], {"a.md": 1}, 10).values()) == {0.0}


@pytest.mark.parametrize(
    ("topk", "cutoffs"),
    [
        (1, [1]), (2, [1, 2]), (3, [1, 3]), (9, [1, 3, 5, 9]), (10, [1, 3, 5, 10]),
        (20, [1, 3, 5, 10, 20]),
    ],
)  # fmt: skip
def test_no_cutoff_is_beyond_topk(topk, cutoffs):
    names = measure_ranking(RANKING, {"a.md": 1}, topk).keys()
    assert names >= {f"{name}_at_{k}" for name in ("hit", "ndcg", "recall") for k in cutoffs}
    assert {int(name.partition("_at_")[2]) for name in names if "_at_" in name} == set(cutoffs)


@given(notes, gains, st.integers(1, 12))
def test_every_figure_is_between_zero_and_one(ranking, qrels, topk):
    assert all(0 <= value <= 1 for value in measure_ranking(ranking, qrels, topk).values())


@given(notes, gains, st.integers(1, 12))
def test_hit_and_recall_never_fall_as_k_grows(ranking, qrels, k):
    assert hit(ranking, qrels, k) <= hit(ranking, qrels, k + 1)
    assert recall(ranking, qrels, k) <= recall(ranking, qrels, k + 1)


@given(gains.filter(lambda qrels: any(qrels.values())), st.integers(1, 12))
def test_the_ideal_order_has_an_ndcg_of_one(qrels, k):
    assert ndcg(sorted(qrels, key=lambda note: -qrels[note]), qrels, k) == 1.0


@given(notes, gains)
def test_a_hit_at_k_is_a_reciprocal_rank_of_at_least_one_in_k(ranking, qrels):
    rank = reciprocal_rank(ranking, qrels)
    assert all((rank >= 1 / k) == bool(hit(ranking, qrels, k)) for k in range(1, 11))
