import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.datasets.check import _NOWHERE, check_queries
from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.schema import QueryItem
from gigamind.spans import Passage, Span
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Note, Vault

VAULT = Path(__file__).parents[2] / "examples" / "vault"
NOTES = {
    "policies/approval.md": "승인 👋 절차는 팀장이 정한다.",
    "policies/leave.md": "Leave is asked for in writing.",
    "notes/My Note.md": "one",
    "notes/my-note.md": "two",
}


def vault_of(texts):
    notes = [
        Note(path, text, Path(path).stem, (), (), "", Document.parse(text), "")
        for path, text in sorted(texts.items())
    ]
    return Vault(Path("vault"), tuple(notes), ())


def checked(*rows, notes=NOTES):
    """The rows held against notes; each row stands in the line after its number from 1."""
    items = [
        QueryItem.model_validate_json(
            json.dumps(
                {"id": f"q{n}", "query": "?", "answerable": bool(row.get("expected_notes")), **row}
            )
        )
        for n, row in enumerate(rows, start=1)
    ]
    lines = {item.id: line for line, item in enumerate(items, start=2)}
    vault = vault_of({"x.md": ""} if notes is None else notes)
    dataset = Dataset(Path("queries.jsonl"), tuple(items), lines, (), (), "")
    return check_queries(dataset, vault, Identities(vault.notes))


def places(result):
    return [(error.line, error.field) for error in result.errors]


def expecting(note, start, end, text=None):
    span = {"note_path": note, "start": start, "end": end}
    return {
        "expected_notes": [note],
        "expected_spans": [span | ({} if text is None else {"text": text})],
    }


def test_labels_become_paths_and_passages_in_code_points():
    # "승인 👋 " is 6 UTF-16 code units and 5 code points.
    result = checked(expecting("Policies/Approval", 6, 9, "절차는"), {"expected_notes": []})

    first, second = result.usable
    assert (first.line, first.qrels) == (2, {"policies/approval.md": 1})
    assert first.spans == (Passage("policies/approval.md", "절차는", Span(5, 8)),)
    assert (second.qrels, second.spans) == ({}, ())
    assert (result.errors, result.warnings, result.collisions) == ((), (), ())


def test_two_names_of_one_note_are_one_label():
    result = checked({"expected_notes": ["leave", "policies/leave.md"]})

    assert result.usable[0].qrels == {"policies/leave.md": 1}


def test_an_unknown_note_is_an_error_that_suggests_the_closest_path():
    result = checked({"expected_notes": ["policies/aproval.md", "zzz"]})

    assert [(error.line, error.field, error.message.values["path"]) for error in result.errors] == [
        (2, "expected_notes[0]", '"policies/aproval.md"'),
        (2, "expected_notes[1]", '"zzz"'),
    ]
    assert [error.mend.values for error in result.errors] == [
        {"path": '"policies/approval.md"'},
        {},
    ]
    assert result.usable == ()


def proposed(path, notes):
    """The note that is suggested instead of a missing one; None if there is no suggestion."""
    (error,) = checked({"expected_notes": [path]}, notes=dict.fromkeys(notes, "")).errors
    return error.mend.values["path"].strip('"') if error.mend.values else None


def test_a_deleted_note_of_the_examples_is_replaced_by_none_and_a_misspelt_one_by_itself():
    notes = {
        unicodedata.normalize("NFC", path.relative_to(VAULT).as_posix())
        for path in VAULT.rglob("*.md")
    }
    for path in notes:
        assert proposed(path, notes - {path}) is None
        folder, slash, name = path.rpartition("/")
        assert proposed(f"{folder}{slash}x{name[1:]}", notes) == path


def test_a_moved_note_is_proposed_where_its_name_is_that_of_one():
    assert proposed("old/leave.md", {"policies/leave.md", "a.md"}) == "policies/leave.md"
    assert proposed("old/index.md", {"a/index.md", "b/index.md"}) is None


def test_a_long_path_is_cut_at_its_front():
    long = "a/" * 40
    (error,) = checked({"expected_notes": [f"{long}leeve.md"]}).errors
    assert error.message.values["path"] == f'"…/{"a/" * 24}leeve.md"'
    assert proposed("x/leeve.md", {f"{long}leave.md"}) == f"…/{'a/' * 24}leave.md"
    assert proposed("x/leeve.md", {"b/leave.md"}) == "b/leave.md"


