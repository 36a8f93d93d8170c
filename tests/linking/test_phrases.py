import pytest

from gigamind.linking.anchors import fold
from gigamind.linking.candidates import _noun_runs


def found(text: str) -> list[str]:
    folded = fold(text)
    return [folded[start:end] for start, end in _noun_runs(folded)]


@pytest.mark.each(
    "text, expected",
    [
        ("벡터 검색으로 지식 그래프", ["벡터 검색", "검색", "지식 그래프", "그래프"]),
        ("지난 회의의 휴가 정책을", ["지난 회의", "회의", "휴가 정책", "정책"]),
        ("팀의 나이", ["팀", "나이"]), ("말까지 성동 인력", ["말", "성동 인력", "인력"]),
        ("set indents using the ruler", ["indents", "ruler"]),
        ("CI/CD pipelines of the payment team", ["ci/cd pipelines", "pipelines", "payment team", "team"]),
        ("the API의 한도", ["api", "한도"]), ("도면 측면", ["도면 측면", "측면"]),
        ("라면 서면 국면", ["라면 서면 국면", "서면 국면", "국면"]), ("2025 and 3", []),
        ("한도는 하루 12만 원", ["한도", "하루"]), ("2025년은 30과 40으로", ["2025년"]), ("", []),
    ],
)  # fmt: skip
def test_phrases_are_rows_of_nouns_without_particles(text, expected):
    assert found(text) == expected


def test_a_sentence_a_line_or_a_comma_ends_a_phrase():
    assert found("release plan. team budget\nnight shift, day shift") == [
        "release plan", "plan", "team budget", "budget", "night shift", "shift", "day shift", "shift",
    ]  # fmt: skip


def test_of_a_long_row_the_last_words_count():
    words = "alpha beta gamma delta epsilon zeta eta"
    assert found(words)[0] == "gamma delta epsilon zeta eta"
