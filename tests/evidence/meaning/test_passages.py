import pytest

from gigamind.evidence.meaning.wording import shifted, whole_words
from gigamind.spans import Span


def widened(text, quote):
    start = text.index(quote)
    return whole_words(Span(start, start + len(quote)), text).slice(text)


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("aa bbb cc", "b", "bbb"),
        ("aa bbb cc", "bbb", "bbb"),
        ("a 12.5 b", "5", "12.5"),
        ("a 1,000 b", "1", "1,000"),
        ("a -12 b", "12", "-12"),
        ("a 5-12 b", "12", "12"),  # a range, no sign
        ("it is not due", "due", "not due"),
        ("it isn't due", "due", "isn't due"),
        ("a knot due", "due", "due"),
        ("안 된다", "된다", "안 된다"),
        ("집안 된다", "된다", "된다"),
        ("저장하지 않는다", "저장하지", "저장하지 않는다"),
        ("저장할 수 없다", "저장할 수", "저장할 수 없다"),
        ("저장할 수 있다", "저장할 수", "저장할 수"),
        ("**정규직**만 쓴다", "정규직", "정규직**만"),
        ("今日は雨です", "雨", "雨"),  # Japanese has no spaces to widen to
    ],
)
def test_a_span_is_widened_to_its_whole_words_and_a_negation_beside_it(text, quote, expected):
    assert widened(text, quote) == expected


def test_a_word_without_end_is_widened_by_sixty_four_characters_at_most():
    assert whole_words(Span(100, 101), "a" * 300) == Span(36, 165)


def test_shifted_spans_go_two_words_in_and_four_out_at_each_end():
    text = "a b c d e f g h i j k"
    spans = [span.slice(text) for span in shifted(Span(10, 15), text)]  # f g h
    assert spans == [
        "b c d e f g h", "c d e f g h", "d e f g h", "e f g h", "g h", "h",
        "f", "f g", "f g h i", "f g h i j", "f g h i j k",
    ]  # fmt: skip
