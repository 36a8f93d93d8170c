from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gigamind.linking.insertion import LinkWriter
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document

WIKILINKS = "[[gate]] [[gate]] [text](gate.md)"
MARKDOWN = "[[gate]] [text](gate.md) [text](on-call.md)"
NOTES = {
    "gate.md": "x",
    "on-call.md": "---\ntitle: On-call duty\naliases: [pager]\n---\n", "한글 노트.md": "x",
    "C#.md": "x", "100% (yes): a|b.md": "x", "namesake.md": "x", "team/namesake.md": "x",
    "deep/down/only.md": "x", "deep/Duty.md": "x", "x/dup.md": "---\ntitle: dup\n---\n",
    "y/dup.md": "x", "titled.md": "---\ntitle: Duty\n---\n",
}  # fmt: skip


@pytest.fixture
def writer_of(vault_of):
    @cache
    def build(style: str) -> LinkWriter:
        vault = vault_of({**NOTES, "style.md": style})
        return LinkWriter(vault, Identities(vault.notes))

    return build


@pytest.mark.parametrize(
    ("anchor", "target", "expected"),
    [
        ("gate", "gate.md", "[[gate]]"),
        ("Gate", "gate.md", "[[Gate]]"),  # Obsidian does not tell upper case from lower
        ("게이트", "gate.md", "[[gate|게이트]]"),
        ("on call", "on-call.md", "[[on-call|on call]]"),  # which Obsidian does not find by itself
        ("On-call duty", "on-call.md", "[[on-call|On-call duty]]"),  # nor by a title
        ("pager", "on-call.md", "[[on-call|pager]]"),  # nor by an alias
        ("한글 노트", "한글 노트.md", "[[한글 노트]]"),
        ("only", "deep/down/only.md", "[[only]]"),
        ("namesake", "team/namesake.md", "[[team/namesake|namesake]]"),
        ("namesake", "namesake.md", "[[namesake.md|namesake]]"),
        ("Duty", "deep/Duty.md", "[[deep/Duty|Duty]]"),  # another note has this title
        (
            "dup",
            "x/dup.md",
            "[[x/dup|dup]]",
        ),  # for Obsidian a title does not decide between two files
        ("C#", "C#.md", "[C#](../C%23.md)"),  # [[C#]] would be a heading of the note C
        ("yes", "100% (yes): a|b.md", "[yes](../100%25%20%28yes%29%3A%20a%7Cb.md)"),
        ("a]] b", "gate.md", None),
        (" gate", "gate.md", None),
    ],
)
def test_a_wikilink_is_the_shortest_that_leads_to_the_note_alone(
    writer_of, anchor, target, expected
):
    assert writer_of(WIKILINKS).link(anchor, target, "team/namesake.md") == expected


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        ("gate.md", "a.md", "[t](gate.md)"),
        ("gate.md", "x/y/a.md", "[t](../../gate.md)"),
        ("deep/down/only.md", "deep/a.md", "[t](down/only.md)"),
        ("한글 노트.md", "a.md", "[t](한글%20노트.md)"),  # as one can read it
        ("namesake.md", "team/a.md", "[t](../namesake.md)"),
        ("team/namesake.md", "team/a.md", "[t](namesake.md)"),
    ],
)
def test_a_vault_of_markdown_links_gets_these(writer_of, target, source, expected):
    assert writer_of(MARKDOWN).link("t", target, source) == expected


@pytest.mark.parametrize("style", ["", "[[gate]] [t](gate.md)", "[t](gone.md) [t](https://x.org)"])
def test_without_a_majority_of_markdown_links_to_notes_it_gets_wikilinks(writer_of, style):
    assert writer_of(style).link("t", "gate.md", "a.md") == "[[gate|t]]"


def test_in_a_table_the_pipe_is_escaped(writer_of):
    writer = writer_of(WIKILINKS)
    assert writer.link("t", "gate.md", "a.md", in_table=True) == r"[[gate\|t]]"
    assert writer.link("gate", "gate.md", "a.md", in_table=True) == "[[gate]]"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(anchor=st.text(min_size=1), target=st.sampled_from(sorted(NOTES)), style=st.booleans())
def test_whatever_the_words_a_link_shows_them_and_leads_to_the_note(
    writer_of, anchor, target, style
):
    written = writer_of(WIKILINKS if style else MARKDOWN).link(anchor, target, "style.md")
    if written is not None:
        (link,) = Document.parse(written).links
        assert link.text_span.slice(written) == anchor
        assert not link.embed
