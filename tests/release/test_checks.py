"""The checklist beside an evaluation of answers, in comparisons and gates."""

import gate_policy
import pytest
from gate_policy import rule_of
from message_values import values_of
from snapshots import answers

from gigamind.records.judged import JudgeReport
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.policy import Policy, Release, rule_label
from gigamind.reports.comparison import release_document
from gigamind.reports.document import Examples, Proportion, Result, Section, Table

MODEL_JUDGE = JudgeReport(
    kind="search_qa", file="judges/search_qa.toml", fingerprint="j", model="openai/x"
)
POLICY = (
    gate_policy.POLICY.replace("drop = 0.015", 'drop = 0.015\nsoft = ["quality"]')
    .replace("drop = 0.01\n", 'drop = 0.01\nsoft = ["answers"]\n')
    .replace(
        'metrics = ["search.hit_at_1"]',
        'metrics = []\njudged = ["answers.correctness", "quality.pass_rate"]\ncards = "ignore"',
    )
)


@pytest.fixture
def gate(tmp_path):
    """The verdict of a policy on two runs, in a phase."""

    def judge(baseline, current, text=POLICY, phase="mvp"):
        policy = gate_policy.policy_of(tmp_path, text)
        return judge_release(compare(baseline, current), policy, phase, judge=MODEL_JUDGE)

    return judge


def rules(found):
    """Status by metric, but for the card of the evaluating judge."""
    return {rule.metric: rule.status for rule in found.rules if rule.metric != "judge_card"}


def run_of(answers, failing, total, **how):
    """A run in which the first `failing` of `total` answers miss two items, and with them the checklist."""
    return answers({f"a{i:03}": "ds" if i < failing else "dgs" for i in range(total)}, **how)


def test_pass_rate_and_items_are_compared_answer_by_answer():
    baseline = answers({"a": "dgs", "b": "dgs", "c": "d", "only": "dgsu"})
    current = answers({"a": "dgs", "b": "d", "c": "dgsu"})
    found = compare(baseline, current)
    assert found.checks == "compared"
    values = {
        change.metric: (change.n, change.baseline, change.current, change.improved, change.worse)
        for change in found.metrics
    }
    assert values == {
        "answers.correctness": (3, 1.0, 1.0, 0, 0), "answers.answered": (3, 1.0, 1.0, 0, 0),
        "quality.pass_rate": (3, 2 / 3, 2 / 3, 1, 1), "quality.direct": (3, 1.0, 1.0, 0, 0),
        "quality.grounded": (3, 2 / 3, 2 / 3, 1, 1), "quality.sources": (3, 2 / 3, 2 / 3, 1, 1),
        "quality.uncertainty": (3, 0.0, 1 / 3, 1, 0),
    }  # fmt: skip
    assert [(one.id, one.change, values_of(one.what)[-3:]) for one in found.changes] == [
        ("b", "worse", [None, "grounded", "sources"]),
        ("c", "improved", ["grounded", "sources", "uncertainty"]),
    ]


def test_correctness_decides_about_an_answer_before_its_checklist():
    baseline = answers({"a": "dg"}, correctness={"a": 0.5})
    (change,) = compare(baseline, answers({"a": "d"}, correctness={"a": 1.0})).changes
    assert change.change == "improved"
    correctness, checklist = change.what.split("; ")
    assert "0.50 → 1.00" in correctness
    assert "grounded" in checklist


def test_one_item_for_another_changes_nothing_about_an_answer():
    assert compare(answers({"a": "dg"}), answers({"a": "ds"})).unchanged == 1


@pytest.mark.parametrize(
    ("before", "after", "checks", "status", "verdict"),
    [
        ("c", "other", "other", "inconclusive", "inconclusive"),
        (None, "c", "new", "skipped", "passed"),
        ("c", None, "dropped", "failed", "failed"),
    ],
)
def test_checks_of_other_checklists_are_not_compared_and_all_else_is(
    gate, before, after, checks, status, verdict
):
    """The checks of the current run are worse throughout: no figure says so, and the gate does not pass over it."""
    baseline = run_of(answers, 0, 40, checklist=before) if before else bare(answers, 40)
    current = run_of(answers, 40, 40, checklist=after) if after else bare(answers, 40)
    found = compare(baseline, current)
    assert found.checks == checks
    assert (found.unchecked, found.changes) == ((), ())
    assert [change.metric for change in found.metrics] == [
        "answers.correctness",
        "answers.answered",
    ]
    (mismatch,) = found.mismatches
    assert (mismatch.what, mismatch.severity) == ("checklist", "no-checks")
    judged = gate(baseline, current)
    assert rules(judged) == {
        "answers.correctness": "passed", "quality.pass_rate": status, "coverage": "passed",
        "verdicts": "passed",
    }  # fmt: skip
    assert judged.verdict == verdict
    document = release_document(Release(comparison=found, gate=judged))
    assert mismatch.meaning in str(document.only().blocks)


