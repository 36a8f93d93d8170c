import re
from dataclasses import replace

import pyromark
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from link_features import suggestion_at, suggestions_of
from time_limit import check_linear

from gigamind.linking.insertion import LinkedNote, LinkWriter
from gigamind.spans import Span
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document

OTHERS = {"gate.md": "---\naliases: [게이트]\n---\n", "other.md": "x"}
TARGETS = {"게이트": "gate.md", "gate": "gate.md", "other": "other.md"}


@pytest.fixture
def linked_of(vault_of):
    """Puts a link at every place where the words stand in a note."""

    def link(text: str, anchor: str = "게이트", style: str = ""):
        vault = vault_of({**OTHERS, "style.md": style, "note.md": text})
        writer = LinkWriter(vault, Identities(vault.notes))
        note = vault.note("note.md")
        return LinkedNote.of(note, suggestions_of(note, anchor, TARGETS[anchor]), writer)

    return link


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("임계값은 게이트에서 본다", "임계값은 [[gate|게이트]]에서 본다"),
        ("게이트", "[[gate|게이트]]"),
        ("\ufeff게이트를\r\n\r\n게이트와", "\ufeff[[gate|게이트]]를\r\n\r\n[[gate|게이트]]와"),
        ("---\ntitle: 게이트\n---\n👋 게이트", "---\ntitle: 게이트\n---\n👋 [[gate|게이트]]"),
        ("- [ ] 게이트\n> 게이트\n", "- [ ] [[gate|게이트]]\n> [[gate|게이트]]\n"),
        ("*게이트* ~~게이트~~", "*[[gate|게이트]]* ~~[[gate|게이트]]~~"),
        ("a[^1]\n\n[^1]: 게이트\n", "a[^1]\n\n[^1]: [[gate|게이트]]\n"),
        (
            "| 게이트 |\n|---|\n| 게이트 |\n",
            "| [[gate\\|게이트]] |\n|---|\n| [[gate\\|게이트]] |\n",
        ),
        (
            "- x\n\n  | a | b |\n  |---|---|\n  | 게이트 | b |\n",
            "- x\n\n  | a | b |\n  |---|---|\n  | [[gate\\|게이트]] | b |\n",
        ),
        ("`게이트` 게이트", "`게이트` [[gate|게이트]]"),
        ("<b>b</b> 게이트<br>게이트", "<b>b</b> [[gate|게이트]]<br>[[gate|게이트]]"),
        ("a <b>b\n\n게이트", "a <b>b\n\n[[gate|게이트]]"),
        ("%%게이트%% 게이트", "%%게이트%% [[gate|게이트]]"),
        ("https://x.org 게이트", "https://x.org [[gate|게이트]]"),
    ],
)
def test_a_link_stands_at_its_words_and_nothing_else_is_touched(linked_of, before, after):
    assert linked_of(before).text == after


def test_particles_stay_outside_of_markdown_links_too(linked_of):
    linked = linked_of("게이트를", style="[a](gate.md)")
    assert linked.text == "[게이트](gate.md)를"


@pytest.mark.parametrize(
    "text",
    [
        "# 게이트", "게이트\n===\n", "`게이트`", "``a ` 게이트``", "    게이트", "```\n게이트\n```",
        "~~~\n게이트", "[[게이트]] [[other|게이트]] ![[게이트]]",
        "[게이트](other.md) [게이트][r]\n\n[r]: other.md",
        "![게이트](p.png) <https://x.org/게이트>", "---\naliases: [게이트]\n---\n",
        "<div>\n게이트\n</div>", "a <a href='x'>게이트</a> <code>게이트</code> <b>게이트",
        "a <img alt='게이트'> <!-- 게이트 -->", "$게이트$ $$게이트$$", "$$\n게이트\n$$",
        "a %%게이트%% b", "%%\n\n게이트\n\n%%",
        "https://x.org/게이트 www.게이트 #게이트 #a/게이트 ^게이트 a@게이트 게이트@a 게이트://a",
        "[^게이트]: a\n\nb[^게이트]", "[게이트]: other.md",
    ],
)  # fmt: skip
def test_no_link_goes_where_text_is_no_running_text(linked_of, text):
    linked = linked_of(text)
    assert (linked.text, linked.insertions) == (text, ())
    assert len(linked.refusals) == text.count("게이트") > 0
    assert {refusal.why for refusal in linked.refusals} <= {"no_text", "address"}


