import textwrap
import unicodedata

import pytest

from gigamind.vault.language import known_language, note_language, question_language, text_language
from gigamind.vault.notes import Vault


@pytest.mark.each(
    "text, expected",
    [
        ("한국어", "ko"),
        ("가 is", "ko"),  # a third of the letters
        ("가 is a", "en"),
        ("deploy", "en"),
        ("12 + 3", "en"),
        ("", "en"),
        (unicodedata.normalize("NFD", "가 is"), "ko"),
    ],
)
def test_a_third_of_hangul_makes_a_text_korean(text, expected):
    assert text_language(text) == expected


@pytest.mark.each(
    "question, expected",
    [
        ("package-lock.json은 뭐에 쓰나요?", "ko"), ("npm dist-tag add란 무엇인가요?", "ko"),
        ("OAuth refresh token 만료 시간은?", "ko"),
        ("OAuth access token expiry time policy 만료 ?", "ko"),  # the last word
        ("GitHub 조직 repository transfer?", "en"),  # one word of four, and not the last
        ("GitHub 조직 repository?", "ko"),  # one of three
        ("연차는 며칠인가요?", "ko"), ("What is 휴가?", "en"), ("What does 휴가 규정 say?", "en"),
        ("Where is the 신청서?", "en"), ("How many days of leave?", "en"), ("?", "en"), ("", "en"),
        (unicodedata.normalize("NFD", "pull request 리뷰 규칙은?"), "ko"),
    ],
)  # fmt: skip
def test_a_question_is_korean_by_its_words(question, expected):
    assert question_language(question) == expected


def test_the_frontmatter_decides_where_it_says_something(tmp_path):
    (tmp_path / "a.md").write_text("---\nlang: EN-us\n---\n한국어", encoding="utf-8")
    (tmp_path / "b.md").write_text("---\ntitle: some English title\n---\n한국어", encoding="utf-8")
    assert [note_language(note) for note in Vault.read(tmp_path).notes] == ["en", "ko"]


@pytest.mark.each(
    "text, language",
    [
        ("Which composer wrote the opera?", "en"),
        ("Wie viele Punkte gab die Verteidigung ab?", "de"),
        ("¿Cuántos puntos dio la defensa?", "es"), ("RAG 시스템의 embedding 모델은?", "ko"),
        ("Combien de points la défense a-t-elle cédés ?", None),
        ("Hoeveel punten gaf de verdediging op?", None), ("日本語のテキスト", None),
        ("Qdrant Edge 0.8", None), ("", None),
    ],
)  # fmt: skip
def test_function_words_tell_a_known_language_and_nothing_is_guessed(text: str, language: str):
    assert known_language(text) == language


CODE = (
    "```python\nclass Retriever:\n    def search(self, query): return self.index.search(query)\n```"
)
KOREAN_CODE = "```python\n# 이 주석은 아주 길고 본문보다 한글이 훨씬 더 많습니다\n```"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"먼저 설치합니다.\n\n{CODE}", "ko"),
        (f"- 명령을 실행한다.\n\n{textwrap.indent(CODE, '  ')}", "ko"),
        ("`GIGAMIND_REPORTS_URL`과 `PREFECT_SERVER_API_PORT`로 바꾼다.", "ko"),
        ("https://docs.example.com/reference/configuration/index.html 참고", "ko"),
        ("[여기](https://docs.example.com/reference/configuration.html)에 있다.", "ko"),
        ("[[Knowledge Graph Design Document]]와 [[projects/gigamind]] 참고", "ko"),
        ('<div class="container">markup of a page</div>\n\n한국어 문장.', "ko"),
        ("%% a comment that nobody reads %%\n한국어 문장.", "ko"),
        (f"Install it first.\n\n{KOREAN_CODE}", "en"),
        ("See [[휴가 규정]] and [[경비 규정 (서울)]] for leave.", "en"),
        ("See [[policies/leave|휴가 규정]] on it.", "ko"),  # what the reader sees
        (KOREAN_CODE, "ko"),  # nothing else tells
    ],
)
def test_the_language_of_a_note_is_that_of_its_prose(text, expected, tmp_path):
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    [note] = Vault.read(tmp_path).notes
    assert note_language(note) == expected
