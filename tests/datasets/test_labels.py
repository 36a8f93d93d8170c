import hashlib

import pytest

from gigamind.datasets.labels import AnswerabilityLabel, AnswerLabel, labelled, read_labels
from gigamind.datasets.schema import QueryItem
from gigamind.errors import InputError


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "labels.jsonl"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_labels_are_read_with_their_lines(file):
    text = '\ufeff{"id": "a", "unanswerable": true, "by": "kim"}\r\n\n{"id": "b", "unanswerable": false}\n'
    labels = read_labels(file(text), AnswerabilityLabel)
    assert labels.values == {"a": {"unanswerable": 1.0}, "b": {"unanswerable": 0.0}}
    assert labels.lines == {"a": 1, "b": 3}
    assert labels.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_an_answer_may_be_labelled_on_one_scale_alone(file):
    text = '{"id": "a", "correctness": 1, "utility": 0.25}\n{"id": "b", "utility": 0.0}\n'
    labels = read_labels(file(text), AnswerLabel)
    assert labels.values == {"a": {"correctness": 1.0, "utility": 0.25}, "b": {"utility": 0.0}}


@pytest.mark.parametrize(
    ("row", "model", "message"),
    [
        ('{"id": "a"}', AnswerabilityLabel, "unanswerable: "),
        ('{"id": "a", "unanswerable": 1}', AnswerabilityLabel, "unanswerable: "),
        ('{"id": "a", "unanswerable": "yes"}', AnswerabilityLabel, "unanswerable: "),
        ('{"unanswerable": true}', AnswerabilityLabel, "id: "),
        ('{"id": "", "unanswerable": true}', AnswerabilityLabel, "id: "),
        ('{"id": 7.5, "unanswerable": true}', AnswerabilityLabel, "id: "),
        ("[1]", AnswerabilityLabel, "object"), ('{"id": "a", ', AnswerabilityLabel, "JSON"),
        pytest.param("[" * 100_000, AnswerabilityLabel, "JSON", id="deep"),
        (b"\xff", AnswerabilityLabel, "JSON"), ('{"id": "a"}', AnswerLabel, "correctness"),
        ('{"id": "a", "utility": 1.01}', AnswerLabel, "utility: "),
        ('{"id": "a", "utility": -0.01}', AnswerLabel, "utility: "),
        ('{"id": "a", "utility": NaN}', AnswerLabel, "utility: "),
        ('{"id": "a", "utility": "0.5"}', AnswerLabel, "utility: "),
    ],
)  # fmt: skip
def test_a_row_that_is_no_label_is_named_with_its_line(file, row, model, message):
    content = row if isinstance(row, bytes) else row.encode()
    path = file(b"\n" + content)
    with pytest.raises(InputError) as caught:
        read_labels(path, model)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_two_labels_for_one_item_are_refused(file):
    row = '{"id": "a", "unanswerable": true}\n'
    with pytest.raises(InputError, match=r"labels\.jsonl:3: "):
        read_labels(file(row + "\n" + row), AnswerabilityLabel)


def test_of_many_problems_ten_are_shown_and_the_rest_counted(file):
    with pytest.raises(InputError) as caught:
        read_labels(file("x\n" * 13), AnswerabilityLabel)
    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert "3" in lines[-1]


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_labels_says_what_a_label_is(file, text):
    with pytest.raises(InputError, match=r'"id": ..., "unanswerable": ...'):
        read_labels(file(text), AnswerabilityLabel)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl"):
        read_labels(tmp_path / "none.jsonl", AnswerabilityLabel)


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
