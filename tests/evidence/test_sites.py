import pytest

from gigamind.evidence.align import _choose, _folded_sites, exact_sites
from gigamind.evidence.normalize import Folding
from gigamind.evidence.result import Quote
from gigamind.spans import Span

TEXT = "처음에 오류가 났다. 그다음 오류가 났다. 끝에 오류가 났다."
SITES = [Span(4, 11), Span(16, 23), Span(27, 34)]


def test_exact_sites_never_cut_a_decomposed_syllable():
    assert exact_sites("\u1100\u1161", "\u1100\u1161\u11a8 \u1100\u1161") == [Span(4, 6)]


def test_exact_sites_are_counted_up_to_ten_thousand():
    assert len(exact_sites("a", "a" * 10_001)) == 10_000


def test_folded_sites_never_cut_a_character_that_folds_to_several():
    assert _folded_sites("주", Folding.visible("㈜ 주")) == [Span(2, 3)]
    assert _folded_sites("s", Folding.visible("ß s")) == [Span(2, 3)]


@pytest.mark.each(
    "quote, used, site, ambiguous",
    [
        (Quote(""), (), SITES[0], True),
        (Quote("", hint=20), (), SITES[1], True),
        (Quote("", hint=10_000), (), SITES[2], True),
        (Quote("", prefix="그다음 "), (), SITES[1], False),
        (
            Quote("", prefix="그다음"),
            (),
            SITES[1],
            False,
        ),  # white space at the joint does not matter
        (Quote("", suffix=" 끝에"), (), SITES[1], False),
        (Quote("", prefix="그다음 ", hint=0), (), SITES[1], False),  # context before hint
        (Quote("", prefix="전혀 다른 글자들"), (), SITES[0], True),
        (Quote(""), [SITES[0]], SITES[1], True),
        (Quote(""), [SITES[0], SITES[1]], SITES[2], True),
        (Quote(""), SITES, SITES[0], True),
        (Quote("", prefix="그다음 "), [SITES[1]], SITES[0], True),  # unused before context
    ],
)
def test_one_of_several_sites_is_chosen(quote, used, site, ambiguous):
    assert _choose(SITES, TEXT, quote, used) == (site, ambiguous)


def test_a_single_site_is_never_ambiguous():
    assert _choose(SITES[:1], TEXT, Quote(""), SITES) == (SITES[0], False)