@pytest.mark.parametrize(
    "text",
    [
        "본다 **게이트**를",  # ** would end no bold text any more, between ] and a letter
        "본다!게이트",  # an embed
        "본다\\게이트",  # no link
    ],
)
def test_no_link_makes_the_text_around_it_another(linked_of, text):
    linked = linked_of(text)
    (refusal,) = linked.refusals
    assert linked.text == text
    assert refusal.why == "otherwise"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("**게이트**는 보고, 게이트를 연다", "**게이트**는 보고, [[gate|게이트]]를 연다"),
        (
            "`게이트` # 게이트\n\n# 게이트\n\n게이트를, 게이트를",
            "`게이트` # [[gate|게이트]]\n\n# 게이트\n\n게이트를, 게이트를",
        ),
        (
            "# 게이트\n\n```\n게이트\n```\n\n![게이트](x.png) [게이트]\n\n게이트",
            "# 게이트\n\n```\n게이트\n```\n\n![게이트](x.png) [게이트]\n\n[[gate|게이트]]",
        ),
        ("본다!게이트, **게이트**를", "본다!게이트, **게이트**를"),
    ],
)
def test_where_no_link_may_stand_the_next_place_of_the_name_gets_it(vault_of, before, after):
    vault = vault_of({**OTHERS, "note.md": before})
    note = vault.note("note.md")
    first, *others = suggestions_of(note, "게이트", "gate.md")
    moving = replace(first, elsewhere=tuple(other.span for other in others))
    linked = LinkedNote.of(note, [moving], LinkWriter(vault, Identities(vault.notes)))
    assert linked.text == after
    # What is refused everywhere is told of the place that was suggested.
    refused = [refusal.suggestion for refusal in linked.refusals]
    assert refused == ([] if linked.insertions else [moving])
    again = [inserted.suggestion for inserted in linked.insertions]
    assert LinkedNote.of(note, again, LinkWriter(vault, Identities(vault.notes))).text == after


def test_a_name_that_is_moved_takes_no_place_of_another_link(vault_of):
    vault = vault_of({**OTHERS, "note.md": "`게이트` 게이트 문, 게이트"})
    note = vault.note("note.md")
    first, *others = suggestions_of(note, "게이트", "gate.md")
    moving = replace(first, elsewhere=tuple(other.span for other in others))
    longer = suggestion_at(note, Span(6, 11), "other.md")
    linked = LinkedNote.of(note, [moving, longer], LinkWriter(vault, Identities(vault.notes)))
    assert linked.text == "`게이트` [[other|게이트 문]], [[gate|게이트]]"
    assert linked.refusals == ()


@pytest.mark.parametrize(
    "text",
    [
        "[`게이트`, 게이트][agents.run.게이트]", "[a][게이트]", "[게이트][]", "[게이트]",
        "- [결재 게이트] 메뉴", "[a]게이트", "[a [b] *게이트*]", "[a\n게이트]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("style", ["", "[a](gate.md)"])
def test_brackets_that_another_program_may_read_as_a_link_are_left_alone(linked_of, text, style):
    linked = linked_of(text, style=style)
    assert (linked.text, linked.insertions) == (text, ())
    assert {refusal.why for refusal in linked.refusals} <= {"no_text", "brackets"}


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("\\[게이트\\]", "\\[[게이트](gate.md)\\]"), ("[a\n\n게이트]", "[a\n\n[게이트](gate.md)]"),
        ("게이트[1]", "[게이트](gate.md)[1]"), ("- [x] 게이트", "- [x] [게이트](gate.md)"),
        ("[a](x.md) 게이트", "[a](x.md) [게이트](gate.md)"),
        ("`[`게이트`]`", "`[`[게이트](gate.md)`]`"),
    ],
)  # fmt: skip
def test_brackets_that_are_none_of_a_link_stop_no_link(linked_of, text, linked):
    assert linked_of(text, style="[a](gate.md)").text == linked


def test_a_space_does_not_part_a_markdown_link_from_brackets_but_a_wikilink(linked_of):
    assert linked_of("[a] 게이트", style="[a](gate.md)").insertions == ()
    assert linked_of("[a]  게이트", style="[a](gate.md)").text == "[a]  [게이트](gate.md)"
    assert linked_of("[a] 게이트").text == "[a] [[gate|게이트]]"


def test_what_cannot_be_linked_leaves_the_other_links_of_the_note(linked_of):
    linked = linked_of("**게이트**를\n\n게이트가\n\n# 게이트\n\n!게이트, 게이트")
    assert (
        linked.text == "**게이트**를\n\n[[gate|게이트]]가\n\n# 게이트\n\n!게이트, [[gate|게이트]]"
    )
    starts = [refusal.suggestion.span.start for refusal in linked.refusals]
    assert sorted(starts) == [2, 18, 24]


def test_suggestions_that_overlap_or_that_the_note_does_not_hold_are_refused(vault_of):
    vault = vault_of({**OTHERS, "note.md": "other gate, other"})
    note = vault.note("note.md")
    first, whole, moved = (
        suggestion_at(note, Span(0, 5), "other.md"),
        suggestion_at(note, Span(0, 10), "gate.md"),
        suggestion_at(vault.note("gate.md"), Span(4, 9), "other.md"),
    )
    linked = LinkedNote.of(note, [whole, moved, first], LinkWriter(vault, Identities(vault.notes)))
    assert linked.text == "[[other]] gate, other"
    assert [(one.suggestion, one.why) for one in linked.refusals] == [
        (whole, "overlaps"),
        (moved, "no_text"),
    ]


