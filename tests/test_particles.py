import pytest

from gigamind.text import ends_in_consonant, with_particle


@pytest.mark.each(
    "word, pair, expected",
    [
        ("프로젝트 구조", "이/가", "프로젝트 구조가"),
        ("결재 규정", "이/가", "결재 규정이"),
        ("휴가", "은/는", "휴가는"),
        ("환불 기준", "은/는", "환불 기준은"),
        ("배터리", "을/를", "배터리를"),
        ("배터리 교체 방법", "을/를", "배터리 교체 방법을"),
        ("日程", "이/가", "日程이(가)"),
        ("🙏", "을/를", "🙏을(를)"),
        ("", "은/는", "은(는)"),
    ],
)
def test_the_form_follows_the_last_sound(word, pair, expected):
    assert with_particle(word, pair) == expected


@pytest.mark.each(
    "digit, closed",
    # 영 일 이 삼 사 오 육 칠 팔 구
    [
        ("0", True),
        ("1", True),
        ("2", False),
        ("3", True),
        ("4", False),
        ("5", False),
        ("6", True),
        ("7", True),
        ("8", True),
        ("9", False),
    ],
)
def test_digits_are_read_in_korean(digit, closed):
    assert ends_in_consonant(f"제{digit}") is closed


@pytest.mark.parametrize("letter", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
def test_abbreviations_are_read_letter_by_letter(letter):
    assert ends_in_consonant(f"X{letter}") is (letter in "LMNR")


@pytest.mark.parametrize("word", ["email", "file", "time", "pipeline", "meeting", "web", "metric"])
@pytest.mark.parametrize("before", ["", "the "])
def test_latin_words_that_end_closed(word, before):
    assert ends_in_consonant(before + word) is True


@pytest.mark.each("word", ["map", "bot", "feedback", "app", "notebook", "Lock", "Markdown"])
def test_latin_words_that_stop_short_end_closed(word):
    assert ends_in_consonant(word) is True


@pytest.mark.each(
    "word",
    ["note", "test", "report", "server", "cloud", "release", "page", "link", "week", "policy"],
)
def test_latin_words_that_end_open(word):
    assert ends_in_consonant(word) is False


@pytest.mark.each(
    "word, closed",
    [
        ("경비 규정 (서울시)", True),  # the word before the bracket counts
        ("휴가 (연차)", False),
        ("(연차)", False),
        ("“휴가”", False),
        ("**기준**", True),
        ("90%", False),
        ("C++", False),
        ("v3", True),
        ("v2", False),
    ],
)
def test_signs_and_brackets_behind_a_word_are_not_heard(word, closed):
    assert ends_in_consonant(word) is closed
