import hashlib
import json
import unicodedata

import pytest
from row_files import write_rows

from gigamind.datasets.jsonl import read_queries
from gigamind.errors import DatasetError, InputError

ROW = {"id": "q", "query": "누가 승인하나?", "answerable": True, "expected_notes": ["a.md"]}


def row(**fields):
    return {**ROW, **fields}


def messages(dataset):
    return [
        error.describe(dataset.path.relative_to(dataset.path.parent)) for error in dataset.errors
    ]


def test_the_rows_of_the_specification_are_read(read_rows):
    dataset = read_rows(
        '{"id":"q-001","query":"우리 팀의 승인 프로세스는?","answerable":true,"expected_notes":'
        '["policies/approval.md"],"expected_spans":[{"note_path":"policies/approval.md","start":145,'
        '"end":312,"text":"승인은 팀장 검토 후..."}],'
        '"language":"ko","difficulty":"mid"}',
        '{"id":"q-002","query":"지난주 점심 메뉴가 뭐였지?","answerable":false,"expected_notes":[]}',
    )

    first, second = dataset.items
    assert (first.id, first.answerable, first.language) == ("q-001", True, "ko")
    assert (first.difficulty, first.expected_notes) == ("mid", ("policies/approval.md",))
    assert (first.expected_spans[0].start, first.expected_spans[0].end) == (145, 312)
    assert (second.answerable, second.expected_notes, second.expected_spans) == (False, (), ())
    assert (second.language, second.difficulty, second.created_at) == (None, None, None)
    assert second.tags == ()
    assert (dataset.errors, dataset.warnings) == ((), ())


def test_the_hash_is_that_of_the_bytes(read_rows):
    dataset = read_rows(ROW)

    assert dataset.sha256 == hashlib.sha256(dataset.path.read_bytes()).hexdigest()


def test_marks_line_ends_and_blank_lines_shift_no_line_number(tmp_path):
    path = tmp_path / "queries.jsonl"
    first, second, third = (json.dumps(row(id=name)) for name in ("가", "b", "c"))
    lines = ["", first, "  ", second, "{", third]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())

    dataset = read_queries(path)

    assert dataset.lines == {"가": 2, "b": 4, "c": 6}
    assert [error.line for error in dataset.errors] == [5]


def test_line_separators_inside_a_text_end_no_row(read_rows):
    dataset = read_rows(row(query="a\u2028b\u0085c"))

    assert dataset.items[0].query == "a\u2028b\u0085c"


def test_ids_and_names_are_read_in_one_unicode_form_and_whole_numbers_as_text(read_rows):
    decomposed = unicodedata.normalize("NFD", "질문")
    dataset = read_rows(row(id=decomposed), row(id=7, expected_notes=[12, decomposed]))

    assert [item.id for item in dataset.items] == ["질문", "7"]
    assert dataset.items[1].expected_notes == ("12", "질문")
    assert dataset.lines.keys() == {"질문", "7"}


SPAN = {"note_path": "a.md", "start": 0, "end": 1}


@pytest.mark.parametrize(
    ("fields", "field", "value"),
    [
        ({"id": 7.5}, "id", "7.5"), ({"id": True}, "id", "true"), ({"id": "  "}, "id", '"  "'),
        ({"query": ""}, "query", '""'), ({"query": None}, "query", "null"),
        ({"answerable": "yes"}, "answerable", '"yes"'), ({"answerable": 1}, "answerable", "1"),
        ({"expected_notes": "a.md"}, "expected_notes", '"a.md"'),
        ({"gains": {"a.md": "high"}}, "gains.a.md", '"high"'),
        ({"expected_all_of": [["a.md"], []]}, "expected_all_of[1]", "[]"),
        ({"expected_notes": ["a.md", None]}, "expected_notes[1]", "null"),
        ({"expected_spans": [SPAN, {**SPAN, "start": 1.0}]}, "expected_spans[1].start", "1.0"),
        ({"expected_spans": [{**SPAN, "start": True}]}, "expected_spans[0].start", "true"),
        ({"expected_spans": [{**SPAN, "end": "9"}]}, "expected_spans[0].end", '"9"'),
        ({"expected_spans": [{**SPAN, "start": -1}]}, "expected_spans[0].start", "-1"),
        ({"expected_spans": [{"note_path": "a.md", "start": 0}]}, "expected_spans[0].end", None),
        ({"expected_spans": ["a"]}, "expected_spans[0]", '"a"'),
        ({"difficulty": "medium"}, "difficulty", '"medium"'), ({"tags": "hr"}, "tags", '"hr"'),
        ({"language": ["ko"]}, "language", '["ko"]'),
        ({"created_at": "yesterday"}, "created_at", '"yesterday"'),
        ({"created_at": 1700000000}, "created_at", "1700000000"),
    ],
)  # fmt: skip
def test_a_field_that_breaks_the_schema_is_named_with_its_value(read_rows, fields, field, value):
    dataset = read_rows(row(id="first"), row(**fields), row(id="last"))

    assert [item.id for item in dataset.items] == ["first", "last"]
    [error] = dataset.errors
    assert (error.line, error.field, error.message.values.get("value")) == (2, field, value)
    assert messages(dataset)[0].startswith(f'queries.jsonl:2: field "{field}": ')


