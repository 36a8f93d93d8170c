import json
import unicodedata

import pytest

from gigamind.datasets.label import labelled, read_gains
from gigamind.datasets.schema import QueryItem
from gigamind.errors import InputError

ROWS = [
    QueryItem(
        id="a", query="?", answerable=True, expected_notes=("x", "y"), gains={"x": 2, "z": 0}
    ),
    QueryItem(id="b", query="?", answerable=False, expected_notes=()),
    QueryItem(id="c", query="?", answerable=True, expected_notes=("x",)),
]


@pytest.fixture
def labels(tmp_path):
    def write(*rows):
        path = tmp_path / "unjudged.jsonl"
        path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
        return path

    return write


def test_new_judgements_count_before_older_ones(labels):
    path = labels(
        {"id": "a", "note": "new", "gain": 3, "rank": 1},
        {"id": "a", "note": "y", "gain": 0},
        {"id": "b", "note": "new", "gain": 1},
        {"id": "c", "note": "later", "gain": None},
    )
    a, b, c = labelled(ROWS, read_gains(path, {"a", "b", "c"}))
    assert (a.gains, a.expected_notes) == ({"x": 2, "z": 0, "new": 3, "y": 0}, ("x", "new"))
    assert (b.gains, b.expected_notes, b.answerable) == ({"new": 1}, ("new",), True)
    assert c == ROWS[2]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["{"], "unjudged.jsonl:1: "),
        ([{"id": "a", "note": "n", "gain": "high"}], "unjudged.jsonl:1: gain: "),
        ([{"id": "z", "note": "n", "gain": 1}], "unjudged.jsonl:1: "),
        (
            [{"id": "a", "note": "n", "gain": 1}, {"id": "a", "note": "n", "gain": 2}],
            "unjudged.jsonl:2: ",
        ),
        ([{"id": "a", "note": "n", "gain": None}], "unjudged.jsonl: "),
    ],
)
def test_labels_that_cannot_be_used_are_told_with_their_line(labels, rows, message):
    with pytest.raises(InputError) as error:
        read_gains(labels(*rows), {"a"})
    assert message in str(error.value)


def test_a_note_is_the_same_in_every_unicode_form_and_may_be_a_number(labels):
    decomposed = unicodedata.normalize("NFD", "휴가")
    path = labels({"id": "a", "note": decomposed, "gain": 3}, {"id": "a", "note": 12, "gain": 1})
    a, _b, _c = labelled(ROWS, read_gains(path, {"a"}))
    assert a.gains == {"x": 2, "z": 0, "휴가": 3, "12": 1}