PIECES = (
    *TARGETS,
    *("를 ", " ", " ", "\n", "\n\n", "\r\n", "👋", "é", "*", "**", "_", "~~", "`", "```\n", "\\"),
    *("[", "]", "(", ")", "!", "|", "\n| a | b |\n|---|---|\n| ", "\n# ", "\n- ", "\n> ", "    "),
    *("$", "%%", "<b>", "</b>", "\n<div>\n", "https://x.org/", "#", "&amp;", "\n===\n", "[^1]"),
    *("[[gate]]", "[t](gate.md)", "![[gate]]", "\n[r]: gate.md\n", "\n[^1]: ", "[r]", "---\n"),
)
NOTES = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=30).map("".join),
    st.text().map("게이트 {} gate".format),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(text=NOTES, markdown=st.booleans(), data=st.data())
@example(text="**게이트**를 gate", markdown=False, data=None)
def test_a_note_has_the_links_and_is_else_what_it_was(vault_of, text, markdown, data):
    vault = vault_of({**OTHERS, "style.md": "[a](gate.md)" * 40 * markdown, "note.md": text})
    note = vault.note("note.md")
    every = [one for anchor in TARGETS for one in suggestions_of(note, anchor, TARGETS[anchor])]
    chosen = data.draw(st.lists(st.sampled_from(every), unique_by=id)) if data and every else every
    identities = Identities(vault.notes)
    linked = LinkedNote.of(note, chosen, LinkWriter(vault, identities))
    assert len(linked.insertions) + len(linked.refusals) == len(chosen)

    expected = text
    for one in reversed(
        linked.insertions
    ):  # nothing but the words of a suggestion became anything else
        assert one.suggestion.anchor in one.link
        expected = expected[: one.span.start] + one.link + expected[one.span.end :]
    assert linked.text == expected

    before, after = note.document, Document.parse(linked.text)
    added = [one.suggestion for one in linked.insertions]
    old = [(link.target, link.text, link.embed) for link in before.links]
    new = [(link.target, link.text, link.embed) for link in after.links]
    assert len(new) == len(old) + len(added)
    meant = [identities.resolve_link(link, note.path) for link in after.links]
    targets = sorted(one.note.path for one in meant if one)
    had = [identities.resolve_link(link, note.path) for link in before.links]
    assert targets == sorted([one.note.path for one in had if one] + [one.target for one in added])
    for entry in old:
        new.remove(entry)

    # Headings, code, HTML, math and links have none.
    assert [(h.level, h.text) for h in after.headings] == [
        (h.level, h.text) for h in before.headings
    ]
    assert [block.kind for block in after.blocks] == [block.kind for block in before.blocks]
    closed = [heading.span for heading in before.headings] + [link.span for link in before.links]
    closed += [block.span for block in before.blocks if block.kind in {"code", "html", "math"}]
    for one in linked.insertions:
        assert not any(one.span.iou(span) for span in closed)
        assert one.span.start >= before.body_start

    # The renderer, which knows nothing of ours, shows the same with and without; nor does it know comments.
    if "%%" not in text and not before.frontmatter:
        assert without_anchors(linked.text) == without_anchors(text)


def without_anchors(text: str) -> str:
    options = pyromark.Options
    html = pyromark.html(
        text,
        options=options.ENABLE_TABLES
        | options.ENABLE_WIKILINKS
        | options.ENABLE_MATH
        | options.ENABLE_FOOTNOTES
        | options.ENABLE_STRIKETHROUGH
        | options.ENABLE_TASKLISTS,
    )
    return re.sub(r"</?a\b[^>]*>", "", html)


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        ("이것은 보통 길이의 문장으로 된 단락이며 문과 임계값에 대해 말하고 있다.\n\n", 4_000),
        ("가", 200_000), ("*", 200_000), ("%%a%% ", 4_000),
    ],
    ids=["text", "no space", "stars", "comments"],
)  # fmt: skip
def test_a_large_note_takes_linear_time(vault_of, unit, count):
    def prepared(times):
        vault = vault_of({**OTHERS, "note.md": f"게이트가\n\n{unit * times} 게이트를"})
        note = vault.note("note.md")
        wanted = suggestions_of(note, "게이트", "gate.md")
        return note, wanted, LinkWriter(vault, Identities(vault.notes))

    cases = {times: prepared(times) for times in (count // 4, count)}
    linked = check_linear(lambda times: LinkedNote.of(*cases[times]), count)
    assert linked.insertions[0].span == Span(0, 3)
