import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gigamind.stats import intervals

some_clusters = st.lists(st.integers(-3, 9), min_size=1, max_size=20)


@given(some_clusters)
def test_sums_leave_nothing_out_and_follow_the_numbers(found):
    clusters = intervals.numbered(np.array(found), len(found))
    assert intervals.summed(np.ones(len(found)), clusters).sum() == len(found)
    # a number is new exactly when it is the next one
    assert [n for at, n in enumerate(clusters) if n not in clusters[:at]] == [*range(len({*found}))]


def test_alike_items_count_as_one():
    # 4^2 over 3^2 + 1^2; equal sizes count as many as there are clusters
    assert intervals.effective_items(np.array([1, 1, 1, 2])) == 1.6
    assert intervals.effective_items(np.array([5, 5, 3, 3, 8, 8])) == 3
    assert intervals.effective_items(np.arange(49)) == 49


@given(some_clusters)
def test_items_count_as_no_more_than_their_clusters(found):
    clusters = np.array(found)
    assert 1 <= intervals.effective_items(clusters) <= len({*found}) + 1e-9
