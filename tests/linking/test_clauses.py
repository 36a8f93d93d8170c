import pytest

from gigamind.linking.phrases import is_clause
from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.spans import Span
from gigamind.vault.identity import Identities


def judged(marked: str) -> bool:
    """Of the words in brackets."""
    before, words, after = marked.replace("]", "[").split("[")
    return is_clause(before + words + after, Span(len(before), len(before) + len(words)))


@pytest.mark.parametrize(
    "marked",
    [
        "휴직을 [시작하기] 30일 전까지 말한다.", "(휴직)을 [시작하기] 한 달 전에",
        "[설치하기] 전에 읽는다.", "서버를 [배포하기] 직전에는", "설정을 [초기화하기]\n전에", "API를 [연동하기] 때문에",
        "문서를 [편집하기] 시작했다.", "일정을 [공유하기] 위해", "그림을 [그리기] 위한 도구", "계정을 [삭제하기] 전",
    ],
)  # fmt: skip
def test_a_verb_of_a_clause_is_told(marked):
    assert judged(marked)


@pytest.mark.parametrize(
    "marked",
    [
        # a name behind an object: in a place, of a page, at the end, before what only begins like 전
        "방법을 [시작하기]에서 본다.", "내용을 [시작하기] 문서에 적었다.", "먼저 [시작하기]를 읽는다.", "[시작하기]",
        "설정을 [공유하기] 전환 단추로", "메뉴의 [공유하기] 위에", "[시작하기] 위험 요소",
        # no object: 을 ends 마을, and nothing stands before
        "마을 [소개하기] 30일 전", "[소개하기] 30일 전", "[배포하기] 시작하면",
        # a sentence has ended between
        "설정을 [공유하기]. 30일 전에", "설정을 [공유하기] 끝. 전에",
        # nouns, which the same words may follow
        "보고서를 [2분기] 전까지 낸다.", "글꼴을 [크기] 때문에", "휴직을 [시작] 30일 전까지", "내용을 [바꾸기] 전에",
    ],
)  # fmt: skip
def test_a_name_is_no_clause(marked):
    assert not judged(marked)


def test_the_verb_of_a_clause_is_no_place_for_a_link(vault_of):
    notes = {
        "시작하기.md": "[[휴직]]",
        "휴직.md": "휴직을 시작하기 30일 전까지 알린다.",
        "온보딩.md": "휴직을 시작하기 전에 시작하기를 읽는다.",
    }
    vault = vault_of(notes)
    suggester = LinkSuggester(vault, Identities(vault.notes))
    found = {
        note.path: [
            (one.anchor, one.span.start)
            for one in suggester.suggest(note, SuggestOptions(min_confidence=0.0))
            if one.target == "시작하기.md"
        ]
        for note in vault.notes
    }
    assert found == {"시작하기.md": [], "휴직.md": [], "온보딩.md": [("시작하기", 12)]}
