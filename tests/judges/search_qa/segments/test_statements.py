"""Headings, questions and lead-ins that state something are claims."""

import time

import pytest

from gigamind.judges.search_qa.segments.statements import asks, introduces, states

HEADINGS = [
    "휴가 규정",
    "신청 방법",
    "3. 예외",
    "Summary",
    "**Details**",
    "개요",
    "주요 내용",
    "신청하는 방법",
    "남은 연차 처리",
    "How to do it",
    "What is covered",
    "1.2. Scope",
    "환불 기간 및 조건",
    "Refund policy",
    "받는 사람",
    "자주 묻는 질문",
    "Key points",
    "가. 신청",
]
STATED = [
    "환불은 90일입니다",
    "환불 불가",
    "Refunds are free",
    "담당자: 김하나",
    "연차는 팀장이 승인",
    "No refunds",
    "환불은 무료",
    "Refunds free",
    "Paid at once.",
    "1. 환불 90일",
]
QUESTIONS = [
    "더 궁금한 점이 있으신가요?",
    "끝？",
    "Is there anything else?",
    "궁금한가요?",
    "되나요?",
    "Any questions?",
    "이게 뭐예요?",
    "왜 안 돼요?",
    "What is the fee?",
    "도움이 더 필요하세요?",
    "무엇을 도와드릴까요?",
    "And what about fees?",
    "왜 그럴까?",
    "언제 가능합니까?",
    '"Is it free?"',
]
NO_QUESTIONS = [
    "환불은 90일입니다!?",
    "The refund window is 90 days, right?",
    "환불은 무료입니다!?",
    "The refund is free, right?",
    "The refund is free?",
    "언제든 환불돼요?",
    "환불은 무료예요?",
    "환불은 무료죠?",
    "Refunds are free, aren't they?",
    "환불이 무료라는 사실을 알고 계셨나요?",
    "Did you know that refunds are free?",
    "환불은 90일 이내에 가능하지 않나요?",
    "무료입니다, 그렇죠?",
    "환불은 없음?",
    "Is it free.",
]
LEAD_INS = [
    "다음과 같습니다:",
    "신청 방법은 다음과 같습니다:",
    "필요한 서류:",
    "You need:",
    "The owners are:",
    "Follow these steps:",
    "The owners are as follows.",
]
NO_LEAD_INS = [
    "환불은 무료이며 절차는 다음과 같습니다:",
    "환불은 무료입니다:",
    "Refunds are free:",
    "Refunds are free and work as follows:",
    "기한은 14일이며 다음과 같습니다:",
    "절차를 따른다.",
]


@pytest.mark.each(
    "reads, text, expected",
    [
        (reads, text, expected)
        for reads, texts, expected in (
            (states, HEADINGS, False),  # a heading only names what follows
            (states, STATED, True),  # a number, a verb or a whole sentence states something
            (asks, QUESTIONS, True),
            (asks, NO_QUESTIONS, False),
            (introduces, LEAD_INS, True),
            (introduces, NO_LEAD_INS, False),
        )
        for text in texts
    ],
)
def test_headings_statements_questions_and_lead_ins_are_told_apart(reads, text, expected):
    assert reads(text) is expected


@pytest.mark.parametrize("unit", ["요!", "?", "!", "is ", "은 가 ", "고 ", "a: ", "1. "])
def test_long_texts_take_linear_time(unit):
    text = unit * (100_000 // len(unit)) + "?"
    start = time.perf_counter()
    for reads in (states, asks, introduces):
        reads(text)
    assert time.perf_counter() - start < 5  # seconds
