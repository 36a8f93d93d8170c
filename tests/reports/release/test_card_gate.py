import pytest

from gigamind.reports.judged import JudgeReport
from gigamind.reports.release.compare import compare
from gigamind.reports.release.gates import judge_release
from gigamind.reports.release.policy import Policy, read_policy

JUDGE = JudgeReport(kind="llm", file="judges/j.toml", fingerprint="f", model="openai/x")


def policy(cards):
    content = read_policy(None, "ga").model_dump(by_alias=True)
    return Policy.model_validate(content | {"quality": content["quality"] | {"cards": cards}})


@pytest.mark.parametrize(
    ("cards", "verdict"), [("require", "failed"), ("warn", "warned"), ("ignore", "passed")]
)
def test_a_model_judge_without_a_card_is_what_the_policy_makes_of_it(snapshot, cards, verdict):
    run = snapshot({f"q{n}": 1 for n in range(10)})
    gate = judge_release(compare(run, run), policy(cards), "ga", judge=JUDGE)
    assert gate.verdict == verdict
    assert [rule.metric for rule in gate.rules][-1] == "judge_card"


def test_a_judge_that_asks_no_model_needs_no_card(snapshot):
    run = snapshot({f"q{n}": 1 for n in range(10)})
    judge = JUDGE.model_copy(update={"model": None})
    gate = judge_release(compare(run, run), policy("require"), "ga", judge=judge)
    assert gate.verdict == "passed"
