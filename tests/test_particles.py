import pytest

from gigamind.i18n import _with_particles, ends_in_consonant, with_particle


@pytest.mark.each(
    "word, pair, expected",
    [
        ("프로젝트 구조", "이/가", "프로젝트 구조가"), ("결재 규정", "이/가", "결재 규정이"),
        ("휴가", "은/는", "휴가는"), ("환불 기준", "은/는", "환불 기준은"), ("배터리", "을/를", "배터리를"),
        ("배터리 교체 방법", "을/를", "배터리 교체 방법을"), ("日程", "이/가", "日程이(가)"),
        ("🙏", "을/를", "🙏을(를)"), ("", "은/는", "은(는)"),
    ],
)  # fmt: skip
def test_the_form_follows_the_last_sound(word, pair, expected):
    assert with_particle(word, pair) == expected


@pytest.mark.each("digit", "0123456789")  # 영 일 이 삼 사 오 육 칠 팔 구
def test_digits_are_read_in_korean(digit):
    assert ends_in_consonant(f"제{digit}") is (digit in "013678")


@pytest.mark.each("letter", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
def test_abbreviations_are_read_letter_by_letter(letter):
    assert ends_in_consonant(f"X{letter}") is (letter in "LMNR")


@pytest.mark.each(
    "word",
    [
        "email", "file", "time", "pipeline", "meeting", "web", "metric", "the email", "the metric",
        "map", "bot", "feedback", "app", "notebook", "Lock", "Markdown",  # they stop short
        "경비 규정 (서울시)", "**기준**", "v3",  # signs and what is in brackets are not heard
    ],
)  # fmt: skip
def test_words_that_end_closed(word):
    assert ends_in_consonant(word) is True


@pytest.mark.each(
    "word",
    [
        "note", "test", "report", "server", "cloud", "release", "page", "link", "week", "policy",
        "휴가 (연차)", "(연차)", "“휴가”", "90%", "C++", "v2",
    ],
)  # fmt: skip
def test_words_that_end_open(word):
    assert ends_in_consonant(word) is False


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("노트이(가) 없음", "노트가 없음"), ("'vault'을(를) 보십시오", "'vault'를 보십시오"),
        ("3은(는) 4과(와) 다름", "3은 4와 다름"),
    ],
)  # fmt: skip
def test_a_particle_fits_the_sound_before_it(text, told):
    assert _with_particles(text) == told


@pytest.mark.each("digit", "0123456789")
def test_what_was_and_what_leads_there_fit_a_figure(digit):
    before = _with_particles("이었(였)으나", f"0.838{digit}")
    assert before == f"0.838{digit}{'이었' if digit in '013678' else '였'}으나"
    whither = _with_particles(f"0.838{digit}으로(로)")
    assert (
        whither == f"0.838{digit}{'으로' if digit in '036' else '로'}"
    )  # after ㄹ as after a vowel


@pytest.mark.each(
    "word, particle",
    [
        *((word, "로") for word in ("서울", "파일", "배터리", "메일", "HTML", "file", "runs/v2")),
        *((word, "으로") for word in ("규정", "부산", "RAM", "time")),
    ],
)
def test_a_word_that_ends_in_l_leads_there_as_one_that_ends_in_a_vowel(word, particle):
    assert with_particle(word, "으로/로") == word + particle
