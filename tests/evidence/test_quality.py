import pytest

from gigamind.evidence.align import align_all
from gigamind.evidence.quality import AlignmentQuality, quality
from gigamind.evidence.result import Quote

SOURCE = "삭제한 노트는 휴지통에 30일 동안 보관한 다음 완전히 지운다. 네. 네.\nabcdefghijklmnopqrst"


def test_the_rates_are_shares_of_all_quotes():
    quotes = [
        "휴지통에",  # exact
        "네.",  # exact, ambiguous
        "삭제한  노트는",  # normalised
        "삭제한 노트는 휴지통에 90일 동안 보관한 다음",  # fuzzy, critical
        "삭제한 노트를 휴지통에 30일 동안 보관한 다음",  # fuzzy
        "abcdefghijklmnopWXYZ",  # near miss
        "어디에도 없는 말",
        "",
    ]
    result = align_all([Quote(text) for text in quotes], [SOURCE])
    assert quality(result.records([SOURCE])) == AlignmentQuality(
        quotes=8, exact=2 / 8, normalized=1 / 8, fuzzy=2 / 8, failed=3 / 8, near_miss=1 / 8,
        ambiguous=1 / 8, critical=1 / 8,
    )  # fmt: skip


@pytest.mark.parametrize("outcomes", [(), []])
def test_without_quotes_there_are_no_rates(outcomes):
    assert quality(outcomes) is None
