from pathlib import Path

import pytest
from row_files import write_rows

from gigamind.datasets.check import check_links
from gigamind.datasets.jsonl import read_links
from gigamind.spans import Span
from gigamind.vault.identity import Identities

ROW = {"id": "1", "source_note": "a", "anchor": "베타", "expected_links": ["b"]}


@pytest.fixture
def held(vault_of, tmp_path: Path):
    """What becomes of one row, the fields given changed, in a vault of two notes."""
    vault = vault_of({"a.md": "👋 베타", "b.md": "---\ntitle: Beta\n---\n"})

    def run(**fields: object):
        dataset = read_links(write_rows(tmp_path / "links.jsonl", [ROW | fields]))
        return check_links(dataset, vault, Identities(vault.notes))

    return run


def test_a_row_is_found_with_its_range_in_code_points(held):
    checked = held(anchor_range={"start": 3, "end": 5}, expected_links=["Beta"])
    (link,) = checked.usable
    assert (link.note.path, link.targets, link.span) == ("a.md", {"b.md"}, Span(2, 4))
    assert (checked.errors, checked.warnings) == ((), ())


@pytest.mark.parametrize("place", [(2, 4), (4, 6), (1, 3), (0, 99), (5, 3)])
def test_a_range_that_does_not_cut_out_the_anchor_is_a_warning(held, place):
    checked = held(anchor_range={"start": place[0], "end": place[1]})
    assert checked.usable[0].span is None
    assert checked.usable[0].is_misfit
    values = checked.warnings[0].values
    assert (values["count"], values["rows"]) == (1, 1)


def test_a_row_without_a_range_is_no_misfit(held):
    checked = held()
    assert (checked.usable[0].span, checked.warnings) == (None, ())


@pytest.mark.parametrize(
    ("fields", "field", "values"),
    [
        ({"source_note": "zzz"}, "source_note", {"path": '"zzz"'}),
        ({"expected_links": ["zzz"]}, "expected_links[0]", {"path": '"zzz"'}),
        ({"expected_links": ["../b.md"]}, "expected_links[0]", {"path": '"../b.md"'}),
        ({"expected_links": []}, "expected_links", {}),
        ({"label": "maybe"}, "label", {"value": '"maybe"'}),
        ({"anchor": " "}, "anchor", {"value": '" "'}),
        ({"anchor_range": {"start": -1, "end": 2}}, "anchor_range.start", {"value": "-1"}),
    ],
)
def test_a_row_that_cannot_be_used_names_field_and_value(held, fields, field, values):
    checked = held(**fields)
    assert checked.usable == ()
    assert checked.errors[0].field == field
    assert values.items() <= checked.errors[0].message.values.items()


def test_a_row_with_a_target_that_is_gone_keeps_the_others_and_says_where(held):
    checked = held(expected_links=["AI 자동 연결", "b"])
    assert [link.targets for link in checked.usable] == [{"b.md"}]
    assert (checked.errors, checked.rejected) == ((), 0)
    [warning] = checked.warnings
    assert (warning.values["place"].rpartition("/")[2], warning.values["field"]) == (
        "links.jsonl:1",
        "expected_links[0]",
    )
    problem = warning.values["problem"].values
    assert problem["problem"].values["path"] == '"AI 자동 연결"'
    assert problem["targets"] == ['"b.md"']


def test_a_row_without_any_target_left_names_each_that_is_gone(held):
    checked = held(expected_links=["y", "z"])
    assert [error.field for error in checked.errors] == ["expected_links[0]", "expected_links[1]"]
    assert (checked.usable, checked.warnings) == ((), ())


def test_a_target_outside_the_vault_is_an_error_whatever_else_is_named(held):
    checked = held(expected_links=["b", "../c.md", "z"])
    assert checked.usable == ()
    assert checked.errors[0].message.values == {"path": '"../c.md"'}


def test_unknown_fields_are_kept_and_named(held):
    warnings = held(reviewer="kim", anchor_range={"start": 3, "end": 5, "line": 1}).warnings
    assert [(warning.values["field"], warning.values["n"]) for warning in warnings] == [
        ("reviewer", 1),
        ("anchor_range.line", 1),
    ]
