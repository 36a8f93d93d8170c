import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.metrics.spans import Unplaced, matches, span_precision, span_recall
from gigamind.spans import Passage, Span


def _passage(start, end, note="a.md", text=""):
    return Passage(note, text, Span(start, end))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 10, True),  # the span itself
        (0, 20, False),  # 10 of 20: exactly one half is not above it
        (0, 19, True),  # 10 of 19
        (0, 5, False),  # 5 of 10
        (0, 6, True),  # 6 of 10
        (10, 20, False),  # neighbours share nothing
    ],
)
def test_a_placed_piece_matches_above_half_of_intersection_over_union(start, end, expected):
    assert matches(_passage(start, end), _passage(0, 10)) is expected


def test_positions_in_different_notes_never_match():
    assert not matches(_passage(0, 10, note="b.md"), _passage(0, 10, note="a.md"))


def test_a_placed_piece_is_not_rescued_by_its_text():
    assert not matches(_passage(50, 60, text="same words"), _passage(0, 10, text="same words"))


def test_an_unplaced_piece_matches_when_it_contains_the_expected_text():
    expected = _passage(0, 14, text="RAG 시스템의   구조는...")
    assert matches(Unplaced("a.md", "개요: rag 시스템의 구조는 단순하다."), expected)
    assert not matches(Unplaced("a.md", "개요: rag 시스템 구조는 단순하다."), expected)


def test_an_unplaced_piece_of_another_note_never_matches():
    assert not matches(Unplaced("b.md", "the same text"), _passage(0, 13, text="the same text"))


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        # Ten words are expected.  7 of 10 is not above 0.7; 8 of 11 is (0.727), and so is 8 of 10.
        ("a b c d e f g", False),
        ("a b c d e f g h x", True),
        ("a b c d e f g h", True),
        ("h g f e d c b a", True),  # words in any order
    ],
)
def test_an_unplaced_piece_matches_above_seven_tenths_of_shared_words(evidence, expected):
    wanted = _passage(0, 19, text="a b c d e f g h i j")
    assert matches(Unplaced("a.md", evidence), wanted) is expected


@pytest.mark.parametrize("text", ["", "...", "  "])
def test_an_expected_text_without_words_matches_no_text(text):
    assert not matches(Unplaced("a.md", "anything"), _passage(0, 3, text=text))
    assert not matches(Unplaced("a.md", text), _passage(0, 3, text=text))


def test_precision_counts_evidence_and_recall_counts_expected_spans():
    expected = [_passage(0, 10), _passage(20, 30)]
    evidence = [_passage(0, 10), _passage(1, 10), _passage(50, 60), Unplaced("b.md", "off")]
    assert span_precision(evidence, expected) == 0.5
    assert span_recall(evidence, expected) == 0.5


def test_one_piece_can_match_two_overlapping_expected_spans():
    expected = [_passage(0, 10), _passage(0, 9)]
    assert span_precision([_passage(0, 10)], expected) == 1.0
    assert span_recall([_passage(0, 10)], expected) == 1.0


def test_without_expected_spans_nothing_is_measured():
    assert span_precision([_passage(0, 10)], []) is None
    assert span_recall([_passage(0, 10)], []) is None


def test_without_evidence_recall_is_zero_and_precision_undefined():
    assert span_precision([], [_passage(0, 10)]) is None
    assert span_recall([], [_passage(0, 10)]) == 0.0


pieces = st.lists(
    st.builds(
        lambda start, length, note: _passage(start, start + length, note),
        st.integers(0, 20),
        st.integers(1, 10),
        st.sampled_from(["a.md", "b.md"]),
    ),
    min_size=1,
    max_size=6,
)


@given(pieces, pieces)
def test_precision_one_way_is_recall_the_other_way(evidence, expected):
    precision = span_precision(evidence, expected)
    assert precision == span_recall(expected, evidence)
    assert precision is not None
    assert 0 <= precision <= 1


@given(pieces)
def test_evidence_that_is_the_expected_spans_is_perfect(expected):
    assert span_precision(expected, expected) == span_recall(expected, expected) == 1.0
