import pytest

from gigamind.evidence.align import align_all
from gigamind.evidence.result import Quote
from gigamind.memory.entries import Blocked, decide

SOURCE = (
    "승인은 팀장 검토 후 진행된다. 이 설정은 운영 환경에서 절대 활성화하지 않는 것을 권장합니다."
)


def decision(*quotes):
    return decide(align_all([Quote(text) for text in quotes], [SOURCE]))


def test_an_entry_with_proven_quotes_is_promoted():
    assert decision("승인은 팀장 검토 후", "운영 환경에서") is None


def test_an_entry_without_evidence_is_blocked():
    assert decision() == Blocked("Evidence alignment failed: the entry has no evidence.", ())


def test_one_quote_that_is_not_found_blocks_and_is_named():
    assert decision("승인은 팀장 검토 후", "없는 말") == Blocked(
        "Evidence alignment failed: 1 of 2 quotes not found (quote_too_short_for_fuzzy).",
        ("없는 말",),
    )


@pytest.mark.parametrize(
    ("quote", "doubt"),
    [
        (
            "이 설정은 운영 환경에서 절대 활성화하는 것을 권장합니다.",
            "a quote differs from its source in negation",
        ),
        (
            "승인은 팀장 검토 후 진행한다.",
            "a quote that only resembles its source is too short to prove anything",
        ),
    ],
)
def test_a_quote_that_proves_too_little_blocks(quote, doubt):
    assert decision(quote, "승인은") == Blocked(f"Evidence alignment failed: {doubt}.", (quote,))
