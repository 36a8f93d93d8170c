import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.spans import Span, Utf16

# Hangul, a combining mark, an astral emoji, a flag of two astral characters, CR LF.
TEXT = st.text(st.sampled_from("ab 가나́👋🇰🇷\r\n\ufeff"), max_size=40)


def test_a_span_slices_code_points():
    assert Span(1, 3).slice("가👋나다") == "👋나"
    assert len(Span(1, 3)) == 2


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2)])
def test_a_reversed_or_negative_span_is_refused(start, end):
    with pytest.raises(ValueError, match=f"{start}, {end}"):
        Span(start, end)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Span(0, 4), Span(0, 4), 1.0),
        (Span(0, 4), Span(2, 6), 2 / 6),
        (Span(0, 10), Span(4, 6), 2 / 10),
        (Span(0, 4), Span(4, 8), 0.0),  # half-open: they touch, they share nothing
        (Span(0, 4), Span(5, 8), 0.0),
        (Span(2, 2), Span(2, 2), 0.0),
        (Span(0, 4), Span(2, 2), 0.0),
    ],
)
def test_iou_is_what_is_shared_over_what_either_covers(one, other, expected):
    assert one.iou(other) == expected
    assert other.iou(one) == expected


def test_an_astral_character_takes_two_utf16_code_units():
    utf16 = Utf16("a👋가")

    assert utf16.length == 4
    assert [utf16.from_code_points(offset) for offset in range(4)] == [0, 1, 3, 4]
    assert [utf16.to_code_points(offset) for offset in (0, 1, 3, 4)] == [0, 1, 2, 3]


def test_an_offset_inside_a_surrogate_pair_is_refused():
    with pytest.raises(ValueError, match="2"):
        Utf16("a👋가").to_code_points(2)


def test_an_offset_inside_the_second_of_two_neighbouring_pairs_is_refused():
    utf16 = Utf16("👋👋")

    assert utf16.to_code_points(2) == 1
    with pytest.raises(ValueError, match="3"):
        utf16.to_code_points(3)


@pytest.mark.parametrize("offset", [-1, 5])
def test_an_offset_outside_the_text_is_refused(offset):
    with pytest.raises(ValueError, match=str(offset)):
        Utf16("a👋가").to_code_points(offset)


def test_a_reversed_utf16_range_is_refused():
    with pytest.raises(ValueError, match=r"2.*1"):
        Utf16("abc").span_to_code_points(2, 1)


@given(TEXT)
def test_utf16_offsets_count_what_the_utf16_encoding_has(text):
    utf16 = Utf16(text)

    for offset in range(len(text) + 1):
        units = len(text[:offset].encode("utf-16-le")) // 2
        assert utf16.from_code_points(offset) == units
        assert utf16.to_code_points(units) == offset
    assert utf16.length == len(text.encode("utf-16-le")) // 2


@given(TEXT, st.data())
def test_a_span_comes_back_from_utf16_as_it_went(text, data):
    start = data.draw(st.integers(0, len(text)))
    span = Span(start, data.draw(st.integers(start, len(text))))
    utf16 = Utf16(text)
    units = utf16.span_from_code_points(span)

    assert utf16.span_to_code_points(*units) == span
    encoded = text.encode("utf-16-le")
    assert encoded[2 * units[0] : 2 * units[1]].decode("utf-16-le") == span.slice(text)
