"""Places in a composed text lead back to the original."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.judges.search_qa.segments import _composed
from gigamind.spans import Span


@pytest.mark.parametrize("text", ["", "연차 15일", "résumé", "👍 끝"])
def test_a_composed_text_stays_as_it_is(text):
    assert _composed(text).text == text
    assert _composed(text).origin(Span(0, len(text))) == Span(0, len(text))


def test_a_syllable_leads_to_its_letters():
    whole = _composed(unicodedata.normalize("NFD", "각 나"))  # three letters, a space, two letters
    assert whole.text == "각 나"
    assert [whole.origin(Span(at, at + 1)) for at in range(3)] == [
        Span(0, 3),
        Span(3, 4),
        Span(4, 6),
    ]


@given(
    st.text(st.sampled_from("a각나é1 .\u0301\u1100\u1161\u11a8\u0958👍"), max_size=20), st.data()
)
def test_spans_stay_in_their_order_and_cover_the_original(text, data):
    form = data.draw(st.sampled_from(["NFC", "NFD"]))
    original = unicodedata.normalize(form, text)
    whole = _composed(original)
    assert whole.text == unicodedata.normalize("NFC", original)
    cut = data.draw(st.integers(0, len(whole.text)))
    before, after = whole.origin(Span(0, cut)), whole.origin(Span(cut, len(whole.text)))
    assert before.start == 0
    assert before.end == after.start
    assert after.end == len(original)
