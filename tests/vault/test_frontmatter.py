import pytest

from gigamind.vault.frontmatter import aliases, list_field, split, text_field


def test_the_body_starts_after_the_closing_line():
    text = "---\ntitle: 결재 절차\n---\n# Body\n"

    front = split(text)

    assert front.fields == {"title": "결재 절차"}
    assert text[front.body_start :] == "# Body\n"
    assert front.warnings == ()


@pytest.mark.each(
    "text, body",
    [
        ("---\r\ntitle: a\r\n---\r\nbody", "body"), ("\ufeff---\ntitle: a\n---\nbody", "body"),
        ("---\ntitle: a\n---", ""), ("---\ntitle: a\n...\nbody", "body"),
        ("--- \ntitle: a\n---\t\nbody", "body"), ("---\n\ntitle: a\n\n---\n\nbody", "\nbody"),
    ],
)  # fmt: skip
def test_line_ends_marks_and_blanks_do_not_hide_the_block(text, body):
    front = split(text)

    assert front.fields == {"title": "a"}
    assert text[front.body_start :] == body


@pytest.mark.parametrize(
    "text",
    ["", "body", "---\ntitle: a\nnever closed", "\n---\ntitle: a\n---\n", "----\na: b\n---\n"],
)
def test_what_does_not_open_and_close_is_body(text):
    assert split(text).body_start == 0
    assert split(text).fields == {}


def test_a_byte_order_mark_alone_is_not_body():
    assert split("\ufeffbody").body_start == 1


def test_an_empty_block_has_no_fields_and_no_warning():
    front = split("---\n---\nbody")

    assert (front.fields, front.body_start, front.warnings) == ({}, 8, ())


@pytest.mark.each(
    "block, fields",
    [
        ("lang: no", {"lang": "no"}), ("version: 1.10", {"version": "1.10"}),
        ("date: 2024-13-45", {"date": "2024-13-45"}), ("day: !!timestamp soon", {"day": "soon"}),
        *((f"title: {nothing}", {"title": None}) for nothing in ("", "~", "null", "Null", "NULL")),
        ("title: nullable", {"title": "nullable"}),
        ("a: &a {x: y}\nb: {<<: [*a, *a]}", {"a": {"x": "y"}, "b": {"<<": [{"x": "y"}, {"x": "y"}]}}),
    ],
)  # fmt: skip
def test_scalars_and_merge_keys_stay_as_they_are_written(block, fields):
    assert split(f"---\n{block}\n---\n").fields == fields


def test_a_title_of_several_lines_is_one_line():
    front = split('---\ntitle: "휴가\n\n\n  규정"\naliases:\n- |\n  a\n  b\n- "c\\vd"\n---\n')

    assert text_field(front.fields, "title") == "휴가 규정"
    assert list_field(front.fields, "aliases") == ("a b", "c d")


def test_broken_yaml_is_a_warning_with_its_line_in_the_note():
    front = split("---\ntitle: ok\nbad: a: b\n---\nbody")

    assert front.fields == {}
    assert front.body_start == len("---\ntitle: ok\nbad: a: b\n---\n")
    [warning] = front.warnings
    assert warning.values["line"] == 3
    assert "mapping values are not allowed" in warning.values["problem"]


@pytest.mark.each(
    "block",
    [
        "a: " + "[" * 100_000, "- " * 100_000, "a: &x [*x]", "? [a]\n: b", "a: *missing", "a: \x07",
        "a: !!python/object:os.system x: y", "- a\n- b", "just prose", "[1, 2]",
    ],
)  # fmt: skip
def test_hostile_yaml_and_what_is_no_mapping_is_a_warning(block):
    front = split(f"---\n{block}\n---\nbody")

    assert front.fields == {}
    assert len(front.warnings) == 1


@pytest.mark.parametrize(("depth", "warned"), [(49, False), (50, True)])
def test_nesting_beyond_fifty_levels_is_refused(depth, warned):
    block = "a: " + "[" * depth + "]" * depth  # the mapping is a level of its own

    assert bool(split(f"---\n{block}\n---\n").warnings) is warned


def test_a_text_field_is_nfc_and_trimmed():
    assert text_field({"title": "  \u1100\u1161 "}, "title") == "가"
    assert text_field({"title": ["a"]}, "title") == ""
    assert text_field({}, "title") == ""


def test_a_list_field_is_a_list_or_one_text():
    assert list_field({"aliases": ["b", " a ", "b", "", None, ["x"]]}, "aliases") == ("b", "a")
    assert list_field({"aliases": "Doe, Jane"}, "aliases") == ("Doe, Jane",)
    assert list_field({"aliases": None}, "aliases") == ()


def test_aliases_are_read_as_obsidian_reads_them():
    assert aliases({"aliases": "하나, 둘"}) == ("하나", "둘")
    assert aliases({"alias": "단수", "Aliases": ["대문자", "Doe, Jane"]}) == (
        "단수",
        "대문자",
        "Doe, Jane",
    )


def test_a_key_that_occurs_twice_is_named_and_the_last_one_counts():
    front = split("---\ntitle: first\ntitle: second\n---\n")
    assert front.fields == {"title": "second"}
    assert [warning.values for warning in front.warnings] == [{"key": "title"}]


def test_toml_is_read_between_plus_signs():
    front = split('+++\ntitle = "배포 안내"\naliases = ["토믈"]\n+++\n본문\n')
    assert front.fields == {"title": "배포 안내", "aliases": ["토믈"]}
    assert front.warnings == ()
    broken = split("+++\ntitle = \n+++\nbody")
    assert (broken.fields, len(broken.warnings)) == ({}, 1)
    assert split("+++\nno end").body_start == 0
