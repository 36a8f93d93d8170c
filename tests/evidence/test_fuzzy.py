import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from gigamind.evidence.fuzzy import search
from gigamind.evidence.normalize import Folding

# Letters only, so that no window is widened to the end of a word.
QUOTE = st.text("ab", min_size=6, max_size=12)
SOURCE = st.text("abc", max_size=60)


@given(QUOTE, SOURCE)
def test_the_best_window_takes_the_fewest_edits_there_are(quote, text):
    limit = int(len(quote) / 3)  # (1 - 0.75) * m / 0.75
    windows = (text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1))
    fewest = min((Levenshtein.distance(quote, window) for window in windows), default=len(quote))
    found = search(quote, Folding.visible(text), 0.75, 0.85)
    if found:
        # A word may be completed by one character at each end, at one edit each.
        assert fewest <= found[0].distance <= fewest + 2
    if fewest > limit:
        assert not found
    for window in found:
        assert window.distance == Levenshtein.distance(quote, text[window.start : window.end])
        assert window.similarity >= 0.75


@given(QUOTE, QUOTE, st.integers(3, 12))
def test_in_a_text_that_repeats_itself_every_place_is_found(quote, period, times):
    text = (quote + "ccccc" + period + "ccccc") * times
    found = search(quote, Folding.visible(text), 0.75, 0.85)
    starts = {window.start for window in found}
    assert found[0].distance == 0
    assert {i for i in range(len(text)) if text.startswith(quote, i)} >= starts
    assert {len(text) // times * i for i in range(times)} <= starts


@given(QUOTE, SOURCE, SOURCE)
def test_a_window_beyond_many_blocks_is_found(quote, before, after):
    found = search(quote, Folding.visible(before * 5 + quote + after * 5), 0.75, 0.85)
    assert found[0].distance <= 2  # a word completed at each end, as above


@pytest.mark.parametrize(
    ("quote", "window"),
    [
        ("검색 결과를 매주 한 번 정열한다", (3, 21)),
        ("a검색 결과를 매주 한 번 정렬한다", (3, 21)),  # not " 검색": no space at an end
        ("과를 매주 한 번 정럴한다", (6, 21)),  # the rest of the first word
        ("색 결가를 매주 한 번 정렬한", (3, 21)),  # the rest of both words
        ("검색 결과를 매주 한 번 정열한다!", (3, 22)),
    ],
)
def test_a_window_ends_with_whole_words(quote, window):
    best = search(quote, Folding.visible("그는 검색 결과를 매주 한 번 정렬한다."), 0.75, 0.80)[0]
    assert (best.start, best.end) == window


def test_a_word_that_lacks_more_than_one_character_is_not_completed():
    best = search(
        "결과를 보여주는 화면에서", Folding.visible("검색결과를 보여주던 화면에서"), 0.75, 0.85
    )[0]
    assert (best.start, best.end) == (2, 15)


def test_a_window_never_cuts_a_character_that_folds_to_several():
    text = Folding.visible("옛 ㈜깃마인드는 해마다 보고서를 낸다")
    best = search("주)깃마인드는 해마다 보거서를 낸다", text, 0.75, 0.85)[0]
    assert text.span(best.start, best.end).start == 2
    assert best.distance == 2


def test_each_place_with_the_fewest_edits_gives_one_window():
    text = "관리자가 결과를 승인했다. 그리고 관리자가 결과를 승인했다."
    found = search("관리자가 결과를 승일했다.", Folding.visible(text), 0.75, 0.85)
    assert [(window.start, window.end) for window in found] == [(0, 14), (19, 33)]
