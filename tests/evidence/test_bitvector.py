import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.evidence.fuzzy import _best_ends, _distances, _nearest_ends, _starts

SHORT = st.text("ab가", min_size=1, max_size=9)
TEXT = st.text("ab가", max_size=14)


def edit_distance(left, right):
    """The textbook matrix, a row at a time."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        previous, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]


def best_suffix(pattern, text):
    return min(edit_distance(pattern, text[start:]) for start in range(len(text) + 1))


@given(SHORT, TEXT)
def test_distances_anchored_are_those_to_each_whole_prefix(pattern, text):
    expected = [edit_distance(pattern, text[:end]) for end in range(1, len(text) + 1)]
    assert list(_distances(pattern, text, anchored=True)) == expected


@given(SHORT, TEXT)
def test_distances_are_those_to_the_best_suffix_of_each_prefix(pattern, text):
    expected = [best_suffix(pattern, text[:end]) for end in range(1, len(text) + 1)]
    assert list(_distances(pattern, text, anchored=False)) == expected


@given(SHORT, TEXT, st.integers(0, 4))
def test_best_ends_are_all_ends_with_the_fewest_edits_within_the_limit(pattern, text, limit):
    edits = {end: best_suffix(pattern, text[:end]) for end in range(1, len(text) + 1)}
    fewest = min(edits.values(), default=limit + 1)
    wanted = [end for end, one in edits.items() if one == fewest] if fewest <= limit else []
    distance, ends = _best_ends(pattern, text, limit)
    assert ends == wanted
    assert not ends or distance == fewest


@given(SHORT, st.text("ab가\uffff", max_size=30), st.integers(0, 9))
def test_what_rapidfuzz_finds_is_what_bit_vectors_find(pattern, text, limit):
    limit = min(limit, len(pattern))
    assert _nearest_ends(pattern, text, limit) == _best_ends(pattern, text, limit)


@given(SHORT, TEXT.filter(bool))
def test_starts_are_all_from_which_the_window_has_the_distance(pattern, text):
    end = len(text)
    fewest = min(edit_distance(pattern, text[start:]) for start in range(end))
    wanted = [s for s in range(end - 1, -1, -1) if edit_distance(pattern, text[s:]) == fewest]
    assert _starts(pattern, text, end, fewest) == wanted


@pytest.mark.each("length", [30, 31, 60, 63, 64, 65, 500])
def test_a_pattern_longer_than_a_machine_word_is_measured_in_full(length):
    pattern = "가" * (length - 1) + "나"
    text = "다" + "가" * (length - 1) + "라"
    assert _best_ends(pattern, text, 5) == (1, [length, length + 1])
