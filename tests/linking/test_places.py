import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.linking.anchors import fold, runs


@pytest.fixture
def folded(vault_of):
    """The folded runs of a note with this text."""
    return lambda text: [run.folded for run in runs(vault_of({"a.md": text}).notes[0])]


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: name\n---\n", "# name", "name\n====", "```\nname\n```", "    name", "`name`", "$name$",
        "$$\nname\n$$", "<div>\nname\n</div>", "%%name%%", "[[name]]", "[[x|name]]", "[name](x.md)", "![name](x.png)",
        "![[name]]",
        "[name](https://example.org)", "> # name", "- `name`",
        "https://example.org/name", "www.name.org", "a@name.org",
        "#name", "see #name/part", "^name", "\\[[name]]",
    ],
)  # fmt: skip
def test_what_is_no_running_text_is_no_place(folded, text):
    assert not any("name" in run for run in folded(text))


@pytest.mark.parametrize(
    "text",
    [
        "name", "- name", "> name", "**name**", "| a |\n|---|\n| name |", "100%% of name",
        "x[^1]\n\n[^1]: name", "it's name & co",
    ],
)  # fmt: skip
def test_running_text_is_a_place_wherever_it_stands(folded, text):
    assert any("name" in run for run in folded(text))


def test_signs_that_turn_out_to_be_text_do_not_cut_a_run(folded):
    assert folded("see [one] *two & Three_four-five") == ["see [one] *two & three four five"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_span_covers_what_stands_in_the_note(vault_of, form):
    text = unicodedata.normalize(form, "---\nlang: ko\n---\n👋 İ e\u0301 재배치-엔진을")
    note = vault_of({"a.md": text}).notes[0]
    (run,) = runs(note)
    at = run.folded.index("재배치 엔진")
    span = run.span(at, at + len("재배치 엔진"))
    assert unicodedata.normalize("NFC", span.slice(note.text)).startswith("재배치-엔진")


@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)
