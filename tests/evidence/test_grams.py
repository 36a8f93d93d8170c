"""What shares too few grams with a quote is not searched, and nothing is overlooked by that."""

from hypothesis import given
from hypothesis import strategies as st

from gigamind.evidence.fuzzy import _best_ends, _ends_in, search
from gigamind.evidence.grams import Grams, Shared
from gigamind.evidence.normalize import Folding

WORDS = st.text("ab 가나", min_size=8, max_size=40)


@st.composite
def misquotes(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and a passage of it with a few characters changed."""
    text = " ".join(draw(st.lists(WORDS, min_size=8, max_size=60)))
    start = draw(st.integers(0, len(text) - 40))
    quote = list(text[start : start + draw(st.integers(8, 40))])
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(quote) - 1))
        quote[at] = draw(st.sampled_from(["", "a", "나", "xy"]))
    return text, "".join(quote) or "a"


@given(misquotes())
def test_every_end_with_the_fewest_edits_lies_in_a_stretch_that_shares_enough(case):
    text, quote = case
    fewest, ends = _best_ends(quote, text, len(quote))
    stretches = Shared(Grams(text), quote).enough(fewest)
    if stretches is not None:
        assert ends
        for end in ends:
            assert any(start < end <= stop for start, stop in stretches)


@given(misquotes(), st.integers(0, 12))
def test_a_search_by_grams_finds_the_ends_that_a_search_of_everything_finds(case, limit):
    text, quote = case
    folding = Folding.visible(text)
    limit = min(limit, len(quote))
    expected = _best_ends(quote, folding.text, limit)
    assert _ends_in(quote, folding, limit) == expected


def test_a_quote_with_a_hundred_copies_is_found_at_all_of_them():
    passage = "the warehouse keeps every stale link before noon, and the reader counts it twice."
    text = f"{'nothing of that sort is said here. ' * 30}{passage} " * 100
    found = search(passage.replace("stale", "stalee"), Folding.visible(text), 0.75, 0.85)
    assert len(found) == 100
    assert {window.distance for window in found} == {1}
