import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from time_limit import check_linear

from gigamind.errors import InputError
from gigamind.evidence.align import Source, align, align_all
from gigamind.evidence.normalize import Folding, is_boundary
from gigamind.evidence.quality import AlignmentQuality, quality
from gigamind.evidence.result import Aligned, Failed, Quote, TextQuoteSelector
from gigamind.evidence.schema import AlignConfig
from gigamind.spans import Span

WORDS = st.text("가나각 abcAB12.,", min_size=1, max_size=30)
SENTENCE = "사용자는 노트를 저장할 때마다 임베딩을 다시 계산해야 한다"


@given(st.text(max_size=20), st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_any_substring_aligns_to_itself(before, quote, after):
    source = before + quote + after
    assume(is_boundary(source, len(before)) and is_boundary(source, len(before + quote)))
    found = align(quote, source)
    if isinstance(found, Failed):
        assert found.reason == "empty_quote"
    else:
        assert found.method == "exact"
        assert found.span.slice(source) == quote
        assert found.selector.exact == quote


def zero_width(text):
    return "\u200b".join(text)


def full_width(text):
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def hard_spaces(text):
    return text.replace(" ", "\u00a0")


def decomposed(text):
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("transform", [decomposed, zero_width, hard_spaces, full_width])
@given(before=WORDS, quote=WORDS.filter(lambda text: any(map(str.isalnum, text))), after=WORDS)
def test_a_span_survives_what_a_source_does_to_its_text(transform, before, quote, after):
    source = f"{transform(before)}|{transform(quote)}|{transform(after)}"
    found = align(f"|{quote}|", source)
    assert isinstance(found, Aligned)
    passage = found.span.slice(source)
    undone = unicodedata.normalize("NFKC", passage.replace("\u200b", ""))
    assert undone.split() == f"|{quote}|".split()


@given(WORDS, WORDS, WORDS, st.sampled_from([0.8, 0.85, 1.0]))
def test_nothing_is_aligned_that_its_source_does_not_hold(left, quote, right, threshold):
    source = left + right
    found = align(quote, source, config=AlignConfig(fuzzy_threshold=threshold, min_fuzzy_chars=4))
    if isinstance(found, Aligned):
        assert 0 <= found.span.start < found.span.end <= len(source)
        lowest = {"exact": 1.0, "normalized": 0.99, "fuzzy": threshold - 1e-9}
        assert found.confidence >= lowest[found.method]


EMPTY = ["", " \n\t", "\u200b\ufeff", "\u3164", "**", '""', ".", "…", "- "]


@pytest.mark.parametrize("quote", EMPTY)
def test_a_quote_without_a_letter_or_digit_is_empty(quote):
    assert align(quote, f"a{quote}b").reason == "empty_quote"


@pytest.mark.each(
    "quote, source, passage",
    [
        ("R&D 예산", "올해 R&amp;D 예산은", "R&amp;D 예산"),
        ("5* and [sic] a_b", "is 5\\* and \\[sic\\] a\\_b.", "5\\* and \\[sic\\] a\\_b"),
        ("H2O boils", "H<sub>2</sub>O boils", "H<sub>2</sub>O boils"),
        ("a b", "x a&nbsp;b", "a&nbsp;b"),
        ("first second", "first<br>second", "first<br>second"),
        ("the rate is 5%", "So the rate[^1] is 5%", "the rate[^1] is 5%"),
        ("List<String> x", "a List<String> x", "List<String> x"),
    ],
)
def test_a_quote_of_the_rendered_text_is_found_whole(quote, source, passage):
    assert align(quote, source).span.slice(source) == passage


def test_no_span_begins_or_ends_inside_an_entity_or_a_tag():
    assert not is_boundary("R&amp;D", 3)
    assert not is_boundary('a <i class="x">b', 6)
    assert is_boundary("R&amp;D", 6)
    assert is_boundary("a & b; c", 4)
    assert is_boundary("a < b and c > d", 6)


MARKED = "# 제목\n**벡터** 검색을 함께 쓴다"
LISTED = "1. **백업**을 먼저 만든다\n2. 그다음 노트를 지운다"


@pytest.mark.each(
    "quote, source, method, level",
    [
        ("가" * 500, "가" * 600, "exact", "raw"),
        ("가나다라마바사아자차카타파하거너", "가나다라마바사아자차카타파하고너", "fuzzy", "N1"),
        ("**벡터**  검색을", MARKED, "normalized", "N1"),
        ("벡터 검색을", MARKED, "normalized", "N2"),
        ("벡터검색을 함께쓴다", MARKED, "normalized", "N3"),
        ("가나다라 마바사아", "가나다 라마바사아", "normalized", "N3"),
        ("백업을 먼저 만든다 그다음 노트를 지운다", LISTED, "normalized", "N2"),
    ],
)
def test_the_first_level_that_hits_is_recorded(quote, source, method, level):
    found = align(quote, source)
    assert (found.method, found.level) == (method, level)


@pytest.mark.each(
    "quote, source, reason",
    [
        ("가" * 501, "가" * 600, "quote_too_long"),
        ("가나다라마바사아자차카타파하거", "가나다라마바사아자차카타파하고", "quote_too_short_for_fuzzy"),
        ("가나다라 마바사", "가나다 라마바사", "quote_too_short_for_fuzzy"),
        # Numbers do not grow together when spaces are forgiven, and that of a list item is not forgiven.
        ("모두 12개를 지웠다고 했다", "모두 1 2개를지웠다고 했다", "quote_too_short_for_fuzzy"),
        ("3. 백업을 먼저 만든다", LISTED, "quote_too_short_for_fuzzy"),
    ],
)  # fmt: skip
def test_a_quote_that_is_not_found_has_a_reason(quote, source, reason):
    assert align(quote, source).reason == reason


def test_fuzzy_matching_can_be_switched_off():
    off = AlignConfig(fuzzy=False)
    assert align(SENTENCE[1:], SENTENCE, config=off).method == "exact"
    assert align(SENTENCE.replace("는", ""), SENTENCE, config=off).reason == "fuzzy_disabled"


@pytest.mark.parametrize(
    ("wrong", "outcome"),
    [(3, "aligned"), (4, "near miss"), (5, "near miss"), (6, "nothing")],  # .85, .80, .75, .70
)
def test_the_two_thresholds_of_a_quote_of_20_characters(wrong, outcome):
    quote = "가나다라마바사아자차카타파하거너더러머버"
    source = "앞 " + quote[: 20 - wrong] + "xyzuvw"[:wrong] + " 뒤"
    found = align(quote, source)
    if outcome == "aligned":
        assert isinstance(found, Aligned)
        assert (found.span, found.confidence) == (Span(2, 22), pytest.approx(0.85))
    else:
        assert isinstance(found, Failed)
        assert found.reason == "below_threshold"
        assert (found.near_miss is not None) == (outcome == "near miss")


def test_a_quote_that_leaves_words_out_is_found_though_it_is_a_near_miss_as_it_stands():
    passage = "Every release of the engine is approved in writing by the security team on Monday."
    found = align(passage.replace("in writing by", "..."), f"Before. {passage} After.")
    assert isinstance(found, Aligned)
    assert found.span == Span(8, 90)


def test_a_fuzzy_match_proves_something_from_30_characters():
    assert len(SENTENCE) == 32
    thirty = SENTENCE.replace("는", "").replace("을", "")
    assert (len(thirty), align(thirty, SENTENCE).promotable) == (30, True)
    shorter = thirty.replace("다시 ", "다시")
    found = align(shorter + "x", SENTENCE + "x")
    assert (len(shorter), found.method, found.promotable) == (29, "fuzzy", True)
    found = align(shorter, SENTENCE)
    assert (found.method, found.promotable) == ("fuzzy", False)


def test_outer_marks_that_stand_in_the_source_belong_to_the_span():
    assert align("“3단계로  정렬한다”", "우리는 “3단계로 정렬한다”고 했다").span == Span(4, 15)


def test_a_misquote_in_quotation_marks_is_found_without_them():
    found = align(f"“{SENTENCE.replace('는', '')}”", SENTENCE)
    assert (found.method, found.span) == ("fuzzy", Span(0, 32))


def test_a_match_never_crosses_sources():
    result = align_all([Quote("끝 처음", 0), Quote("끝 처음", 1)], ["말의 끝", "처음 말"])
    assert [one.reason for one in result.failed] == ["quote_too_short_for_fuzzy"] * 2


@pytest.mark.parametrize(("index", "sources"), [(-1, ["가", "나"]), (2, ["가", "나"]), (0, [])])
def test_an_index_outside_the_sources_is_refused(index, sources):
    result = align_all([Quote("가", index)], sources)
    (failed,) = result.failed
    assert (failed.reason, failed.source_sha256) == ("source_index_out_of_range", None)
    assert result.aligned == ()


def test_quotes_of_one_entry_take_different_places():
    source = "네. 아니오. 네."
    quotes = [Quote("네.", entry_id="a"), Quote("네.", entry_id="a"), Quote("네.", entry_id="b")]
    result = align_all(quotes, [source])
    assert [one.span.start for one in result.aligned] == [0, 8, 0]
    assert len(result.of_entry("a").outcomes) == 2


def test_quotes_without_an_entry_do_not_compete():
    result = align_all([Quote("네."), Quote("네.")], ["네. 네."])
    assert [one.span.start for one in result.aligned] == [0, 0]


def test_one_failed_quote_leaves_an_entry_unaligned():
    result = align_all([Quote("가나"), Quote("없는 말")], ["가나다"])
    assert len(result.aligned) == len(result.failed) == 1


def test_a_selector_carries_32_characters_of_each_side():
    source = "가" * 40 + "찾을 말" + "나" * 40
    found = align("찾을 말", source)
    assert found.selector == TextQuoteSelector("찾을 말", "가" * 32, "나" * 32)


def test_the_source_hash_is_the_sha256_of_its_utf8():
    # printf 'abc' | sha256sum
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert align("abc", "abc").source_sha256 == expected
    assert align("missing", "abc").source_sha256 == expected


def test_lone_surrogates_and_binary_junk_are_text_like_any_other():
    source = "앞 \ud800\udfff\x00\x07 끝"
    assert align("앞 \ud800\udfff\x00", source).span == Span(0, 5)
    assert isinstance(align("\udc00" * 20, source), Failed)


def test_a_source_beyond_the_limit_is_refused_and_the_limit_named():
    assert align("가", Source("가" * 10, max_chars=10)).method == "exact"
    with pytest.raises(InputError, match="max_source_chars") as error:
        align("가", "가" * 11, config=AlignConfig(max_source_chars=10))
    assert error.value.message.values == {"n": 11, "limit": 10}
    with pytest.raises(InputError, match="10,000,000"):
        align_all([], ["a" * 100_000_000])


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("a" * 500, "a" * 100_000), ("a" * 250 + "b" + "a" * 249, "a" * 100_000),
        ("ab" * 249 + "cc", "ab" * 50_000), ("x\u0301\u0323" * 160, "\u0301\u0323" * 50_000),
        ("a b " * 100, " \n" * 50_000), ("[[a](" * 100, "[[a](" * 20_000),
        ("**_a " * 100, "*_~~==`" * 14_000), ("abcdefghij" * 50, "a\u200b" * 50_000),
        ("Chapter 1" + "." * 400 + "5", "Chapter 1" + "." * 90_000 + "6"),
        ("> - [ ] " * 60 + "a", "> - [ ] " * 12_000 + "b"),
        ("](a" + "(b)" * 160, "](a" + "(b)" * 33_000), ("1.1" * 160, "1.1'a" * 20_000),
    ],
    ids=[
        *("same", "one off", "periodic", "marks", "spaces", "links", "emphasis", "zero width"),
        *("leader dots", "items", "brackets", "numbers"),
    ],
)  # fmt: skip
def test_a_long_source_takes_linear_time(quote, source):
    check_linear(lambda size: align(quote, source[-size:]), len(source))