def bare(answers, total):
    """A run without a checklist."""
    return answers({f"a{i:03}": None for i in range(total)}, checklist=None)


def test_nothing_is_said_of_checks_where_neither_run_has_any(gate):
    run = bare(answers, 40)
    found = compare(run, run)
    assert (found.checks, found.mismatches) == ("none", ())
    assert set(rules(gate(run, run))) == {"answers.correctness", "coverage", "verdicts"}


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        (0, "passed"),
        # 4 of 200 are 0.02, just what is allowed; the interval holds more.
        (4, "inconclusive"),
        # 8 of 200 are 0.04; with all changes for the worse the interval ends before 0.
        (8, "failed"),
    ],
)
def test_the_pass_rate_gates_on_a_drop_that_chance_does_not_explain(gate, failing, expected):
    found = gate(run_of(answers, 0, 200), run_of(answers, failing, 200))
    assert rule_of(found, "quality.pass_rate").status == expected
    assert found.verdict == expected


def test_checks_vary_between_runs_wherever_the_policy_names_them(gate):
    raw = POLICY.replace("metrics = []", 'metrics = ["quality.grounded"]')
    found = gate(run_of(answers, 0, 200), run_of(answers, 4, 200), raw)
    assert rule_of(found, "quality.grounded").status == "inconclusive"


def test_an_item_that_the_checklist_lacks_is_named(gate):
    text = POLICY.replace('"quality.pass_rate"', '"quality.short"')
    run = run_of(answers, 0, 8)
    found = rule_of(gate(run, run, text), "quality.short")
    assert (found.status, found.why) == ("skipped", "no_such_item")
    assert found.values["metric"] == "quality.short"


def lost(answers, count, total=8):
    """A run that could not check the first of its answers."""
    return answers({f"a{i:03}": None if i < count else "dgs" for i in range(total)})


@pytest.mark.parametrize(
    ("allowed", "expected"), [(0.0, "failed"), (0.24, "failed"), (0.25, "passed")]
)
def test_answers_that_are_checked_no_more_count_as_lost(gate, allowed, expected):
    text = POLICY.replace("max_lost = 0.0", f"max_lost = {allowed}")
    baseline, current = run_of(answers, 0, 8), lost(answers, 2)
    found = rule_of(gate(baseline, current, text), "checks")
    assert (found.status, found.current) == (expected, 0.75)
    assert (found.why, found.values["count"], found.values["total"]) == ("lost_checks", "2", "8")


def test_lost_checks_are_listed_beside_the_figures_that_lack_them(gate):
    baseline, current = run_of(answers, 0, 8), lost(answers, 1)
    document = release_document(
        Release(comparison=compare(baseline, current), gate=gate(baseline, current))
    )
    (table,) = (block for block in document.blocks if isinstance(block, Table))
    listed = [
        block
        for section in document.blocks
        if isinstance(section, Section)
        for block in section.blocks
        if isinstance(block, Examples)
    ]
    assert [[item.id for item in block.items] for block in listed] == [["a000"]]
    name, *cells = next(iter(table.rows))  # the worst result comes first
    assert name == rule_label("checks")
    assert cells[:2] == [Proportion(1.0), Proportion(0.875)]
    assert cells[-1] == Result("failed")


def test_a_run_that_lost_every_check_fails_by_its_figure_and_by_the_loss(gate):
    found = gate(run_of(answers, 0, 8), lost(answers, 8))
    assert (rules(found)["checks"], rules(found)["quality.pass_rate"]) == ("failed", "failed")
    assert rule_of(found, "quality.pass_rate").why == "gone"


def test_checks_that_only_the_current_run_has_are_no_loss(gate):
    assert rules(gate(lost(answers, 2), run_of(answers, 0, 8)))["checks"] == "passed"


def test_each_block_is_soft_for_itself(gate):
    """Phase beta only tells of checks, phase ga only of evaluations."""
    baseline = run_of(answers, 0, 40)
    current = lost(answers, 1, 40)
    current = current.model_copy(
        update={
            "items": tuple(
                item.model_copy(update={"evaluated": item.id != "a001"}) for item in current.items
            )
        }
    )
    told = {phase: rules(gate(baseline, current, phase=phase)) for phase in ("mvp", "beta", "ga")}
    assert {phase: (one["verdicts"], one["checks"]) for phase, one in told.items()} == {
        "mvp": ("failed", "failed"),
        "beta": ("failed", "warned"),
        "ga": ("warned", "failed"),
    }


def test_the_policy_that_comes_with_gigamind_gates_the_pass_rate():
    assert "quality.pass_rate" in Policy.read(None).quality.judged
