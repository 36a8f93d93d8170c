import re
import unicodedata
from html import unescape

import pyromark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.reports.markdown import _code, _inline

texts = st.text(max_size=40) | st.text(
    alphabet="`*_[]<>|#~&$\\-+=.)1! \n\r\t<script>가", max_size=40
)
DIRECTIONS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
MARKS = "\u061c\u200e\u200f"
OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH


def html(markdown: str) -> str:
    return pyromark.html(markdown, options=OPTIONS)


def shape(markdown: str) -> list[str]:
    """The tags of the rendered page, in order."""
    return re.findall(r"</?[a-zA-Z][^>]*>", html(markdown))


def visible(markdown: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html(markdown)))


def on_one_line(text: str) -> str:
    return "".join(map(named, " ".join(text.split())))


def named(char: str) -> str:
    """Control characters and direction overrides are told by their number."""
    obeyed = unicodedata.category(char) == "Cc" or unicodedata.bidirectional(char) in DIRECTIONS
    return f"‹U+{ord(char):04X}›" if obeyed or char in MARKS else char


@pytest.mark.each(
    "text, escaped",
    [
        ("plain 한글 text", "plain 한글 text"), ("a|b", r"a\|b"),
        ("<script>alert(1)</script>", r"\<script\>alert(1)\</script\>"),
        ("two\nlines\r\n and\ttabs", "two lines and tabs"),
        ("`code` *b* _i_ [l](u) ~s~ #h", r"\`code\` \*b\* \_i\_ \[l\](u) \~s\~ \#h"),
        ("&lt; $x$", r"\&lt; \$x\$"), ("- item", r"\- item"), ("1. item", r"1\. item"),
        ("1.0 is no list", "1.0 is no list"), ("2026-01-31", "2026-01-31"), ("---", r"\---"),
        ("red \u202eneerg \x1b[31m", r"red ‹U+202E›neerg ‹U+001B›\[31m"),
        ("-5 degrees", "-5 degrees"),
    ],
)  # fmt: skip
def test_text_is_escaped_for_a_line(text, escaped):
    assert _inline(text) == escaped


@given(texts)
@settings(max_examples=100)
def test_any_text_is_shown_as_it_is_on_one_line(text):
    assert on_one_line(visible(f"| a |\n|---|\n| {_inline(text)} |\n")) == on_one_line(f"a {text}")


@given(texts.filter(str.strip))
@settings(max_examples=100)
def test_no_text_changes_the_shape_of_a_page(text):
    page = "- {0}\n\n| a | b |\n|---|---|\n| {0} | c |\n\n1. **{0}** ({1}): d\n    - {1}\n\nend\n"
    hostile = page.format(_inline(text), _code(text))
    assert shape(hostile) == shape(page.format("x", "`x`"))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a_b.md", "`a_b.md`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a``b`c", "```a``b`c```"),
        ("two\nlines", "`two lines`"),
    ],
)  # fmt: skip
def test_a_code_span_keeps_its_text(text, span):
    assert _code(text) == span


@given(texts.filter(str.strip))
@settings(max_examples=100)
def test_a_code_span_shows_any_text(text):
    assert visible(_code(text)).strip() == on_one_line(text)
