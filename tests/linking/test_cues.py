from math import log

import pytest

from gigamind.linking.cues import Around, Cues, around
from gigamind.spans import Span


def place(text: str) -> Around:
    start = text.index("X")
    return around(text, Span(start, start + 1))


def test_words_beside_a_place_have_their_side_and_words_near_it_none():
    assert place("For more see the X guide.") == Around(
        frozenset({"<0 the", "<1 see", "<1 more", ">0 guide", ">1 ."}),
        frozenset({"for", "more", "see", "the", "guide", ".", "= "}),
    )


def test_forms_of_a_korean_word_are_one():
    assert "참고" in place("자세한 내용은 X를 참고하세요").near
    assert ">1 참고" in place("X를 참고합니다").beside


@pytest.mark.parametrize(
    ("text", "kind"), [("- X", "= list"), ("  12. X", "= list"), ("| X | y |", "= table"), ("X", "= ")]
)  # fmt: skip
def test_the_kind_of_line_is_a_sign(text, kind):
    assert kind in place(text).near


def test_the_ends_of_a_line_are_signs():
    assert place("before\nX\nbehind").beside == {"<", ">"}


def test_brackets_and_addresses_of_links_are_no_words():
    plain = place("see page X and more")
    for text in (
        "see [page](a/b.md) X and [more](c.md)",
        "see [[page]] X and [[a|more]]",
    ):
        assert place(text) == plain


SEE, SAY = place("see X"), place("say X")


def test_a_note_is_told_by_the_links_of_the_others():
    cues = Cues({"a": [SEE, SEE], "b": [SEE]}, {"a": [SAY], "b": [SAY, SAY]})
    # for a: one link with "see" and two plain names without it; 2 of 5 of four added places are links
    beside, near = cues.of("a")(Around(frozenset({"<0 see"}), frozenset()))
    assert beside == pytest.approx(log((1 + 4 * 0.4) / (0 + 4 * 0.6)) - log(0.4 / 0.6))
    assert near == 0
    assert cues.of("c")(SEE)[0] > cues.of("a")(SEE)[0] > 0 > cues.of("a")(SAY)[0]


def test_without_links_or_for_unseen_words_nothing_is_said():
    assert Cues({}, {}).of("a")(SEE) == (0, 0)
    beside, near = Cues({"b": [SEE]}, {"b": [SAY]}).of("a")(Around(frozenset({"new"}), frozenset()))  # fmt: skip
    assert (beside, near) == (pytest.approx(0), 0)