@pytest.mark.parametrize("path", ["../secret.md", "/etc/passwd", "a/../../b.md", "C:\\x.md"])
def test_a_path_that_leaves_the_vault_is_an_error(path):
    result = checked({"expected_notes": [path]})

    [error] = result.errors
    assert (error.field, error.message.values) == (
        "expected_notes[0]",
        {"path": json.dumps(path)} | ({"vault": Path("vault")} if path.startswith("/") else {}),
    )


def test_an_answerable_query_needs_a_note():
    result = checked({"answerable": True, "expected_notes": []})

    assert places(result) == [(2, "expected_notes")]


def test_an_unanswerable_query_has_neither_notes_nor_spans():
    result = checked({**expecting("leave", 0, 5), "answerable": False})

    assert places(result) == [(2, "expected_notes"), (2, "expected_spans")]


@pytest.mark.each(
    "start, end, message",
    [
        (0, 19, "19"), (19, 20, "19"), (5, 4, "5 .* 4"), (4, 6, "4 .* surrogate pair"),
        (3, 4, "4 .* surrogate pair"), (6, 6, "6"),
    ],
)  # fmt: skip
def test_a_span_that_is_none_is_an_error(start, end, message):
    result = checked(expecting("policies/approval.md", start, end))

    [error] = result.errors
    assert (error.line, error.field) == (2, "expected_spans[0]")
    assert error.message.values["note"] == "policies/approval.md"
    assert re.search(message, error.message)


def test_the_note_of_a_span_must_exist():
    result = checked(
        {
            "expected_notes": ["leave"],
            "expected_spans": [{"note_path": "gone", "start": 0, "end": 1}],
        }
    )

    assert places(result) == [(2, "expected_spans[0].note_path")]


def test_a_span_outside_the_expected_notes_is_a_warning():
    spans = [{"note_path": "leave", "start": 0, "end": 5}]
    result = checked({"expected_notes": ["policies/approval.md"], "expected_spans": spans})

    assert len(result.usable) == 1
    [warning] = result.warnings
    assert warning.values["field"] == "expected_spans[0]"
    assert warning.values["problem"].values == {"note": "policies/leave.md"}


def test_a_text_that_differs_is_a_warning_with_both_texts():
    result = checked(expecting("leave", 0, 5, "Absence"))

    [query] = result.usable
    assert (query.spans, query.gone) == ((Passage("policies/leave.md", "Absence", _NOWHERE),), 1)
    total, row = result.warnings
    assert total.values == {"n": 1, "first": "q1"}
    assert row.values["problem"].values == {
        "note": "policies/leave.md",
        "actual": '"Leave"',
        "expected": '"Absence"',
    }


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [
        (0, 3, Span(5, 8)),  # it moved
        (900, 903, Span(5, 8)),  # the note was shortened
        (9, 8, Span(5, 8)),
        (4, 5, Span(5, 8)),  # inside the emoji
    ],
)
def test_a_text_that_moved_is_looked_for_where_it_stands_and_never_rejects_its_row(
    start, end, place
):
    result = checked(expecting("policies/approval.md", start, end, "절차는"))
    [query] = result.usable
    assert (query.spans, query.gone) == ((Passage("policies/approval.md", "절차는", place),), 0)
    assert result.warnings[0].values == {
        "n": 1,
        "command": "gigamind dataset check --dataset queries.jsonl --notes vault --fix OUT",
    }


# "👋 휴가는 팀장. 휴가는 대표.": the text stands at 3..6 and at 11..14 in UTF-16 code units, one code point before.
@pytest.mark.parametrize(("start", "place"), [(0, 2), (6, 2), (8, 10), (90, 10)])
def test_of_several_places_the_one_nearest_to_where_it_was_is_taken(start, place):
    notes = {"leave.md": "👋 휴가는 팀장. 휴가는 대표."}
    result = checked(expecting("leave.md", start, start + 1, "휴가는"), notes=notes)
    assert result.usable[0].spans[0].span == Span(place, place + 3)


def test_an_ambiguous_name_is_reported_once_in_the_format_of_the_specification():
    result = checked(expecting("my note", 0, 3), {"expected_notes": ["My_note"]})

    assert [query.qrels for query in result.usable] == [{"notes/My Note.md": 1}] * 2
    assert [collision.identifier for collision in result.collisions] == ["my note"]
    assert result.warnings == (
        (
            '[WARN] Note identifier collision: "my note" matches multiple files:\n'
            "  - notes/My Note.md (selected)\n"
            "  - notes/my-note.md (ignored)"
        ),
    )


