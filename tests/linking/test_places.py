import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.linking.anchors import fold, running_text


@pytest.fixture
def folded(vault_of):
    """The folded running text of a note with this text."""
    return lambda text: running_text(vault_of({"a.md": text}).notes[0]).folded


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: name\n---\n", "# name", "name\n====", "```\nname\n```", "    name", "`name`", "$name$",
        "$$\nname\n$$", "<div>\nname\n</div>", "%%name%%", "[[name]]", "[[x|name]]", "[name](x.md)", "![name](x.png)",
        "![[name]]",
        "[name](https://example.org)", "> # name", "- `name`",
        "https://example.org/name", "www.name.org", "a@name.org",
        "#name", "see #name/part", "^name", "\\[[name]]",
        "[name]", "[`a`, name][b.c]", "[a][name]", "[a [b] name]",
    ],
)  # fmt: skip
def test_what_is_no_running_text_is_no_place(folded, text):
    assert "name" not in folded(text)


@pytest.mark.parametrize(
    "text",
    [
        "name", "- name", "> name", "**name**", "| a |\n|---|\n| name |", "100%% of name",
        "x[^1]\n\n[^1]: name", "\\[name\\]", "[a\n\nname]", "[a] name", "it's name & co",
    ],
)  # fmt: skip
def test_running_text_is_a_place_wherever_it_stands(folded, text):
    assert "name" in folded(text)


def test_signs_that_turn_out_to_be_text_do_not_cut_it(folded):
    assert folded("see [one *two & Three_four-five") == "see [one *two & three four five"


def test_markup_keeps_words_apart_as_line_feeds(folded):
    assert (
        folded("one **two** https://a.org three")
        == "one \n\ntwo\n\n \n\n\n\n\n\n\n\n\n\n\n\n\n three"
    )


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_span_covers_what_stands_in_the_note(vault_of, form):
    text = unicodedata.normalize(form, "---\nlang: ko\n---\n👋 İ e\u0301 재배치-엔진을")
    note = vault_of({"a.md": text}).notes[0]
    running = running_text(note)
    at = running.folded.index("재배치 엔진")
    span = running.span(at, at + len("재배치 엔진"))
    assert unicodedata.normalize("NFC", span.slice(note.text)).startswith("재배치-엔진")


@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)
