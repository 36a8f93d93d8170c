"""The earlier text of 000: document 002."""

from demands import commands, datasets, links, metrics, release, tree
from demands.model import Option, Repeats, Row, Section, row

# Lines of 002, the first and the last, that 000 repeats from a line on.
_REPEATED = {
    (10, 13): 23, (26, 39): 41, (42, 46): 58, (56, 58): 72, (60, 60): 76, (70, 72): 89,
    (81, 84): 127, (87, 91): 133, (102, 105): 165, (108, 110): 171, (119, 119): 182,
    (121, 121): 183, (124, 124): 187, (132, 135): 254, (136, 136): 306, (139, 139): 258,
    (143, 146): 425, (152, 157): 459, (160, 163): 467, (172, 176): 479, (177, 177): 485,
    (181, 183): 489, (194, 194): 621, (201, 202): 628, (205, 205): 632, (212, 213): 639,
    (215, 215): 642,
}  # fmt: skip
_LATER = {
    line: row.says
    for module in (tree, commands, datasets, metrics, release, links)
    for section in module.SECTIONS
    for row in section.rows
    for line in row.lines
}


def _repeated() -> tuple[Row, ...]:
    """Rows of 002 with the quotes of 000."""
    return tuple(
        row(line, _LATER[there + line - first], Repeats("000", there + line - first))
        for (first, last), there in _REPEATED.items()
        for line in range(first, last + 1)
    )


SECTIONS = (
    Section(
        "002",
        "all",
        (
            *_repeated(),
            row(
                59,
                "`--no-graph-rerank`: 그래프 리랭킹 비활성화",
                Option("eval search", "--graph-rerank", default=False),
            ),
            row(
                138,
                "Top-1 score < minScore 또는 “없음” 판정 메시지",
                "judges/test_threshold.py::test_a_query_is_unanswerable_strictly_below_the_threshold",
                "judges/test_unanswerable_llm.py::test_an_unanswerable_needs_no_proof",
            ),
            row(
                (189, 190, 191, 192),
                "Hit@3 하락 > 5pp → 회귀 … MRR 하락 > 0.05 → 회귀 … p95 latency 증가 > 0.5s → 회귀 … Precision@5 하락 > 5pp → 회귀",
            ),
        ),
    ),
)
