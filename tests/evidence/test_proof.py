"""Rows of the tables are quotes of our own that say what their source says, or do not; see each test."""

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from time_limit import check_linear, cost_ratio

from gigamind.evidence.align import align
from gigamind.evidence.proof import why_unproven
from gigamind.evidence.result import Aligned
from gigamind.spans import Span

DATA = Path(__file__).parents[1] / "data"


def rows_of(name):
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def why(passage, quote):
    """Why a quote of a whole passage, that was found by fewest edits, is unproven."""
    found = why_unproven(quote, Span(0, len(passage)), passage, fuzzy=True)
    return found and found.reason


def why_cut(note, quote):
    """Why every verbatim place of a quote is unproven; None when one proves it."""
    starts = [start for start in range(len(note)) if note.startswith(quote, start)]
    found = [
        why_unproven(quote, Span(start, start + len(quote)), note, fuzzy=False) for start in starts
    ]
    return None if None in found else found[0].reason


WORDED = rows_of("quote_wording.jsonl") + rows_of("quote_wording_heldout.jsonl")


def test_a_changed_word_proves_nothing_and_a_forgiven_difference_does():
    wrong = [row for row in WORDED if bool(why(row["passage"], row["quote"])) != row["changed"]]
    assert wrong == []
    for language in ("ko", "en"):
        kinds = [row["changed"] for row in WORDED if row["lang"] == language]
        assert min(kinds.count(True), kinds.count(False)) >= 25


def test_no_cut_quote_of_the_table_proves_anything_and_most_honest_ones_do():
    rows = rows_of("quote_cuts.jsonl")
    proven = [row for row in rows if why_cut(row["note"], row["quote"]) is None]
    assert [row for row in proven if not row["proves"]] == []
    assert len(proven) >= 94  # of 113: in doubt a quote is cut


def test_of_cut_quotes_that_were_held_out_it_refuses_as_many_as_measured():
    rows = rows_of("quote_cuts_held_out.jsonl")
    proven = [row["proves"] for row in rows if why_cut(row["note"], row["quote"]) is None]
    assert proven.count(False) <= 1  # of 30
    assert proven.count(True) >= 27  # of 30


@pytest.mark.each(
    "passage, quote, reason",
    [
        ("보관 기간은 30일이다", "보관 기간은 90일이다", "number"),
        ("3. 백업을 먼저 만든다", "4. 백업을 먼저 만든다", "number"),
        ("기록은 남지 않는다", "기록은 남는다", "negation"),
        ("알림을 켠 다음 추가한다", "알림을 켠 다음 삭제한다", "polarity"),
        ("It was sent to Anna by mail", "It was sent to Emma by mail", "name"),
        ("회의는 대전에서 연다", "회의는 부산에서 연다", "wording"),
        ("김민수 팀장이 승인한다", "김민주 팀장이 승인한다", "wording"),
        ("정규직만 신청한다", "정규직 신청한다", "wording"), ("신청한다", "신청했다", "wording"),
        ("감사팀이 회계팀을 조사한다", "회계팀이 감사팀을 조사한다", "wording"),
        ("감사팀이 회계팀을 조사한다", "감사팀을 회계팀이 조사한다", "wording"),
        ("감사팀이 회계팀은 조사한다", "감사팀은 회계팀이 조사한다", "wording"),
        ("x < 5", "x > 5", "wording"), ("3일 이내", "3인 이내", "wording"),
        ("It is able to run", "It is notable to run", "wording"),
        ("a notable one", "not able one", "negation"),
        ("few people came", "a few people came", "wording"),
        ("Is it open?", "Is it open.", "question"),
        ("전 직원(계약직 제외)에게 준다", "전 직원에게 준다", "polarity"),
        ("They may park here (only on Sundays).", "They may park here.", "name"),
        ("a committee for accommodations", "a comittee for accomodations", "wording"),
    ],
)  # fmt: skip
def test_what_a_quote_changes_is_named(passage, quote, reason):
    assert why(passage, quote) == reason


