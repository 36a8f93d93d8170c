import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.metrics.spans import (
    OutOfReach,
    Unplaced,
    _answer_in_evidence,
    _answer_in_evidence_of_note,
    _span_precision,
    _span_recall,
    holds,
    matches,
    out_of_reach,
)
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
    assert _span_precision(evidence, expected) == 0.5
    assert _span_recall(evidence, expected) == 0.5


def test_one_piece_can_match_two_overlapping_expected_spans():
    expected = [_passage(0, 10), _passage(0, 9)]
    assert _span_precision([_passage(0, 10)], expected) == 1.0
    assert _span_recall([_passage(0, 10)], expected) == 1.0


def test_without_expected_spans_nothing_is_measured():
    assert _span_precision([_passage(0, 10)], []) is None
    assert _span_recall([_passage(0, 10)], []) is None


def test_without_evidence_recall_is_zero_and_precision_undefined():
    assert _span_precision([], [_passage(0, 10)]) is None
    assert _span_recall([], [_passage(0, 10)]) == 0.0


@pytest.mark.each(
    "start, end, expected",
    [
        (10, 15, True),  # the label itself
        (0, 86, True),  # far too long for the rule of overlap
        (11, 15, False),  # its first character is cut off
        (10, 14, False),  # its last one
        (20, 30, False),
    ],
)
def test_a_placed_piece_holds_a_label_that_lies_wholly_in_it(start, end, expected):
    assert holds(_passage(start, end), _passage(10, 15)) is expected


def test_a_label_is_held_only_in_its_own_note_and_an_empty_one_nowhere():
    assert not holds(_passage(0, 20, note="b.md"), _passage(5, 8))
    assert not holds(_passage(0, 20), _passage(5, 5))


def test_an_unplaced_piece_holds_a_label_by_its_words():
    expected = _passage(0, 6, text="500 유로.")
    assert holds(Unplaced("a.md", "한도는 500  유로"), expected)
    assert not holds(Unplaced("a.md", "한도는 유로 500"), expected)
    assert not holds(Unplaced("b.md", "한도는 500 유로"), expected)
    assert not holds(Unplaced("a.md", "한도"), _passage(0, 1, text="."))


@pytest.mark.each(
    "evidence, whole, of_note",
    [
        ([_passage(0, 86)], 1.0, 1.0),
        ([_passage(0, 86, note="b.md"), _passage(0, 86)], 1.0, 1.0),
        ([_passage(90, 99)], 0.0, 0.0),  # the note, but not the sentence
        ([_passage(0, 86, note="b.md")], 0.0, None),  # not even the note: the ranking's fault
        ([], 0.0, None),
    ],
)
def test_the_answer_is_in_the_evidence_or_its_note_is(evidence, whole, of_note):
    expected = [_passage(10, 15), _passage(200, 210)]
    assert _answer_in_evidence(evidence, expected) == whole
    assert _answer_in_evidence_of_note(evidence, expected) == of_note


def test_without_expected_spans_no_answer_is_looked_for():
    assert _answer_in_evidence([_passage(0, 10)], []) is None
    assert _answer_in_evidence_of_note([_passage(0, 10)], []) is None


def test_a_label_far_shorter_or_longer_than_every_sentence_is_out_of_reach():
    sentences = {"a.md": [Span(0, 80), Span(81, 101), Span(0, 101)]}
    labels = [
        _passage(10, 15),  # 5 of 80
        _passage(0, 41),  # 41 of 80: above one half
        _passage(0, 40),  # 40 of 80 is not
        _passage(81, 92),  # 11 of 20
        _passage(300, 310),  # where nothing is shown
    ]
    # Out of reach: lengths 5, 40 and 10, beside pieces of 80, 80 and whichever of three that share nothing.
    found = out_of_reach(labels, sentences)
    assert found == OutOfReach(labels=5, count=3, label_chars=10, piece_chars=80)


def test_labels_that_can_all_be_matched_leave_nothing_to_say():
    assert out_of_reach([_passage(0, 10)], {"a.md": [Span(0, 12)]}) is None
    assert out_of_reach([], {}) is None


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
    precision = _span_precision(evidence, expected)
    assert precision == _span_recall(expected, evidence)
    assert precision is not None
    assert 0 <= precision <= 1


@given(pieces)
def test_evidence_that_is_the_expected_spans_is_perfect(expected):
    assert _span_precision(expected, expected) == _span_recall(expected, expected) == 1.0
