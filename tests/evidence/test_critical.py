import pytest

from gigamind.evidence.critical import are_opposed, differences


@pytest.mark.each(
    "quote, found, expected",
    [
        ("30일 안에 지운다", "90일 안에 지운다", ("number",)),
        ("3.5초 걸린다", "35초 걸린다", ("number",)), ("10² 미터", "10³ 미터", ("number",)),
        ("먼저 3개, 다음 5개", "먼저 5개, 다음 3개", ("number",)),  # the order counts
        ("켜지지 않는다", "켜지는 편이다", ("negation",)),
        ("결과가 없다", "결과가 있다", ("negation",)), ("안 쓴다", "꼭 쓴다", ("negation",)),
        ("집 안을 본다", "집 밖을 본다", ()), ("저장하지 마세요", "저장하고 가세요", ("negation",)),
        ("지우지 않을 수 없다", "지우지 않을 수 있다", ("negation",)),  # two of them, and one
        ("it must not run", "it must now run", ("negation",)),
        ("it doesn't run", "it does run", ("negation",)),
        ("a notable case", "an able case", ()),  # "not" is a word here, not letters
        ("활성화한다", "비활성화한다", ("polarity",)),
        ("사용 가능", "사용 불가능", ("negation", "polarity")),
        ("수요가 증가했다", "수요가 감소했다", ("polarity",)),
        ("the enabled flag", "the disabled flag", ("polarity",)),
        ("5건 이상", "5건 이하", ("polarity",)), ("address of a", "address of b", ()),
        ("노트를 저장한다", "노트를 보관한다", ()),
    ],
)  # fmt: skip
def test_what_turns_a_statement_round_is_named(quote, found, expected):
    assert differences(quote, found) == expected
    assert differences(found, quote) == expected


@pytest.mark.each(
    "statement, found, expected",
    [
        ("비밀번호는 12자 이하다", "비밀번호는 12자 이상이어야 한다", True),
        ("비밀번호는 12자 이상이다", "비밀번호는 12자 이상이어야 한다", False),
        ("비밀번호는 12자 이상이다", "비밀번호는 12자를 초과해야 한다", False),  # no opposites
        ("closed before the sale", "closed after the sale", True),
        ("fees increase", "fees decreased", True),
        ("closed before and after the sale", "closed after the sale", False),
    ],
)
def test_what_speaks_against_a_statement_in_other_words_is_named(statement, found, expected):
    assert are_opposed(statement, found) is expected
    assert are_opposed(found, statement) is expected
