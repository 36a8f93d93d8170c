import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.spans import Span
from gigamind.vault.markdown import Document, Link

TABLE = "| a | b |\n|---|---|\n"


def links(text: str) -> list[tuple[str, str, str]]:
    """Target, fragment and text of each link."""
    return [(link.target, link.fragment, link.text) for link in Document.parse(text).links]


def only_link(text: str) -> Link:
    [link] = Document.parse(text).links
    return link


@pytest.mark.each(
    "text, expected",
    [
        ("[[note]]", ("note", "", "note")), ("[[note.md]]", ("note.md", "", "note.md")),
        ("[[dir/note]]", ("dir/note", "", "dir/note")), ("[[note|alias]]", ("note", "", "alias")),
        ("[[note | alias ]]", ("note", "", "alias")),
        ("[[note|an *emphatic* alias]]", ("note", "", "an emphatic alias")),
        ("[[note#h]]", ("note", "h", "note#h")),
        ("[[note#h1#h2]]", ("note", "h1#h2", "note#h1#h2")),
        ("[[note#h|alias]]", ("note", "h", "alias")), ("[[#h]]", ("", "h", "#h")),
        ("[[note#^block]]", ("note", "^block", "note#^block")), ("[[note|]]", ("note", "", "note")),
        ("[[결재 절차|승인]]", ("결재 절차", "", "승인")), ("![[embed]]", ("embed", "", "embed")),
        ("![[img.png|100x145]]", ("img.png", "", "img.png")),
        ("![[img.png|100]]", ("img.png", "", "img.png")),
        ("![[img.png|caption|100]]", ("img.png", "", "caption")),
        ("![[img.png|100 years]]", ("img.png", "", "100 years")),
        ("[[note|100]]", ("note", "", "100")), ("[t](dir/note%20x.md)", ("dir/note x.md", "", "t")),
        ('[t](<dir/note x.md> "title")', ("dir/note x.md", "", "t")),
        ("[t](note.md#a%20b)", ("note.md", "a b", "t")),
        ("[t](100%25%23.md)", ("100%#.md", "", "t")), ("[t](%EA%B0%80.md)", ("가.md", "", "t")),
        ("[t](#h)", ("", "h", "t")), ("[*t* `c`](n.md)", ("n.md", "", "t c")),
        ("[two\nlines](n.md)", ("n.md", "", "two lines")), ("![alt](i.png)", ("i.png", "", "alt")),
        ("![alt|100](i.png)", ("i.png", "", "alt")),
        ("[r][ref]\n\n[ref]: other.md\n", ("other.md", "", "r")),
        (TABLE + "| [[a\\|b]] | x |", ("a", "", "b")),
        (TABLE + "| ![[i.png\\|9x9]] | x |", ("i.png", "", "i.png")),
        ("# Head [[note]]", ("note", "", "note")),
        ("- item\n  > quoted [[note]]", ("note", "", "note")),
        ("a <b>[[note]]</b>", ("note", "", "note")),
        ("Text[^1]\n\n[^1]: see [[note]]", ("note", "", "note")),
        ("\\\\[[note]]", ("note", "", "note")),  # the backslash escapes the other one
        ("![a [b](c.md) d](e.png)", ("e.png", "", "a b d")),
    ],
)  # fmt: skip
def test_each_form_of_a_link_is_read(text, expected):
    assert links(text) == [expected]


@pytest.mark.each(
    "text",
    [
        "```\n[[note]]\n```", "~~~md\n[[note]]", "    [[note]]", "`[[note]]`", "``a ` [[note]]``",
        "---\ntitle: [[note]]\n---\n", "---\nup: '[[note]]'\n---\n", "<div>\n[[note]]\n</div>",
        "<!-- [[note]] -->", "$[[note]]$", "$$\n[[note]]\n$$", "\\[[note]]", "[\\[note]]",
        "%%[[note]]%%", "%%\n[[note]]\n%%", "%%\n\npara [[note]]\n\n- [t](n.md)\n\n%%",
        "a %% b [[note]] c %% d", "[[]]", "[[ ]]", "[[|x]]", "[[#]]", "[[two\nlines]]",
        TABLE + "| [[a|b]] | x |", "[t](https://example.org/a.md)", "[t](HTTP://example.org)",
        "[t](mailto:a@example.org)", "[t](obsidian://open?vault=x)", "[t](//example.org/a.md)",
        "[t]()", "<https://example.org>", "<a@example.org>", "![alt](https://example.org/i.png)",
    ],
)  # fmt: skip
def test_what_is_no_link_to_a_file_is_not_read(text):
    assert links(text) == []