@pytest.mark.each(
    "passage, quote",
    [
        ("사용자는 노트를 저장한다", "사용자 노트 저장한다"),
        ("사용자는 노트를 저장한다", "사용자가 노트를 저장한다"),
        ("서버에는 기록이 남는다", "서버에 기록이 남는다"),
        ("임베딩(벡터)을 다시 계산한다", "임베딩을 다시 계산한다"),
        ("The wiki (see 4.2) is open to guests", "The wiki is open to guests"),
        ("다시 계산할 수 있다", "다시 계산할수있다"),
        ("The report is sent to the board", "Report is sent to board"),
        ("First, the report is sent", "First the report is sent"),
        ("비용은 1,000원이다", "비용은 1000원이다"),
        ("a long-term contract", "a long term contract"),
        ("상태를 ‘완료’로 바꾼다", "상태를 완료로 바꾼다"),
        ("1. 백업을 만든다", "백업을 만든다"),
        ("A bonus, first paid by the board, is due soon.", "A bonus … is due soon."),
        ("보고서는 팀장이 검토한 뒤 본부장이 승인한다.", "보고서는 … 본부장이 승인한다."),
        ("The accomodations are free", "The accommodations are free"),
        ("a commitee of five", "a committee of five"),
    ],
)
def test_what_is_forgiven_is_a_closed_set(passage, quote):
    assert why(passage, quote) is None


@pytest.mark.each(
    "passage, quote, near",
    [
        ("the charged amount", "the changed amount", True),  # both are words
        ("이 노트는 공개한다", "이 노토는 공개한다", True),
        ("sent to Katherine", "sent to Katharine", True),
        ("보관 기간은 30일이다", "보관 기간은 31일이다", False),
        ("the trial ended early", "the trail ended late", False),  # two words
        ("회의는 대전에서 연다", "회의는 부산에서 연다", False),
    ],
)
def test_one_keystroke_that_is_not_forgiven_is_near(passage, quote, near):
    found = why_unproven(quote, Span(0, len(passage)), passage, fuzzy=True)
    assert found.near is near


@pytest.mark.each(
    "passage, quote",
    [
        ("A bonus is not ever due in May.", "A bonus … due in May."),
        ("수당은 인턴을 제외한 직원에게 준다.", "수당은 … 직원에게 준다."),
        ("보고서는 정규직만 검토한 뒤 본부장이 승인한다.", "보고서는 … 본부장이 승인한다."),
        ("Anna wrote the plan. Emma lost the key.", "Anna ... lost the key."),
    ],
)
def test_an_ellipsis_hides_no_negation_no_limit_and_no_end_of_a_sentence(passage, quote):
    assert why(passage, quote)


@pytest.mark.each(
    "note, quote, reason",
    [
        ("기본으로 비활성화되어 있다.", "활성화되어 있다.", "cut_word"),
        ("기본으로 비활성화되어 있다.", "비활성화되어 있다.", None),
        ("기본으로 비**활성화**되어 있다.", "활성화**되어 있다.", "cut_word"),
        ("기본으로 비\u200b활성화되어 있다.", "활성화되어 있다.", "cut_word"),
        ("Refunds are non-refundable.", "refundable.", "cut_word"), ("It can't be read.", "It can", "cut_word"),
        ("벌금은 1,500원이다.", "500원이다.", "cut_word"), ("예산은 3 million won.", "예산은 3", "cut_word"),
        ("온도는 -5도다.", "5도다.", "cut_word"), ("2~4시에 한다.", "4시에 한다.", "cut_word"),
        ("연차는 15일입니다.", "연차는 15일", None), ("서류를 제출해야 한다.", "서류를 제출", "cut_word"),
        ("휴가는 3일 이상이다.", "휴가는 3일", "cut_limit"), ("휴가는 3일 이상이다.", "휴가는 3일 이상", None),
        ("More than 5 attempts lock it.", "5 attempts lock it", "cut_limit"),
        ("It is open, except on Sundays.", "It is open", "cut_limit"),
        ("정확한 수는 확인되지 않았다.", "정확한 수는 확인되지", "cut_negation"),
        ("정확한 수는 확인되었다는 말은 거짓이다.", "정확한 수는 확인되었다", "cut_word"),
        ("환불이 가능하고 교환은 가능하지 않다.", "환불이 가능", None),
        ("The key is never stored.", "stored", "cut_negation"),
        ("전에는 있었지만 지금은 발견하지 못했다.", "전에는 있었지만 지금은 발견하지", "cut_negation"),
        ("약 15분 동안 비운다.", "15분 동안 비운다.", "cut_limit"),
        ("The key is ｎｏｔ stored here.", "stored here", "cut_negation"),
        ("Automatic renewal: off", "Automatic renewal", "cut_negation"),
        ("Is it true that refunds are free?", "refunds are free", "question"),
        ("今日は休みではない", "休み", "cut_word"),
    ],
)  # fmt: skip
def test_what_a_verbatim_quote_lost_is_named(note, quote, reason):
    assert why_cut(note, quote) == reason


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_wrapped_sentence_is_one_and_lines_of_a_list_are_not(newline):
    wrapped = newline.join(("The passwords of all the old accounts are not", "stored here."))
    assert why_cut(wrapped, "stored here") == "cut_negation"
    listed = newline.join(("- The passwords of the accounts are not", "- stored here as text"))
    assert why_cut(listed, "stored here") is None


