import unicodedata

import pytest

from gigamind.memory.extract import _extraction_prompt, _prompt


@pytest.mark.parametrize(
    ("language", "asked"), [("ko", "30~200자"), ("en", "30 to 200 characters")]
)
def test_the_task_stands_before_the_messages_and_again_after_them(language, asked, key, session_of):
    system, user = (
        one["content"] for one in _extraction_prompt(session_of("가", "나", "다"), key, language)
    )

    after = user.rpartition("</message-")[2]
    assert asked in system
    assert asked in after
    assert "messageIndex" in system
    assert "messageIndex" in after
    assert {"ko": "0부터 2까지", "en": "0 to 2"}[language] in after


@pytest.mark.parametrize(
    ("content", "language"),
    [
        ("가 abcd", "ko"),  # one letter of five
        ("가 abcde", "en"),  # one of six
        ("휴가는 팀장에게 신청한다.", "ko"),
        (unicodedata.normalize("NFD", "휴가"), "ko"),
        ("The deploy runs every Friday.", "en"),
        ("123 !?", "en"),
        ("", "en"),
    ],
)
def test_the_prompt_speaks_korean_from_a_fifth_of_hangul_on(content, language, session_of):
    session = session_of(content)
    assert _prompt(session, "auto").text == _prompt(session, language).text
