"""A courtesy is one from end to end."""

import pytest

from gigamind.judges.search_qa.segments.pieces import is_courtesy

COURTESIES = [
    "안녕하세요!",
    "감사합니다.",
    "더 궁금한 점이 있으시면 언제든지 물어보세요.",
    "추가로 궁금한 사항이 있으시면 말씀해 주세요.",
    "언제든 물어보세요.",
    "도움이 되었길 바랍니다.",
    "이 답변이 도움이 되셨길 바랍니다!",
    "질문해 주셔서 감사합니다😊",
    "노트를 바탕으로 답변드리겠습니다.",
    "다른 질문이 있으시면 편하게 문의해 주세요.",
    "좋은 질문입니다!",
    "좋은 하루 되세요.",
    "도움이 필요하시면 알려 주세요.",
    "반갑습니다.",
    "I hope this helps!",
    "Let me know if you need more.",
    "Let me know if you have any other questions.",
    "Feel free to ask if you need anything else!",
    "If you have any further questions, feel free to ask.",
    "If you need more details, please let me know!",
    "Great question!",
    "That's a great question.",
    "Thank you for your question.",
    "Happy to help!",
    "I'm happy to help with anything else.",
    "You're welcome.",
    "Hi there!",
    "Thanks for asking!",
    "Please don't hesitate to reach out if you have any questions.",
    "Hope that helps, let me know if you have more questions.",
    "죄송합니다.",
    "I'm sorry.",
    "Sorry!",
]
FACTS = [
    "환불은 언제든 가능합니다.",
    "휴가는 언제든지 쓸 수 있습니다.",
    "감사합니다만 계약은 해지되었습니다.",
    "Feel free to ignore the two-factor rule, it was dropped.",
    "let me know that the server was deleted is what Kim said",
    "배포 결과는 담당자에게 메일로 알려 드리겠습니다.",
    "Thank you, the fee was dropped.",
    "Happy to help customers is our motto, and support is free.",
    "Hi there, the gate is open.",
    "I hope this helps pay the fee.",
    "팀장에게 문의하세요.",
    "궁금한 점은 인사팀에 문의하세요.",
    "고객에게 감사합니다라고 인사한다.",
    "좋은 질문을 하면 상품을 준다.",
    "If you have any questions about the VPN, ask Kim.",
    "Please ask Kim.",
    "네.",
    "물론입니다.",
    "Ask the team lead.",
    "도움이 되는 자료는 위키에 있습니다.",
    "급한 문의가 있으면 상황실에 연락하세요.",
    "If you need a refund, ask me for the form.",
    "Feel free to bring dogs.",
    "안녕하세요라고 말합니다.",
    "Welcome package includes a laptop.",
    "Good evening shifts are paid double.",
    "죄송합니다만 반차는 없습니다.",
    "Ask.",
    "바로 연락하세요.",
    "I'm sorry that the fee was raised.",
]


@pytest.mark.each(
    "text, expected", [*((t, True) for t in COURTESIES), *((t, False) for t in FACTS)]
)
def test_greetings_thanks_and_offers_are_courtesies_and_a_fact_beside_one_is_none(text, expected):
    assert is_courtesy(text) is expected


def test_a_courtesy_has_no_number_and_is_short():
    assert is_courtesy("Thank you for your question.")
    assert not is_courtesy("Thank you for your 2 questions.")
    assert is_courtesy("!" * 141 + "감사합니다!" + "!" * 13)
    assert not is_courtesy("!" * 142 + "감사합니다!" + "!" * 13)
