import pytest

from gigamind.errors import InputError
from gigamind.judges.search_qa.judge import SearchQAJudgeFile, _load_search_qa_judge
from gigamind.judges.search_qa.reply import RULES, SearchQAReply
from gigamind.judges.spec import load_llm_judge

GIVEN = ("nonce", "notes", "question", "answer", "ids", "part")


def test_the_rules_in_code_are_part_of_the_fingerprint(judge_file):
    path = judge_file(second_look="never")
    without = load_llm_judge(path, "ko", SearchQAJudgeFile, SearchQAReply, GIVEN)
    judge = _load_search_qa_judge(path, "ko")
    parts = (without.fingerprint, f"rules {RULES}")
    assert judge.fingerprint == judge.file.fingerprint_with(*parts) != without.fingerprint


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"claims_per_call": 0}, "claims_per_call"),
        ({"second_look": "maybe"}, "second_look: .*doubtful.*never"),
        ({"max_claim": 3}, "max_claim.*max_claims"),
        ({"panel": ["a", "b"]}, "panel"),
    ],
)
def test_a_judge_file_that_says_something_else_is_refused(judge_file, fields, message):
    with pytest.raises(InputError, match=message):
        _load_search_qa_judge(judge_file(**fields), "en")