def test_embeds_and_wikilinks_are_told_from_links():
    document = Document.parse("[[a]] ![[b]] [c](c.md) ![d](d.png)")

    assert [link.embed for link in document.links] == [False, True, False, True]
    assert [link.wikilink for link in document.links] == [True, True, False, False]


def test_a_link_around_an_image_gives_both():
    assert links("[![alt](i.png)](note.md)") == [("i.png", "", "alt"), ("note.md", "", "alt")]


def test_spans_count_code_points_of_the_whole_note():
    text = "\ufeff---\r\ntitle: 👋\r\n---\r\n# 👋 인사\r\n\r\n👩‍👩‍👧 and [[노트|별칭]]\r\n"

    link = only_link(text)

    assert link.span.slice(text) == "[[노트|별칭]]"
    assert link.text_span.slice(text) == "별칭"
    [heading] = Document.parse(text).headings
    assert heading.span.slice(text) == "# 👋 인사"
    assert Document.parse(text).frontmatter == {"title": "👋"}


@pytest.mark.each(
    "text, under",
    [
        ("[[ note | alias ]]", "alias"), ("[[ note ]]", "note"), ("![[img.png|cap|100]]", "cap"),
        ("![[img.png|100]]", "img.png"), ("![alt|100](i.png)", "alt"), ("[a *b*](c.md)", "a *b*"),
        ("[](c.md)", ""), ("[[a|*b*]]", "*b*"),
    ],
)  # fmt: skip
def test_the_text_span_covers_what_is_shown_with_its_markers(text, under):
    assert only_link(text).text_span.slice(text) == under


def test_a_rule_between_paragraphs_opens_no_second_frontmatter():
    text = "a\n\n---\nb: [[c]]\n---\n"

    assert [block.kind for block in Document.parse(text).blocks] == ["paragraph", "rule", "heading"]
    assert links(text) == [("c", "", "c")]


def test_a_comment_in_front_of_text_does_not_make_code_of_it():
    text = "%%to do%% see [[note]]"

    assert [block.kind for block in Document.parse(text).blocks] == ["paragraph"]
    assert links(text) == [("note", "", "note")]


@pytest.mark.each(
    "text",
    [
        "100%% sure [[note]]", "100%% sure\n\n[[note]]\n\n50%% sure", "`%%` [[note]] `%%`",
        "```\n%%\n```\n\n[[note]]\n\n```\n%%\n```", "\\%% [[note]] \\%%",
        "%%\n\n[[note]] never closed",
    ],
)  # fmt: skip
def test_percent_signs_that_are_no_comment_hide_nothing(text):
    assert links(text) == [("note", "", "note")]


NAME = st.text(st.sampled_from("ab가나é👋 .-_"), min_size=1, max_size=8).map(str.strip).filter(bool)


@settings(deadline=None)  # a busy machine is no failure
@given(
    before=st.text(st.sampled_from("ab 가👋.\n"), max_size=30),
    target=NAME,
    alias=NAME.filter(lambda name: "_" not in name),  # which would be emphasis
    embed=st.booleans(),
)
def test_a_written_wikilink_is_read_back_where_it_stands(before, target, alias, embed):
    written = f"{'!' * embed}[[{target}|{alias}]]"
    text = f"intro {before.strip()} {written} outro"

    link = only_link(text)

    assert link.span == Span(len(text) - len(written) - 6, len(text) - 6)
    assert (link.target, link.text, link.embed) == (target, alias, embed)
    assert link.text_span.slice(text) == alias
