import pytest

from gigamind.evaluation.inputs import context_of
from gigamind.spans import Span
from gigamind.vault.notes import Vault


@pytest.fixture
def note(tmp_path):
    def make(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        return Vault.read(tmp_path).note(name)

    return make


def test_notes_that_fit_are_shown_whole_in_their_order(note):
    first, second = note("b.md", "둘째 노트\n"), note("a.md", "first\n")
    shown = context_of([(first, Span(0, 2)), (second, Span(0, 2))], 5, 12_000)
    found = [(one.path, one.start, one.source.text) for one in shown]
    assert found == [("b.md", 0, "둘째 노트\n"), ("a.md", 0, "first\n")]
    assert [one.source.title for one in shown] == ["b", "a"]


def test_of_a_long_note_the_whole_lines_around_its_chunk_are_shown(note):
    text = "".join(f"line {number:02}\n" for number in range(20))  # 8 characters each
    long = note("a.md", text)
    (shown,) = context_of([(long, Span(80, 87))], 5, 32)
    # The window of 32 characters around [80, 87) is [67, 99): lines 9 to 11 are whole in it.
    assert (shown.start, shown.source.text) == (72, "line 09\nline 10\nline 11")
    assert text[shown.start :].startswith(shown.source.text)


def test_a_short_note_leaves_its_room_to_the_next(note):
    short, long = note("a.md", "ab"), note("b.md", "x" * 100)
    assert [
        len(one.source.text) for one in context_of([(short, Span(0, 2)), (long, Span(0, 1))], 5, 50)
    ] == [2, 48]


@pytest.mark.parametrize("place", [0, 40, 95])
def test_a_chunk_anywhere_is_in_the_part_that_is_shown(note, place):
    text = "".join(chr(ord("가") + number) for number in range(100))
    (shown,) = context_of([(note("a.md", text), Span(place, place + 5))], 5, 20)
    assert len(shown.source.text) <= 20
    assert text[place : place + 5] in shown.source.text
