from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.retrieval.chunk import _chunk_note
from gigamind.retrieval.settings import DEFAULT_CHUNK_CHARS
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Note


def note(text: str, path: str = "folder/Note.md", title: str = "Note") -> Note:
    return Note(path, text, title, (), (), "", Document.parse(text), content_hash="")


def pieces(text: str) -> list[str]:
    return [chunk.passage.text for chunk in _chunk_note(note(text))]


def words(length: int) -> str:
    """A paragraph of exactly so many characters without a full stop."""
    return ("word " * length)[: length - 1] + "x"


def test_the_first_chunk_carries_the_aliases():
    own = replace(note(f"# One\n\n{words(900)}\n\n# Two\n\n{words(900)}"), aliases=("k8s",))
    contexts = [chunk.context for chunk in _chunk_note(own)]
    assert contexts[0].split(" › ") == ["k8s", "Note"]
    assert len(contexts) > 1
    assert not any("k8s" in context for context in contexts[1:])


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff", "---\ntitle: T\n---\n", "\ufeff\r\n"])
def test_a_note_without_a_body_is_one_empty_chunk_that_carries_its_title(text):
    (chunk,) = _chunk_note(note(text))

    assert chunk.passage.text == ""
    assert chunk.passage.span.slice(text) == ""
    assert chunk.indexed_text == "Note\n"


def test_paragraphs_share_a_chunk_up_to_the_target_and_no_further():
    one, other = words(400), words(398)  # 400 + a blank line of 2 + 398 = 800

    assert pieces(f"{one}\n\n{other}") == [f"{one}\n\n{other}"]
    assert pieces(f"{one}\n\n{other}y") == [one, f"{other}y"]


def test_a_heading_starts_a_new_chunk_unless_the_section_before_is_too_small():
    large, small = f"# One\n\n{words(233)}", f"# One\n\n{words(232)}"  # 5 + 2 + 233 = 240
    second = f"# Two\n\n{words(100)}"

    assert pieces(f"{large}\n\n{second}") == [large, second]
    assert pieces(f"{small}\n\n{second}") == [f"{small}\n\n{second}"]


def test_a_chunk_knows_the_headings_above_it():
    long = words(700)
    text = f"{long}\n\n# One\n\n{long}\n\n{long}\n\n## Sub [[x|link]]\n\n{long}\n\n{long}\n\n# Two\n\n{long}"
    found = _chunk_note(note(text, title="Handbook"))

    assert [(c.context, c.passage.text.split("\n")[0][:6]) for c in found] == [
        ("Handbook", "word w"),
        ("Handbook", "# One"),
        ("Handbook › One", "word w"),
        ("Handbook › One", "## Sub"),
        ("Handbook › One › Sub link", "word w"),
        ("Handbook", "# Two"),
    ]
    assert found[1].indexed_text == f"Handbook\n{found[1].passage.text}"


def test_a_heading_of_a_higher_level_ends_the_ones_below_it():
    long = words(750)
    found = _chunk_note(note(f"## B\n\n#### D\n\n{long}\n\n### C\n\n{long}\n\n{long}", title="T"))

    assert found[-1].context == "T › B › C"


FENCE = "```python\n" + "x = 1\n\n" * 600 + "```"
TABLE = "| a | b |\n|---|---|\n" + "| 한국어 | value |\n" * 300
FORMULA = "$$\n" + "x + y \\\\\n" * 300 + "$$"


@pytest.mark.parametrize(
    "whole", [FENCE, TABLE.strip(), FORMULA, "    indented\n" * 200 + "    end"]
)
def test_a_fence_a_table_and_a_formula_stay_whole_however_long(whole):
    assert len(whole) > 2 * DEFAULT_CHUNK_CHARS

    found = pieces(f"Before.\n\n{whole}\n\nAfter.\n")

    assert sum(whole.strip() in piece for piece in found) == 1


@pytest.mark.parametrize("whole", [FENCE, TABLE.strip()])
@pytest.mark.parametrize(("first", "other"), [("- item\n\n  ", "  "), ("> quote\n>\n> ", "> ")])
def test_a_fence_and_a_table_inside_a_list_or_a_quote_stay_whole_too(whole, first, other):
    inside = first + whole.replace("\n", f"\n{other}")
    items = "\n".join(f"{other}line {number}" for number in range(100))
    text = f"{inside}\n{other}\n{items}\n"

    found = pieces(text)

    whole_inside = inside[len(first) :]
    assert len(found) > 1
    assert sum(whole_inside in piece for piece in found) == 1


