import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.judges.search_qa.numbers import known_numbers, new_numbers, numbers_in_words


def new(claim, note):
    return new_numbers(claim, known_numbers(note))


@pytest.mark.each(
    "claim, note",
    [
        ("1,200원", "가격은 1200원"), ("1200원", "가격은 １，２００원"), ("3만 5천 원", "35,000원"),
        ("1억 2,000만 원", "120,000,000 KRW"), ("3,000만 원", "3천만 원"),
        ("10 million won", "1,000만 원"), ("$5", "5 dollars"), ("5.1%", "5.10%"),
        ("10-20일", "10–20일"), ("2026년 3월 5일", "2026-03-05"), ("2026-03-05", "2026년 3월 5일"),
        ("March 5, 2026", "2026. 3. 5."), ("5 March", "3월 5일"), ("3월 5일", "2026-03-05"),
        ("2026년 3월", "2026-03-05"), ("2026년", "2026-03-05"), ("8월", "in August"),
        ("10시 30분", "10:30"), ("오후 3시", "15:00"), ("30일", "기간은 삼십일이다"),
        ("35,000원", "삼만 오천 원과 삼만오천원"), ("1시간", "한 시간 안에"), ("3일", "사흘"),
        ("1시간", "within one hour"),
        ("15일", "| 기간(일) | 15 |"),  # a unit that the note has elsewhere
        ("15", "15일"), ("007", "7"), ("1.2.3 버전", "v1.2.3"), ("숫자가 없다", ""),
    ],
)  # fmt: skip
def test_a_number_in_another_notation_is_not_new(claim, note):
    assert new(claim, note) == ()


@pytest.mark.each(
    "claim, note, expected",
    [
        ("성장률은 10.5%이다", "성장률은 5.10%이다", ("10.5%",)),
        ("벌금은 500원이다", "벌금은 1,500원이다", ("500원",)),
        ("환불은 90일이다", "환불은 30일, 상담은 90분이다", ("90일",)),
        ("3월 15일이다", "3월 5일과 다음 달 15일", ("3월 15일",)),
        ("2025년 3월 5일이다", "2026-03-05", ("2025년 3월 5일",)),
        ("12만 원", "12원", ("12만 원",)),
        ("10:30에", "10:00에", ("10:30",)),
        ("20 days, 20 days and 3 items", "15 days", ("20 days", "3 items")),
        ("0.5일", "5일", ("0.5일",)),
        ("1개월", "1월", ("1개월",)),  # a span of time and a month of the year
    ],
)
def test_a_number_that_is_not_there_is_shown_as_the_claim_has_it(claim, note, expected):
    assert new(claim, note) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("삼만오천 원", [(35_000, "원")]), ("만 원", [(10_000, "원")]), ("이천이십육년", [(2_026, "년")]),
        ("열두 명", [(12, "명")]), ("보름", [(15, "일")]), ("one of them", []),
        ("ninety minutes", [(90, "분")]),
    ],
)  # fmt: skip
def test_amounts_in_words_are_read(text, expected):
    assert [(int(one.value), one.unit) for one in numbers_in_words(text)] == expected


@given(st.text(max_size=80))
def test_a_text_says_its_own_numbers(text):
    assert new(text, text) == ()


@given(st.integers(0, 10**12), st.sampled_from(["원", "명", " days", ""]))
def test_thousands_may_be_joined_or_not(value, unit):
    assert new(f"{value:,}{unit}", f"값은 {value}{unit} 이다") == ()
    assert new(f"{value}{unit}", f"값은 {value:,}{unit} 이다") == ()
