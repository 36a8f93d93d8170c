from gigamind.datasets.labels import labelled
from gigamind.datasets.schema import QueryItem

ROWS = [
    QueryItem(
        id="a", query="?", answerable=True, expected_notes=("x", "y"), gains={"x": 2, "z": 0}
    ),
    QueryItem(id="b", query="?", answerable=False, expected_notes=()),
    QueryItem(id="c", query="?", answerable=True, expected_notes=("x",)),
]


def test_new_judgements_count_before_older_ones():
    gains = {"a": {"new": 3, "y": 0}, "b": {"new": 1}}
    a, b, c = labelled(ROWS, gains)
    assert (a.gains, a.expected_notes) == ({"x": 2, "z": 0, "new": 3, "y": 0}, ("x", "new"))
    assert (b.gains, b.expected_notes, b.answerable) == ({"new": 1}, ("new",), True)
    assert c == ROWS[2]