def test_a_formula_inside_a_paragraph_stays_whole():
    formula = "$$ " + "x. y " * 200 + "$$"
    found = pieces(f"{words(500)}. {formula} and {words(500)}")

    assert len(found) > 1
    assert sum(formula in piece for piece in found) == 1


def test_a_long_list_is_cut_between_its_lines():
    lines = [f"- item {number} 한국어 항목. It has two sentences." for number in range(100)]
    found = pieces("\n".join(lines))

    assert len(found) > 1
    assert [line for piece in found for line in piece.split("\n")] == lines
    assert all(600 < len(piece) <= DEFAULT_CHUNK_CHARS for piece in found[:-1])


def test_a_long_line_of_a_quote_is_cut_between_sentences():
    sentence = "이 문장은 아주 길지 않습니다. "
    found = pieces("> " + sentence * 200)

    assert len(found) > 1
    assert all(piece.endswith("않습니다.") for piece in found)
    assert all(len(piece) <= DEFAULT_CHUNK_CHARS for piece in found)


def test_a_long_paragraph_is_cut_between_sentences():
    sentence = "This sentence is about search and nothing else. "  # 48 characters
    found = pieces(sentence * 50)

    # 16 sentences take 768 characters, a 17th would reach 815.
    assert [len(piece) for piece in found] == [767, 767, 767, 95]


def test_a_paragraph_without_sentences_is_cut_at_white_space():
    found = pieces(words(3000))

    assert len(found) == 4
    assert all(set(piece.split()) <= {"word", "wordx"} for piece in found)


def test_a_hundred_thousand_characters_without_a_space_are_cut_to_the_target():
    found = pieces("가" * 100_000)

    assert [len(piece) for piece in found] == [DEFAULT_CHUNK_CHARS] * 125


INLINE = st.text(st.sampled_from("abc 가나다라 .!?👋🇰🇷é1"), min_size=1, max_size=30)
BLOCK = st.one_of(
    st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), INLINE),
    INLINE,
    st.builds(lambda text, times: (text + " ") * times, INLINE, st.integers(1, 200)),
    st.builds(lambda text, times: "\n".join([f"- {text}"] * times), INLINE, st.integers(1, 99)),
    st.builds(lambda text, times: "\n".join([f"> {text}"] * times), INLINE, st.integers(1, 99)),
    st.builds(
        lambda text, times: "```\n" + f"{text}\n\n" * times + "```", INLINE, st.integers(0, 9)
    ),
    st.builds(
        lambda cell, rows: "| a | b |\n|---|---|" + f"\n| {cell} | x |" * rows,
        INLINE,
        st.integers(0, 99),
    ),
    st.just("---"),
)


@st.composite
def markdown(draw: st.DrawFn) -> str:
    body = "\n\n".join(draw(st.lists(BLOCK, max_size=8)))
    front = draw(st.sampled_from(["", "---\ntitle: 제목 👋\n---\n"]))
    text = draw(st.sampled_from(["", "\ufeff"])) + front + body + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(markdown())
def test_every_chunk_is_the_text_under_its_span_and_together_they_are_the_whole_body(text):
    made = note(text)
    chunks = _chunk_note(made)

    covered: set[int] = set()
    for chunk in chunks:
        assert chunk.passage.span.slice(text) == chunk.passage.text
        covered |= set(range(chunk.passage.span.start, chunk.passage.span.end))
    left_out = {i for i in range(made.document.body_start, len(text)) if i not in covered}
    assert not "".join(text[i] for i in left_out).strip(" \t\r\n\ufeff")
    for before, after in pairwise(chunks):
        assert before.passage.span.end <= after.passage.span.start
    assert chunks == _chunk_note(note(text))


@given(markdown())
def test_no_chunk_ends_inside_a_fence_or_a_table_and_a_long_one_is_nothing_else(text):
    made = note(text)
    whole = [block.span for block in made.document.blocks if block.kind in {"code", "table"}]

    for chunk in _chunk_note(made):
        span = chunk.passage.span
        inside = [part for part in whole if part.start < span.end and span.start < part.end]
        for part in inside:
            # The marks of a fence may be trimmed of white space only, never of text.
            assert made.text[part.start : max(part.start, span.start)].strip() == ""
            assert made.text[min(part.end, span.end) : part.end].strip() == ""
        alone = [part.slice(text).strip() for part in inside]
        assert len(span) <= DEFAULT_CHUNK_CHARS or chunk.passage.text in alone


def test_chunks_are_as_long_as_they_are_asked_for():
    long = note(words(4000))
    for chars in (200, 800, 2000):
        lengths = [len(chunk.passage.text) for chunk in _chunk_note(long, chars)]
        assert max(lengths) <= chars
        assert min(lengths[:-1]) > 0.75 * chars
