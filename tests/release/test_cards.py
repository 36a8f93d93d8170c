from dataclasses import replace

import pytest
from judge_cards import JUDGE, judge_card

from gigamind.records.card import CardFigure, CardRequirements, CheckedCard
from gigamind.release.shortfall import card_rule

POLICIES = [("require", "failed"), ("warn", "warned"), ("ignore", "skipped")]


def held(kappa=(0.6, 0.5, 0.7), languages=("en",)):
    """A card of 120 English labels, half of them yes."""
    classes = CardFigure(value=0.9, low=0.8, high=1.0, n=60)
    card = judge_card(kappa, 120, sensitivity=classes, specificity=classes)
    return CheckedCard(card, CardRequirements(), (("unanswerable",),), languages)


@pytest.mark.parametrize("policy", ["require", "warn", "ignore"])
def test_a_card_that_shows_enough_passes_under_any_policy(policy):
    rule = card_rule(held(), JUDGE, policy)
    assert rule.status == "passed"
    assert "0.600 (95% CI 0.500 – 0.700)" in rule.explanation
    assert (rule.scale, rule.current, rule.low, rule.high, rule.n) == (
        "unanswerable",
        0.6,
        0.5,
        0.7,
        120,
    )
    assert rule.limit == 0.4


@pytest.mark.parametrize(("policy", "status"), POLICIES)
@pytest.mark.parametrize(
    ("card", "judge", "why"),
    [
        (None, {}, ()), (held(), {"fingerprint": "f2"}, ("f1", "f2")),
        (held(), {"model": "openai/y"}, ("openai/x", "openai/y")),
    ],
    ids=["none", "another judge", "another model"],
)  # fmt: skip
def test_without_a_valid_card_the_policy_decides(policy, status, card, judge, why):
    rule = card_rule(card, JUDGE.model_copy(update=judge), policy)
    assert rule.status == status
    assert all(part in rule.explanation for part in why)
    assert ("gigamind judge certify" in rule.explanation) is (policy != "ignore")
    assert (rule.current, rule.limit, rule.n) == (None, None, None)


@pytest.mark.parametrize(("policy", "status"), POLICIES)
def test_a_card_that_shows_too_little_is_as_good_as_none(policy, status):
    rule = card_rule(held((0.0, -0.1, 0.12), ("en", "ko")), JUDGE, policy)
    assert rule.status == status
    for part in ("0.000 (95% CI −0.100 – 0.120)", "120", "0.400", "Korean"):
        assert part in rule.explanation
    assert ("gigamind judge certify" in rule.explanation) is (policy != "ignore")
    assert (rule.current, rule.low, rule.high, rule.n, rule.limit) == (0.0, -0.1, 0.12, 120, 0.4)


def test_a_judge_that_no_gated_metric_rests_on_is_not_called_certified():
    rule = card_rule(replace(held((0.0, -0.1, 0.1)), required_scales=()), JUDGE, "require")
    assert rule.status == "passed"
    assert "certified" not in rule.explanation
