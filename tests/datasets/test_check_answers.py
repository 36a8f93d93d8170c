import pytest
from row_files import write_rows

from gigamind.datasets.check import check_answers
from gigamind.datasets.jsonl import read_answers
from gigamind.errors import DatasetError
from gigamind.vault.identity import Identities


@pytest.fixture
def checked(tmp_path, vault_of):
    notes = {"휴가.md": "---\ntitle: 휴가 규정\n---\n연차는 15일이다."}
    vault = vault_of(notes | {"expenses.md": "The limit is 40 euros."})

    def check(*rows, with_vault=True):
        path = write_rows(tmp_path / "answers.jsonl", rows)
        notes = vault if with_vault else None
        return check_answers(read_answers(path), notes, Identities(notes.notes if notes else ()))

    return check


def row(**changes):
    given = {"id": "a1", "question": "며칠?", "answer": "15일", "context_notes": [{"path": "휴가"}]}
    return given | changes


def only_error(found):
    (error,) = found.errors
    return error


def test_a_path_gives_title_and_text_of_its_note(checked):
    (answer,) = checked(row()).usable
    (note,) = answer.notes
    assert (note.path, note.title) == ("휴가.md", "휴가 규정")
    assert note.text.endswith("연차는 15일이다.")


def test_a_row_may_hold_its_notes_and_what_was_shown_of_them(checked):
    given = [{"title": "A", "text": "a"}, {"text": "b"}, {"path": "expenses.md", "text": "40"}]
    (answer,) = checked(row(context_notes=given)).usable
    assert [(note.path, note.title, note.text) for note in answer.notes] == [
        (None, "A", "a"),
        (None, "", "b"),
        ("expenses.md", "expenses", "40"),
    ]


def test_an_answer_without_context_is_usable(checked):
    found = checked(
        row(context_notes=[]), row(id="a2", context_notes=[{"text": " "}]), row(id="a3")
    )
    assert len(found.usable) == 3


@pytest.mark.parametrize(
    ("changes", "field", "values"),
    [
        ({"context_notes": [{"path": "nowhere.md"}]}, "context_notes[0].path", {"path": '"nowhere.md"'}),
        ({"context_notes": [{"path": "../휴가.md"}]}, "context_notes[0].path", {"path": '"../휴가.md"'}),
        ({"context_notes": [{}]}, "context_notes[0]", {}),
        ({"context_notes": [{"title": "A"}]}, "context_notes[0]", {}),
        ({"context_notes": "휴가.md"}, "context_notes", {"value": '"휴가.md"'}),
        ({"answer": None}, "answer", {"value": "null"}),
        ({"question": " "}, "question", {"value": '" "'}),
        ({"labels": {"correctness": 1.5}}, "labels.correctness", {"value": "1.5"}),
        ({"labels": {"utility": "high"}}, "labels.utility", {"value": '"high"'}),
        ({"labels": {"claims": [{"text": "x", "verdict": "true"}]}}, "labels.claims[0].verdict", {"value": '"true"'}),
        (
            {"labels": {"claims": [{"text": "x", "verdict": "supported", "note": 0}]}},
            "labels.claims[0].note",
            {"value": "0"},
        ),
    ],
)  # fmt: skip
def test_a_bad_row_is_reported_with_line_field_and_fix(checked, changes, field, values):
    found = checked(row(id="good"), row(**changes))
    error = only_error(found)
    assert (error.line, error.field) == (2, field)
    assert values.items() <= error.message.values.items()
    assert error.mend
    assert [answer.item.id for answer in found.usable] == ["good"]


def test_a_path_without_a_vault_asks_for_one(checked):
    assert "--notes" in only_error(checked(row(), with_vault=False)).mend


def test_a_row_with_its_own_text_needs_no_vault(checked):
    assert checked(row(context_notes=[{"text": "x"}]), with_vault=False).usable


def test_a_label_on_a_note_that_is_not_there_is_a_warning(checked):
    labels = {"claims": [{"text": "15일", "verdict": "supported", "note": 2}]}
    (warning,) = checked(row(labels=labels)).warnings
    assert "answers.jsonl:1" in warning
    assert warning.values["problem"].values == {"number": 2, "count": 1}


def test_broken_lines_doubled_ids_and_unknown_fields_are_told(checked):
    found = checked("{", row(), row(), row(id="a4", labels={"corectness": 1}))
    assert [error.line for error in found.errors] == [1, 3]
    assert found.warnings[0].values["warning"].values["field"] == "labels.corectness"
    assert found.warnings[0].values["field"] == "correctness"


def test_a_file_without_rows_is_refused(checked):
    with pytest.raises(DatasetError, match=r"answers\.jsonl"):
        checked("")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context_notes": ["p.md"]}, '{"path": "a.md"}'),
        ({"labels": []}, '{"correctness": 0.75, "utility": 1.0}'),
        ({"labels": {"claims": ["x"]}}, '{"text": "...", "verdict"'),
    ],
)
def test_what_is_no_object_is_told_with_one_of_its_own_kind(tmp_path, changes, message):
    path = write_rows(tmp_path / "answers.jsonl", [row(**changes)])
    (error,) = read_answers(path).errors
    assert message in error.describe(path)


def test_a_row_of_queries_is_told_how_to_have_it_answered(tmp_path):
    path = write_rows(tmp_path / "queries.jsonl", [{"id": "a", "query": "?", "answerable": True}])
    first = read_answers(path).errors[0]
    assert "--answer-model" in first.describe(path)
