import pytest

from gigamind.text import is_particle


def follows(text: str) -> bool:
    """Whether what follows "|" is a particle of the word before it."""
    word, rest = text.split("|")
    return is_particle(word, word + rest, len(word))


@pytest.mark.each(
    "text",
    [
        "결재 규정|은", "결재 규정|이", "결재 규정|을 따른다", "결재 규정|과", "결재 규정|으로", "결재 규정|이라고",
        "모아 재배치|는", "모아 재배치|가", "모아 재배치|를", "모아 재배치|와", "모아 재배치|로", "모아 재배치|라고",
        "모아 재배치|에서는", "모아 재배치|까지도", "모아 재배치|의.", "모아 재배치|부터", "모아 재배치|처럼,",
        "결재 규정|에서만은", "결재 규정|입니다", "결재 규정|으로부터", "정류소|들이",
        "서울|로", "RAG|의", "RAG|는", "RAG|은",
    ],
)  # fmt: skip
def test_particles_that_agree_end_a_name(text):
    assert follows(text)


@pytest.mark.each(
    "text",
    [
        "회의|적인", "규칙|가", "규칙|가를", "결재 규정|는", "결재 규정|가", "결재 규정|로", "모아 재배치|은",
        "모아 재배치|을", "모아 재배치|으로", "서울|으로", "안전|점검", "의|사", "배터리|는지", "배터리|x",
        "배터리|는2", "가지|고", "가지|며", "배포|하고",
    ],
)  # fmt: skip
def test_letters_that_are_no_particle_or_do_not_agree_go_on_the_word(text):
    assert not follows(text)