@pytest.mark.parametrize("missing", ["id", "query", "answerable", "expected_notes"])
def test_a_missing_field_is_named(read_rows, missing):
    dataset = read_rows({name: value for name, value in ROW.items() if name != missing})

    assert [(error.line, error.field) for error in dataset.errors] == [(1, missing)]
    assert dataset.errors[0].item_id == ("" if missing == "id" else "q")


@pytest.mark.parametrize(
    ("line", "field", "values"),
    [
        ("{", "", {"position": 2}),
        ('{"id": "q",5}', "", {"position": 12}),  # of a trailing comma Pythons differ
        (json.dumps(ROW) + json.dumps(ROW), "", {"position": len(json.dumps(ROW)) + 1}),
        ("[1, 2]", "", {"value": "[1, 2]"}),
        ('"text"', "", {"value": '"text"'}),
        ("null", "", {"value": "null"}),
        ("[" * 100_000, "", {}),
        ('{"id": "q", "score": NaN}', "", {"number": "NaN"}),
        ('{"id": "q", "score": -Infinity}', "", {"number": "-Infinity"}),
        ('{"id": "q", "score": 1e999}', "", {"number": "1e999"}),
        ('{"id": "q", "score": ' + "9" * 5000 + "}", "", {"digits": 5000}),
        ('{"id": "q", "id": "r"}', "id", {}),
        ('{"id": "q", "x": {"y": 1, "y": 1}}', "y", {}),
        (json.dumps(row(query="!")).replace("!", "\\ud83d"), "", {}),
    ],
)
def test_a_line_that_is_no_row_is_an_error_and_the_rest_is_read(read_rows, line, field, values):
    dataset = read_rows(row(id="first"), line, row(id="last"))

    assert [item.id for item in dataset.items] == ["first", "last"]
    [error] = dataset.errors
    assert (error.line, error.field) == (2, field)
    assert values.items() <= error.message.values.items()
    assert len(messages(dataset)[0]) < 400


def test_a_line_of_invalid_utf8_is_an_error_and_the_rest_is_read(tmp_path):
    path = write_rows(tmp_path / "queries.jsonl", [ROW])
    path.write_bytes(b'{"id": "\xff"}\n' + path.read_bytes())

    dataset = read_queries(path)

    assert [(error.line, error.message.values) for error in dataset.errors] == [(1, {"byte": 8})]
    assert dataset.lines == {"q": 2}


def test_every_problem_of_a_row_is_reported(read_rows):
    dataset = read_rows({"id": "q", "query": 1, "answerable": 2})

    assert [(error.line, error.item_id, error.field) for error in dataset.errors] == [
        (1, "q", "query"),
        (1, "q", "answerable"),
        (1, "q", "expected_notes"),
    ]


def test_a_repeated_id_names_the_line_of_the_first(read_rows):
    dataset = read_rows(row(id="a"), row(id="b"), row(id="a"), row(id="a"))

    assert [(error.line, error.field, error.message.values) for error in dataset.errors] == [
        (line, "id", {"id": '"a"', "line": 1}) for line in (3, 4)
    ]
    assert [item.id for item in dataset.items] == ["a", "b"]


def test_a_long_value_is_cut_in_the_message(read_rows):
    dataset = read_rows(row(answerable="가" * 1000))

    assert dataset.errors[0].message.values["value"] == '"' + "가" * 58 + "…"


def test_unknown_fields_are_kept_and_reported_once_with_their_count(read_rows):
    span = {**SPAN, "quote": "x"}
    dataset = read_rows(
        row(id="a", reviewer="kim", expected_spans=[span, span]),
        row(id="b", reviewer=None),
        row(id="c", dificulty="mid"),
    )

    assert dataset.items[0].model_extra == {"reviewer": "kim"}
    guessed, *others = dataset.warnings
    assert guessed.values["field"] == "difficulty"
    assert [
        (one.values["field"], one.values["n"]) for one in (guessed.values["warning"], *others)
    ] == [("dificulty", 1), ("reviewer", 2), ("expected_spans[].quote", 1)]


@pytest.mark.parametrize(
    "created_at", ["2026-01-31", "2026-01-31T09:00:00+09:00", "2026-01-31T00:00:00Z"]
)
def test_iso_8601_times_are_kept_as_written(read_rows, created_at):
    assert read_rows(row(created_at=created_at)).items[0].created_at == created_at


def test_null_in_an_optional_text_is_like_leaving_it_out(read_rows):
    [item] = read_rows(row(language=None, difficulty=None, created_at=None)).items

    assert (item.language, item.difficulty, item.created_at) == (None, None, None)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf\r\n"])
def test_a_dataset_without_a_row_is_an_error(tmp_path, content):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)

    with pytest.raises(DatasetError, match=r"empty\.jsonl") as caught:
        read_queries(path)
    assert caught.value.exit_code == 1


def test_a_dataset_of_bad_rows_only_is_returned_with_its_errors(read_rows):
    dataset = read_rows("{")

    assert dataset.items == ()
    assert len(dataset.errors) == 1


def test_a_missing_file_and_a_folder_are_errors(tmp_path):
    with pytest.raises(InputError, match=r"no\.jsonl"):
        read_queries(tmp_path / "no.jsonl")
    with pytest.raises(InputError, match="JSONL"):
        read_queries(tmp_path)
