"""A line of sources names notes, and states nothing."""

import pytest

from gigamind.judges.search_qa.segments.citations import heads_sources, is_sources_line, is_title

SOURCES = [
    "출처: 노트 1",
    "출처: 휴가 규정",
    "출처:",
    "Sources:",
    "Sources: Leave policy, Refund policy",
    "참고: 노트 1, 노트 2",
    "노트 1",
    "출처: 휴가규정_2024.md",
    "출처: [[휴가 규정 2024]]",
    "출처: 노트 1 (휴가 규정)",
    "References: Note 1, Note 2",
    "Source: Leave policy",
    "근거: 노트 1",
    "**출처**: 노트 1",
    "(출처: 휴가 규정)",
    "Reference: Refund guide and FAQ",
    "출처: 「휴가 규정」, 「환불 정책」",
]
FACTS = [
    "출처: 환불은 90일",
    "참고: 환불 불가",
    "출처: 환불 불가",
    "근거: 무료",
    "Source: refunds are free",
    "Note: refunds take 90 days.",
    "노트 1에 환불",
    "출처: 담당자는 김하나",
    "See the map",
    "참고: 휴가 규정",
    "Sources: no refunds",
    "출처를 밝힌다",
    "노트 90일",
    "출처: 김하나가 승인했다",
]


@pytest.mark.each("text, expected", [*((t, True) for t in SOURCES), *((t, False) for t in FACTS)])
def test_a_line_of_sources_names_notes_by_number_or_title_and_states_no_fact(text, expected):
    assert is_sources_line(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("출처:", True), ("**Sources**", True), ("References", True), ("참고 노트", True)),
        *(("참고:", False), ("근거", False), ("출처: 노트 1", False), ("Source code", False)),
    ],
)
def test_only_some_labels_stand_over_titles(text, expected):
    assert heads_sources(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            ("휴가 규정", True),
            ("[1] 휴가 규정", True),
            ("휴가_2024.md", True),
            ("[[예산 2024]]", True),
        ),
        *(
            ("예산 2024", False),
            ("환불은 무료", False),
            ("환불 불가", False),
            ("Refunds are free", False),
        ),
        *(("a b c d e f g h", True), ("a b c d e f g h i", False)),
    ],
)
def test_a_title_is_a_few_words_without_a_number_of_their_own(text, expected):
    assert is_title(text) is expected
