import unicodedata

import pytest

from gigamind.vault.language import known_language, note_language, text_language
from gigamind.vault.notes import read_vault


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


def test_the_frontmatter_decides_where_it_says_something(tmp_path):
    (tmp_path / "a.md").write_text("---\nlang: EN-us\n---\n한국어", encoding="utf-8")
    (tmp_path / "b.md").write_text("---\ntitle: some English title\n---\n한국어", encoding="utf-8")
    assert [note_language(note) for note in read_vault(tmp_path).notes] == ["en", "ko"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which composer wrote the opera?", "en"),
        ("Wie viele Punkte gab die Verteidigung ab?", "de"),
        ("¿Cuántos puntos dio la defensa?", "es"),
        ("RAG 시스템의 embedding 모델은?", "ko"),
        ("Combien de points la défense a-t-elle cédés ?", None),
        ("Hoeveel punten gaf de verdediging op?", None),
        ("日本語のテキスト", None),
        ("Qdrant Edge 0.8", None),
        ("", None),
    ],
)
def test_function_words_tell_a_known_language_and_nothing_is_guessed(text: str, language: str):
    assert known_language(text) == language
