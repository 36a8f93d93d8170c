import pytest

from gigamind.reports.cards.schema import CardLabels, JudgeCard
from gigamind.reports.judged import JudgeReport
from gigamind.reports.release.cards import card_rule

CARD = JudgeCard(
    created_at="2026-11-22T01:00:00+00:00",
    app_version="0.1.0",
    seed=42,
    task="search",
    dataset="q.jsonl",
    dataset_hash="d",
    judge=JudgeReport(kind="llm", file="judges/j.toml", fingerprint="f1", model="openai/x"),
    labels=CardLabels(source="file", name="l.jsonl", sha256="a", count=120, unscored=0),
    runs=("r",),
    scales=(),
)
POLICIES = [("require", "failed"), ("warn", "warned"), ("ignore", "skipped")]


@pytest.mark.parametrize("policy", ["require", "warn", "ignore"])
def test_a_valid_card_passes_under_any_policy(policy):
    rule = card_rule(CARD, "f1", "openai/x", policy)
    assert rule.status == "passed"
    assert rule.explanation == "judge_card: certified on 2026-11-22 with 120 labels."


@pytest.mark.parametrize(("policy", "status"), POLICIES)
@pytest.mark.parametrize(
    ("card", "fingerprint", "model", "why"),
    [
        (None, "f1", "openai/x", "the judge has no card"),
        (CARD, "f2", "openai/x", "its card is of another judge (f1, and the run's is f2)"),
        (CARD, "f1", "openai/y", "its card is of the model openai/x, and the run asked openai/y"),
    ],
    ids=["none", "another judge", "another model"],
)
def test_without_a_valid_card_the_policy_decides(policy, status, card, fingerprint, model, why):
    rule = card_rule(card, fingerprint, model, policy)
    assert rule.status == status
    assert rule.explanation.startswith(f"judge_card: {why}")
    assert ("gigamind judge certify" in rule.explanation) is (policy != "ignore")