def test_characters_that_each_fold_to_three_take_linear_time():
    quote = "㈜" * 100 + "한글" + "㈜" * 66
    found = check_linear(lambda size: align(quote, "㈜" * size), 100_000)
    # The two foreign characters are left out, or take the place of two of the three of a "(주)".
    assert (found.method, found.span.start) == ("fuzzy", 0)
    assert len(found.span) in {166, 167}


def test_many_quotes_normalise_their_source_once(monkeypatch):
    normalised, visible = [], Folding.visible
    monkeypatch.setattr(Folding, "visible", lambda text: normalised.append(text) or visible(text))
    source = "\n".join(f"{number}번 기록은  **확인**했다." for number in range(500))
    quotes = [Quote(f"{number}번 기록은 확인했다.") for number in range(500)]
    assert len(align_all(quotes, [source]).aligned) == 500
    assert normalised.count(source) == 1


@pytest.mark.each(
    "settings",
    [
        {"fuzzy_threshold": 0.79}, {"fuzzy_threshold": 1.01}, {"search_threshold": 0.86},
        {"search_threshold": 0.49}, {"fuzzy_threshold": float("nan")}, {"max_quote_chars": 0},
        {"min_fuzzy_chars": -1},
    ],
)  # fmt: skip
def test_settings_beyond_their_limits_are_refused(settings):
    with pytest.raises(InputError):
        AlignConfig(**settings)


SOURCE = "삭제한 노트는 휴지통에 30일 동안 보관한 다음 완전히 지운다. 네. 네.\nabcdefghijklmnopqrst"


def test_the_rates_are_shares_of_all_quotes():
    quotes = [
        "휴지통에",  # exact
        "네.",  # exact, ambiguous
        "삭제한  노트는",  # normalised
        "삭제한 노트는 휴지통에 90일 동안 보관한 다음",  # fuzzy, critical
        "삭제한 노트를 휴지통에 30일 동안 보관한 다음",  # fuzzy
        "abcdefghijklmnopWXYZ",  # near miss
        "어디에도 없는 말",
        "",
    ]
    result = align_all([Quote(text) for text in quotes], [SOURCE])
    assert quality(result.records([SOURCE])) == AlignmentQuality(
        quotes=8, exact=2 / 8, normalized=1 / 8, fuzzy=2 / 8, failed=3 / 8, near_miss=1 / 8,
        ambiguous=1 / 8, critical=1 / 8,
    )  # fmt: skip


@pytest.mark.parametrize("outcomes", [(), []])
def test_without_quotes_there_are_no_rates(outcomes):
    assert quality(outcomes) is None
