"""What the gates ask of a judge card, from a policy file to a row of compare.md."""

import pytest
from gate_policy import POLICY, policy_of
from judge_cards import JUDGE, judge_card
from snapshots import snapshot

from gigamind.errors import InputError
from gigamind.records.card import CardRequirements, CheckedCard
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.policy import Policy, Release, rule_label
from gigamind.release.shortfall import _required_scales, card_rule
from gigamind.reports.comparison import release_document
from gigamind.reports.document import Conditions, Proportion, Result, Table

POOR = judge_card(kappa=(0.0, -0.1, 0.12))


def policy(cards="require", phase=None, **card):
    content = Policy.read(None).model_dump(by_alias=True, exclude_unset=True)
    content["quality"] |= {"cards": cards}
    content["card"] |= card
    content["phases"]["ga"] |= {"card": phase} if phase else {}
    return Policy.model_validate(content)


def gate(held, rules, phase="ga", languages=("en",), judge=JUDGE):
    """The verdict on an unchanged run, with that card, and the comparison."""
    run = snapshot({f"q{n}": 1 for n in range(10)})
    compared = compare(run, run)
    found = judge_release(compared, rules, phase, judge=judge, card=held, languages=languages)
    return found, compared


@pytest.mark.parametrize(
    ("cards", "verdict"), [("require", "failed"), ("warn", "warned"), ("ignore", "passed")]
)
@pytest.mark.parametrize(
    ("held", "judge", "why"),
    [
        (None, {}, ()), (judge_card(), {"fingerprint": "f2"}, ("f1", "f2")),
        (judge_card(), {"model": "openai/y"}, ("openai/x", "openai/y")),
        (POOR, {}, ("0.000 (95% CI −0.100 – 0.120)", "100", "0.400")),
        (judge_card(kappa=(None, None, None)), {}, ()), (judge_card(labels=29), {}, ("29", "30")),
    ],
    ids=["none", "another judge", "another model", "supports everything", "one label", "few"],
)  # fmt: skip
def test_a_model_judge_without_a_card_that_shows_enough_is_what_the_policy_makes_of_it(
    cards, verdict, held, judge, why
):
    found, _ = gate(held, policy(cards), judge=JUDGE.model_copy(update=judge))
    rule = found.rules[-1]
    assert (found.verdict, rule.metric) == (verdict, "judge_card")
    assert all(part in rule.explanation for part in why)
    assert ("gigamind judge certify" in rule.explanation) is (cards != "ignore")


@pytest.mark.parametrize("cards", ["require", "warn", "ignore"])
def test_a_card_that_shows_enough_passes(cards):
    found, _ = gate(judge_card(), policy(cards))
    rule = found.rules[-1]
    assert (found.verdict, rule.status, rule.scale) == ("passed", "passed", "unanswerable")
    assert (rule.current, rule.low, rule.high, rule.n, rule.limit) == (0.6, 0.5, 0.7, 100, 0.4)


def test_a_judge_that_no_gated_metric_rests_on_is_not_called_certified():
    rule = card_rule(CheckedCard(POOR, CardRequirements(), (), ("en",)), JUDGE, "require")
    assert rule.status == "passed"
    assert "certified" not in rule.explanation


def test_a_language_of_the_run_without_labels_stops_a_release():
    assert gate(judge_card(), policy(), languages=("en", "ko"))[0].verdict == "failed"


def test_a_judge_that_asks_no_model_needs_no_card():
    judge = JUDGE.model_copy(update={"model": None})
    assert gate(None, policy(), judge=judge)[0].verdict == "passed"


@pytest.mark.parametrize(
    ("held", "row"),
    [
        (judge_card(), (Proportion(0.6), "≥ 0.400", Result("passed"))),
        (POOR, (Proportion(0.0), "≥ 0.400", Result("failed"))),
        (judge_card(kappa=(None, None, None)), None),  # without a value the condition says why
        (None, None),
    ],
    ids=["enough", "supports everything", "one label", "none"],
)
def test_the_row_of_the_gate_shows_agreement_and_limit(held, row):
    rules, compared = gate(held, policy())
    document = release_document(Release(comparison=compared, gate=rules))
    rows = [
        cells
        for block in document.blocks
        if isinstance(block, Table)
        for cells in block.rows
        if cells[0] == rule_label("judge_card")
    ]
    assert [(cells[2], *cells[4:]) for cells in rows] == ([row] if row else [])


def test_why_a_judge_report_is_not_enough_is_a_condition_of_the_first_screen():
    rules, compared = gate(POOR, policy("warn"), languages=("en", "ko"))
    document = release_document(Release(comparison=compared, gate=rules)).only()
    assert document.verdict.state == "warning"
    (conditions,) = (block for block in document.blocks if isinstance(block, Conditions))
    ((state, text),) = conditions.items
    assert state == "warning"
    for part in ("0.000 (95% CI −0.100 – 0.120)", "100", "0.400", "Korean"):
        assert part in text


def test_the_card_table_decides_and_a_phase_may_ask_for_more():
    strict = policy(phase={"min_labels": 101})
    assert gate(judge_card(), strict, "beta")[0].verdict == "passed"
    assert gate(judge_card(), strict, "ga")[0].verdict == "failed"
    assert strict.card_requirements("ga") == CardRequirements(min_labels=101)
    lax = policy(phase={"min_labels": 1}, min_agreement=0.0)
    poor = judge_card(kappa=(0.1, 0.0, 0.2), labels=12)
    assert gate(poor, lax, "ga")[0].verdict == "passed"
    assert gate(poor, lax, "beta")[0].verdict == "failed"
    assert lax.card_requirements("ga") == CardRequirements(min_labels=1, min_agreement=0.0)


def test_the_file_that_comes_with_gigamind_says_every_default():
    written = Policy.read(None).card
    assert written == CardRequirements()
    assert written.model_fields_set == set(CardRequirements.model_fields)


@pytest.fixture
def written(tmp_path):
    """Reads a policy whose table `card` is that text; "" for a file without one."""
    return lambda text: policy_of(tmp_path, POLICY + text)


def test_a_file_from_before_there_were_requirements_has_the_defaults(written):
    assert written("").card_requirements("ga") == CardRequirements()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[card]\nmin_label = 3", "card.min_label: "),
        ("[card]\nmin_agreement = 1.1", "card.min_agreement: "),
        ("[card]\nmax_attack_rate = nan", "card.max_attack_rate: "),
        ("[card]\nmin_labels = -1", "card.min_labels: "),
        ("[phases.ga.card]\nflips = 1", "phases.ga.card.flips: "),
    ],
)
def test_an_unknown_or_impossible_requirement_is_an_error_that_names_it(written, text, named):
    with pytest.raises(InputError, match=r"gates\.toml") as caught:
        written(text)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("metrics", "task", "scales"),
    [
        (["unanswerable.f1", "unanswerable.far", "search.mrr"], "search", (("unanswerable",),)),
        (["search.mrr"], "search", ()),
        (
            ["answers.correctness", "answers.utility"],
            "answers",
            (("correctness", "supported"), ("utility",)),
        ),
        (["answers.contradiction", "quality.pass_rate"], "answers", (("correctness", "supported"),)),
        (["quality.pass_rate", "unanswerable.f1"], "answers", ()),
        (["links.recall_at_5"], "links", ()),
    ],
)  # fmt: skip
def test_only_scales_that_gated_metrics_of_the_task_rest_on_are_asked_for(metrics, task, scales):
    content = policy().model_dump(by_alias=True)
    content["quality"] |= {"metrics": metrics, "judged": []}
    assert _required_scales(Policy.model_validate(content), task) == scales
