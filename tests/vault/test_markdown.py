import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from time_limit import check_linear

from gigamind.vault.markdown import Document


@pytest.mark.each(
    "text, level, shown, under",
    [
        ("# One", 1, "One", "# One"),
        ("  ## Two ##  \n", 2, "Two", "## Two ##"),
        ("Three\n===\n\nbody", 1, "Three", "Three\n==="),
        ("###### *a* `b` [[n|c]] [d](e)", 6, "a b c d", "###### *a* `b` [[n|c]] [d](e)"),
        ("# 제목 %%hidden%% 끝", 1, "제목 끝", "# 제목 %%hidden%% 끝"),
        ("#", 1, "", "#"),
    ],
)
def test_headings_have_level_visible_text_and_span(text, level, shown, under):
    [heading] = Document.parse(text).headings

    assert (heading.level, heading.text, heading.span.slice(text)) == (level, shown, under)


@pytest.mark.parametrize("text", ["#tag", "```\n# no\n```", "%%\n# no\n%%", "    # no", "\\# no"])
def test_what_only_looks_like_a_heading_is_none(text):
    assert Document.parse(text).headings == ()


def test_blocks_are_whole_and_in_order():
    text = (
        "---\na: b\n---\n# H\n\npara\nmore\n\n- a\n\n  b\n- c\n\n> q\n> r\n\n"
        "```py\nx\n\ny\n```\n\n    ind\n\n    ented\n\n| a |\n|---|\n| b |\n\n<div>\nx\n</div>\n\n"
        "$$\nx\n$$\n\n***\n\n[^1]: foot\n"
    )

    found = [(block.kind, block.span.slice(text)) for block in Document.parse(text).blocks]

    assert found == [
        ("heading", "# H"), ("paragraph", "para\nmore"), ("list", "- a\n\n  b\n- c"),
        ("quote", "> q\n> r"), ("code", "```py\nx\n\ny\n```"), ("code", "    ind\n\n    ented"),
        ("table", "| a |\n|---|\n| b |"), ("html", "<div>\nx\n</div>"), ("math", "$$\nx\n$$"),
        ("rule", "***"), ("footnote", "[^1]: foot"),
    ]  # fmt: skip


def test_text_with_math_in_it_is_a_paragraph():
    assert [block.kind for block in Document.parse("so $$x$$").blocks] == ["paragraph"]


def test_a_block_that_is_all_comment_is_left_out():
    text = "before\n\n%%\nhidden\n\n# hidden\n%%\n\n%%inline%%\n\nafter"

    assert [block.span.slice(text) for block in Document.parse(text).blocks] == ["before", "after"]


def test_a_note_without_text_is_an_empty_document():
    for text in ("", "\ufeff", "\n\n", "\r\n"):
        document = Document.parse(text)
        assert (document.headings, document.links, document.blocks) == ((), (), ())


def test_megabytes_are_read_in_linear_time():
    paragraph = "한국어 문단과 plain English words 👋 go on. " * 6 + "One [[note|별칭]].\n\n"
    text = paragraph * (2_000_000 // len(paragraph.encode()))

    document = check_linear(lambda size: Document.parse(text[:size]), len(text))

    assert len(document.links) == len(document.blocks) == len(text) // len(paragraph)
    assert document.links[-1].span.slice(text) == "[[note|별칭]]"


@pytest.mark.each(
    "piece", ["[[a", "%%a ", "x %%a\n\n", "[", "![a", "`a``b", "$a ", "> ", "%%a%%", "| ", "***a "]
)
def test_hostile_repetition_is_read_in_linear_time(piece):
    check_linear(lambda size: Document.parse(piece * (size // len(piece))), 40_000)


PIECES = (
    "[[", "]]", "![[", "|", "\\", "#", "%%", "`", "```\n", "$", "$$", "\n", "\n\n", "\r\n", "> ", "- ",
    "[t](n.md)", "[[노트|별칭]]", "    ", "# ", "<div>\n", "<!--", "-->", "*", "가", "👋", "e\u0301", " ",
    "---\n", "\ufeff", "| a | b |\n|---|---|\n", "word", "\x00", "\t", "[^1]", "[^1]: ",
)  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(deadline=None)  # a busy machine is no failure
@given(MARKDOWN)
def test_every_range_lies_in_the_note_and_blocks_never_overlap(text):
    document = Document.parse(text)

    assert 0 <= document.body_start <= len(text)
    end = document.body_start
    for block in document.blocks:
        assert end <= block.span.start < block.span.end <= len(text)
        end = block.span.end
    for heading in document.headings:
        assert document.body_start <= heading.span.start < heading.span.end <= len(text)
    for link in document.links:
        assert link.span.start <= link.text_span.start <= link.text_span.end <= link.span.end
        assert any(
            block.span.start <= link.span.start and link.span.end <= block.span.end
            for block in document.blocks
        )
        if link.wikilink:
            assert link.span.slice(text).startswith("![[" if link.embed else "[[")
            assert link.span.slice(text).endswith("]]")
