import pytest
from search_records import make_hit, make_item

from gigamind.tasks.search.view import _failed_items, _failure_text


def test_the_worst_comes_first_and_equals_keep_the_order_of_the_dataset():
    items = [
        make_item(1, metrics={"mrr": 0.5}),  # 1 - 1/2
        make_item(2, metrics={"mrr": 0.0}),  # 1
        make_item(3, answerable=False, top_base_score=0.7, metrics={}),  # 0.7
        make_item(4, judged_unanswerable=True, top_base_score=0.2),  # 1 - 0.2
        make_item(5, metrics={"mrr": 0.0}),  # 1
        make_item(6, judged_unanswerable=True, top_base_score=0.2, metrics={"mrr": 0.1}),  # 0.9
        make_item(7),  # no failure
        make_item(8, answerable=False, judged_unanswerable=True, metrics={}),  # no failure
    ]
    assert [item.id for item in _failed_items(items)] == ["q2", "q5", "q6", "q4", "q3", "q1"]


@pytest.mark.parametrize(("hits", "what"), [(2, " 2 "), (1, "not found")])
def test_a_note_that_is_not_found_is_told_with_the_number_of_results(hits, what):
    ranking = tuple(make_hit(f"{n}.md") for n in range(hits))
    assert what in _failure_text(make_item(ranking=ranking, metrics={"mrr": 0.0}))
