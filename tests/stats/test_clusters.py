import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.stats import intervals

some_clusters = st.lists(st.integers(-3, 9), min_size=1, max_size=20)


def test_names_are_numbered_in_the_order_in_which_they_first_appear():
    assert intervals.clusters_of(["y", "x", "y", "z"]).tolist() == [0, 1, 0, 2]
    assert intervals.clusters_of([]).tolist() == []


def test_any_numbers_will_do():
    assert intervals.numbered(np.array([7, -2, 7, 40, -2]), 5).tolist() == [0, 1, 0, 2, 1]


def test_without_clusters_each_item_stands_alone():
    assert intervals.numbered(None, 3).tolist() == [0, 1, 2]
    assert intervals.numbered(np.array([9, 4, 1]), 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("clusters", [[0, 1], [0, 1, 2, 3], [[0, 1, 2]]])
def test_clusters_of_other_items_are_refused(clusters):
    with pytest.raises(ValueError, match="3 items have as many cluster numbers"):
        intervals.numbered(np.array(clusters), 3)


def test_sums_over_clusters_worked_out_by_hand():
    clusters = np.array([0, 1, 0, 1, 2])
    assert intervals.summed(np.array([1.0, 2, 4, 8, 16]), clusters).tolist() == [5, 10, 16]
    rows = np.array([[1.0, 0], [0, 1], [1, 1], [0, 0], [2, 3]])
    assert intervals.summed(rows, clusters).tolist() == [[2, 1], [0, 1], [2, 3]]
    assert intervals.summed(np.empty((0, 2)), np.array([], dtype=np.intp)).shape == (0, 2)


def test_clusters_are_counted_once():
    assert intervals.count(np.array([0, 7, 7, 2])) == 3
    assert intervals.count(np.array([], dtype=np.intp)) == 0


@given(some_clusters)
def test_sums_leave_nothing_out_and_follow_the_numbers(found):
    clusters = intervals.numbered(np.array(found), len(found))
    assert intervals.summed(np.ones(len(found)), clusters).sum() == len(found)
    # a number is new exactly when it is the next one
    assert [n for at, n in enumerate(clusters) if n not in clusters[:at]] == [*range(len({*found}))]


@pytest.mark.parametrize(
    ("clusters", "single"), [([], False), ([4], False), ([4, 4], True), ([4, 4, 5], False)]
)
def test_several_items_of_one_cluster_are_single(clusters, single):
    assert intervals.is_single(np.array(clusters, dtype=np.intp)) is single


def test_alike_items_count_as_one():
    # 4^2 over 3^2 + 1^2; equal sizes count as many as there are clusters
    assert intervals.effective_items(np.array([1, 1, 1, 2])) == 1.6
    assert intervals.effective_items(np.array([5, 5, 3, 3, 8, 8])) == 3
    assert intervals.effective_items(np.arange(49)) == 49


@given(some_clusters)
def test_items_count_as_no_more_than_their_clusters(found):
    clusters = np.array(found)
    assert 1 <= intervals.effective_items(clusters) <= len({*found}) + 1e-9
