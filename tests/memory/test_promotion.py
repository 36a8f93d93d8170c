import pytest

from gigamind.evidence.align import align_all
from gigamind.evidence.result import Quote
from gigamind.memory.sessions import _refusal, _unsupported

SOURCE = (
    "승인은 팀장 검토 후 진행된다. 이 설정은 운영 환경에서 절대 활성화하지 않는 것을 권장합니다."
)


def test_a_quote_with_one_wrong_keystroke_is_to_be_quoted_again():
    message = "이 노트는 삼십 일 동안 휴지통에 보관한 다음 완전히 지운다."
    reason, _failed = _refusal(align_all([Quote(message.replace("노트", "노토"))], [message]))
    assert "wording" in reason
    assert "keystroke" in reason


@pytest.mark.parametrize(
    ("quote", "doubt"),
    [
        (
            "이 설정은 운영 환경에서 절대 활성화하는 것을 권장합니다.",
            "a quote differs from its source in negation",
        ),
        (
            "승인 팀장 검토 후 진행된다.",
            "a quote that only resembles its source is too short to prove anything",
        ),
    ],
)
def test_a_quote_that_proves_too_little_blocks(quote, doubt):
    reason, failed = _refusal(align_all([Quote(quote), Quote("승인은")], [SOURCE]))
    assert (reason, [outcome.quote.text for outcome in failed]) == (doubt, [quote])


@pytest.mark.each(
    "text, message, why",
    [
        ("담당자는 김민수이고 배포는 프랑크푸르트에서 한다", "담당자는 김민수, 프랑크푸르트 리전에 배포하자.", ""),
        ("삭제한 노트는 휴지통에 30일 보관한다.", "네, 삭제한 노트는 휴지통에 30일 동안 보관한 다음 지웁니다.", ""),
        ("The release moves to May.", "OK, we move the release to May.", ""),
        ("담당자는 박지영이고 배포는 도쿄에서 한다", "담당자는 김민수이고 배포는 베를린에서 한다.", "little_in_common"),
        ("담당자는 박지영이고 배포는 도쿄에서 한다", "김민수가 맡고, 서버는 프랑크푸르트에 둔다.", "little_in_common"),
        ("삭제한 노트는 휴지통에 90일 보관한다.", "삭제한 노트는 휴지통에 30일 동안 보관합니다.", "contradiction"),
        ("배포는 금요일에 김민수가 한다.", "배포는 김민수가 한다.", "added"),
        ("The release moves to May and Anna owns it.", "We move the release to May.", "new_name"),
        ("The release does not move to May.", "We move the release to May.", "contradiction"),
    ],
)  # fmt: skip
def test_a_text_that_says_more_or_other_than_its_quote_has_a_reason(text, message, why):
    evidence = align_all([Quote(message)], [message])
    assert _refusal(evidence)[0] == ""
    reason = _unsupported(text, evidence, [message])
    assert bool(reason) == bool(why)
    assert why in reason


def test_several_quotes_state_a_text_together():
    messages = ["배포는 김민수가 한다.", "배포는 금요일에 한다."]
    both = align_all([Quote(text, place) for place, text in enumerate(messages)], messages)
    assert _unsupported("배포는 금요일에 김민수가 한다.", both, messages) == ""


def test_a_struck_out_quote_blocks():
    reason, failed = _refusal(
        align_all([Quote("연차는 20일을 준다")], ["~~연차는 20일을 준다~~ 15일"])
    )
    assert "struck_out" in reason
    assert len(failed) == 1