def test_an_exact_path_meets_no_collision():
    result = checked({"expected_notes": ["notes/my-note.md"]})

    assert result.usable[0].qrels == {"notes/my-note.md": 1}
    assert result.collisions == ()


def test_every_row_ends_in_the_queries_or_in_the_errors_and_order_is_kept():
    result = checked(
        {"expected_notes": ["leave"]},
        {"expected_notes": ["gone"]},
        {"expected_notes": []},
        {"expected_notes": ["leave", "/x"]},
    )

    assert [query.item.id for query in result.usable] == ["q1", "q3"]
    assert [(error.line, error.item_id) for error in result.errors] == [(3, "q2"), (5, "q4")]


def test_errors_of_reading_and_of_checking_stand_in_file_order(read_rows):
    row = {"query": "?", "answerable": True}
    dataset = read_rows(
        {**row, "id": "a", "expected_notes": ["gone"]},
        "{",
        {**row, "id": "c", "expected_notes": []},
    )
    vault = vault_of(NOTES)

    result = check_queries(dataset, vault, Identities(vault.notes))

    assert [(error.line, error.item_id) for error in result.errors] == [(1, "a"), (2, ""), (3, "c")]


def test_a_dataset_of_another_vault_is_refused_in_seconds():
    notes = {f"folder {n % 50}/note number {n}.md": "" for n in range(2000)}

    result = checked(
        *({"expected_notes": [f"other/note of {n}.md"]} for n in range(2000)), notes=notes
    )

    assert len(result.errors) == 2000
    assert result.usable == ()


@settings(deadline=None)  # a busy machine is no failure
@given(text=st.text(min_size=1, max_size=60), data=st.data())
def test_a_span_cut_by_utf16_units_is_the_text_that_javascript_slices(text, data):
    encoded = text.encode("utf-16-le")
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    first, last = (len(text[:offset].encode("utf-16-le")) // 2 for offset in (start, end))

    result = checked(expecting("n.md", first, last, text[start:end]), notes={"n.md": text})

    [passage] = result.usable[0].spans
    assert passage.span == Span(start, end)
    assert passage.text == encoded[2 * first : 2 * last].decode("utf-16-le")
    assert result.warnings == ()


def test_grades_and_groups_become_gains_by_path():
    result = checked(
        {
            "answerable": True,
            "expected_notes": ["leave"],
            "gains": {"Policies/Approval": 3, "notes/My Note.md": 0},
            "expected_all_of": [["leave", "policies/approval.md"]],
        },
        {"answerable": True, "expected_notes": [], "expected_any_of": [["leave"]]},
    )
    assert places(result) == []
    graded, grouped = result.usable
    assert graded.qrels == {
        "policies/leave.md": 1,
        "policies/approval.md": 3,
        "notes/My Note.md": 0,
    }
    assert graded.relevant == ("policies/leave.md", "policies/approval.md")
    assert graded.groups == ((("policies/leave.md", "policies/approval.md"),), ())
    assert (graded.is_judged, grouped.is_judged) == (True, False)
    assert (grouped.qrels, grouped.groups) == (
        {"policies/leave.md": 1},
        ((), (("policies/leave.md",),)),
    )


def test_labels_that_contradict_one_another_are_told():
    result = checked(
        {"answerable": True, "expected_notes": ["leave"], "gains": {"leave": 0}},
        {"answerable": True, "expected_notes": [], "gains": {"leave": 2, "policies/leave.md": 1}},
        {"answerable": True, "expected_notes": [], "gains": {"leave": 0}},
        {"answerable": False, "expected_notes": [], "gains": {"leave": 1}},
        {"answerable": True, "expected_notes": [], "expected_all_of": [["leave"], ["gone"]]},
    )
    assert [(error.field, error.message.values) for error in result.errors] == [
        ("gains", {"path": '"policies/leave.md"', "grade": 0}),
        ("gains", {"path": '"policies/leave.md"'}), ("expected_notes", {}), ("gains", {}),
        ("expected_all_of[1][0]", {"path": '"gone"', "vault": Path("vault")}),
    ]  # fmt: skip