def test_the_window_of_fewest_edits_is_widened_to_the_negation_behind_it():
    source = "정확한 피해 규모와 원인은 아직 공식적으로 확인되지 않았다."
    found = align("정확한 피해 규모와 원인은 아직 공식적으로 확인되", source)
    assert (found.method, found.promotable, found.unproven.reason) == ("exact", False, "cut_word")
    found = align("정확한 피해 규모와 원인은 아직 공식적으로 확인되었다.", source)
    assert (found.method, found.promotable) == ("fuzzy", False)


def test_a_window_with_a_word_of_its_neighbour_is_tried_without_it():
    source = "Before it was other. Interns receive a paid day off each month."
    found = align("The interns receive paid day off each month.", source)
    assert found.span.slice(source).startswith("other. ")  # fewest edits: "the" of "other"
    assert (found.method, found.promotable) == ("fuzzy", True)


def test_a_quote_in_pieces_is_found_however_much_its_ellipsis_stands_for():
    source = (
        "보고서는 각 팀의 담당자가 한 달 동안 모은 자료를 검토한 뒤 본부장이 최종적으로 승인한다."
    )
    found = align("보고서는 각 팀의 담당자가 … 본부장이 최종적으로 승인한다", source)
    assert (found.method, found.span) == ("fuzzy", Span(0, len(source) - 1))
    assert found.promotable
    assert found.selector.exact == source[:-1]  # what is kept are the words of the source


# Texts in which words, endings, signs and marks meet: random letters alone hardly ever share a word.
WORDS = "휴가/를/만/한다/합니다/했다/안/3/5일/1,000/-/%/ / /\n/…/**/1. /the/days/day/not/don't/<b>/[[a|b]]/’/가/?"
PIECES = st.sampled_from([*WORDS.split("/"), "ㄱ", "\u0301", "𝒳"])
TEXTS = st.lists(PIECES, min_size=1, max_size=12).map("".join) | st.text(min_size=1, max_size=40)


@given(TEXTS)
@example("휴가<b>?")
@example("%%a%%")
def test_a_whole_text_proves_itself_unless_it_is_a_comment_or_question(text):
    unproven = why_unproven(text, Span(0, len(text)), text, fuzzy=False)
    signs = {"comment": "%%|<!--", "question": "[?？]"}
    assert unproven is None or re.search(signs[unproven.reason], text)


@given(TEXTS, st.sampled_from(["구름다리", "bridges", "not", "7"]))
def test_a_word_put_in_front_is_always_seen(text, word):
    if "…" not in text and ".." not in text:
        assert why_unproven(f"{word} {text}", Span(0, len(text)), text, fuzzy=True)


@given(TEXTS, st.data())
def test_any_span_has_an_answer(text, data):
    start, end = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=2)))
    why_unproven(text[start:end], Span(start, end), text, fuzzy=False)


def test_proof_takes_no_longer_in_a_longer_note():
    words = ("휴가는", "팀장에게", "신청한다.", "the", "plan")
    note = " ".join(random.Random(1).choices(words, k=18_000))
    found = align(note[5_000:5_400], note)
    assert isinstance(found, Aligned)

    def prove(text):
        for _ in range(10):
            why_unproven(found.quote.text + " ", found.span, text, fuzzy=True)

    ratio, _ = cost_ratio(lambda: prove(note[: len(note) // 4]), lambda: prove(note), at_most=2.5)
    assert ratio <= 2.5


@pytest.mark.each(
    "one, other",
    [
        ("가 ", "나 "), ("... 가 ", "나 가 "), ("1", "1 "), ("a'", "a' "), ("<b ", "<b"), ("(", "(a"),
    ],
)  # fmt: skip
def test_hostile_quotes_take_linear_time(one, other):
    def prove(size):
        found = other * (size // len(other))
        why_unproven(one * (size // len(one)), Span(0, len(found)), found * 20, fuzzy=True)

    check_linear(prove, 500)
