"""Verdict sentences and first screens of comparisons, on comparisons of known sizes."""

import pytest
from gate_policy import shipped
from search_records import make_item, make_record

from gigamind.i18n import translator
from gigamind.metrics.spec import OWN as OWN_METRICS
from gigamind.metrics.spec import Metric, Text
from gigamind.metrics.table import register
from gigamind.release.compare import compare
from gigamind.release.comparison import LostItem, Mismatch
from gigamind.release.gates import judge_release
from gigamind.release.policy import WEAK, Earlier, Policy, Release, Waiver, rule_label
from gigamind.reports.comparison import (
    gate_conditions,
    metric_table,
    next_steps,
    noise_text,
    release_document,
    worst_examples,
)
from gigamind.reports.document import Bullets, Difference, Examples, Result, Section, Steps, Table
from gigamind.reports.markdown import render_markdown
from gigamind.reports.verdict import release_verdict
from gigamind.tasks.search.schema import SearchComparison

EN = translator("en")
HOSTILE = "<b>질의</b> | `x` " + "길다 " * 100


@pytest.fixture
def judged(tmp_path):
    """Compare runs in which `lost` of `n` queries lost their note and `won` found it, under the shipped policy."""
    (tmp_path / "gates.toml").write_text(shipped(), "utf-8")

    def release(lost=0, n=40, won=0, run=None, names=("hit_at_1", "mrr")):
        def snapshot(found):
            items = [
                make_item(id=f"q{i}", query=HOSTILE, metrics=dict.fromkeys(names, float(found(i))))
                for i in range(n)
            ]
            return SearchComparison().take_snapshot(make_record(items=items, run=run or {}))

        before = snapshot(lambda i: i >= won)
        after = snapshot(lambda i: not won <= i < won + lost)
        comparison = compare(before, after)
        policy = Policy.read(tmp_path / "gates.toml")
        return Release(comparison=comparison, gate=judge_release(comparison, policy, "mvp"))

    return release


def _numbers(sentence):
    return [word.strip("().,") for word in str(sentence).split() if any(c.isdigit() for c in word)]


def test_a_failed_verdict_names_the_worst_drop_its_limit_and_the_items(judged):
    verdict = release_verdict(judged(lost=20))
    assert verdict.state == "failed"
    assert {"50.0", "20", "40"} <= set(_numbers(verdict.sentence))


def test_a_pass_is_ruled_out_only_if_each_interval_is_above_the_limit(judged):
    small, large = (release_verdict(judged(n=n, won=1)) for n in (40, 400))
    assert (small.state, large.state) == ("passed", "passed")
    # 0 of 40 worse: up to 7.2 pp (Clopper and Pearson, one-sided 95 %); 0 of 400: 0.7 pp.
    assert "7.2" in _numbers(small.sentence)
    assert "7.2" not in _numbers(large.sentence)


def test_a_single_lost_item_of_many_passes_and_is_counted(judged):
    verdict = release_verdict(judged(lost=1, n=400))
    assert verdict.state == "passed"
    assert {"1", "400"} <= set(_numbers(verdict.sentence))


def _judged_as(release, metric, value):
    """Return the comparison, unchanged, with this value of a metric in both runs."""
    comparison, gate = release.comparison, release.gate
    change = comparison.metrics[0].model_copy(
        update={"metric": metric, "baseline": value, "current": value, "n": 158}
    )
    rule = gate.rules[0].model_copy(update={"metric": metric, "status": "passed", "why": "drop"})
    metrics = (x for x in comparison.metrics if x.metric != metric)
    rules = (x for x in gate.rules if x.metric != metric)
    return Release(
        comparison=comparison.model_copy(update={"metrics": (*metrics, change)}),
        gate=gate.model_copy(update={"rules": (*rules, rule)}),
    )


@pytest.mark.parametrize(
    ("metric", "value", "count"),
    [
        ("unanswerable.false_refusals", 143 / 158, "143"),
        ("unanswerable.far", 90 / 158, "90"),
        ("search.recall_at_10", 0.25, "0.250"),
    ],
)
def test_a_pass_with_a_bad_metric_may_be_released_and_is_improved_first(
    judged, metric, value, count
):
    release = _judged_as(judged(n=400), metric, value)
    verdict = release_verdict(release)
    assert verdict.state == "warning"
    assert count in _numbers(verdict.sentence)
    assert verdict.leads
    first, last = next_steps(release, "out/run")
    assert first.command == ""
    assert "promote" in last.command
    fine = _judged_as(judged(n=400), metric, 1 - value)
    assert release_verdict(fine).leads != verdict.leads
    assert [bool(step.command) for step in next_steps(fine, "out/run")] == [True]


def test_metrics_at_their_worst_value_are_one_warning_that_says_so(judged):
    release = _judged_as(judged(n=400), "unanswerable.f1", 0.0)
    release = _judged_as(release, "unanswerable.far", 1.0)
    weak = {"accepts": "100%", "refuses": "100%"}
    worst = {"status": "warned", "why": "worst", "remarks": (WEAK,)}
    rules = [
        rule.model_copy(update=worst | {"values": rule.values | weak | {"metric": rule.metric}})
        if rule.metric.startswith("unanswerable.")
        else rule
        for rule in release.gate.rules
    ]
    gate = release.gate.model_copy(update={"rules": tuple(rules), "verdict": "warned"})
    release = release.model_copy(update={"gate": gate})
    verdict = release_verdict(release)
    assert verdict.state == "warning"
    assert "F1 (unanswerable), wrongly answered (FAR)" in verdict.sentence
    assert _numbers(verdict.sentence).count("158") == 2  # 158 of 158
    assert len(verdict.leads) == 1  # no other rule has a warning
    gated, others = metric_table(release).groups
    assert {row[-1].state for row in others.rows} == {"warning"}
    assert {row[-1].state for row in gated.rows} == {"passed"}
    found = "".join(text for state, text in gate_conditions(release).items if state == "warning")
    assert [found.count(name) for name in ("F1", "FAR")] == [1, 1]

    informs = release.model_copy(update={"informational": True})
    assert release_verdict(informs).state == "passed"
    assert not set(release_verdict(informs).leads) & set(verdict.leads)
    assert not list(next_steps(informs, "out/run"))
    assert gate_conditions(informs).items == ()
    assert {row[-1].state for row in metric_table(informs).groups[1].rows} == {"informational"}


def test_a_comparison_for_information_stops_no_release_and_still_names_what_got_worse(judged):
    informs = judged(lost=20).model_copy(update={"informational": True})
    assert release_verdict(informs).state == "failed"
    steps = list(next_steps(informs, "out/run", items="#list"))
    assert [(step.command, step.url) for step in steps] == [("", "#list")]


def test_lost_items_name_at_most_three_missing_notes_and_come_before_worse_ones(judged):
    release = judged(lost=20)
    lost = tuple(LostItem(id=f"l{n}", text="q", expected_notes=(f"n{n}.md",)) for n in range(5))
    notes = Mismatch(what="notes", severity="no-verdict", meaning="other", relaxed_by="notes")
    for mismatches, named in (((notes,), "n2.md, 2 more"), ((), "l2, 2 more")):
        comparison = release.comparison.model_copy(update={"lost": lost, "mismatches": mismatches})
        found = release.model_copy(update={"comparison": comparison})
        steps = [step for step in next_steps(found, "out/run") if named in step.label]
        assert len(steps) == 1


def test_incomparable_runs_say_how_many_items_got_worse_and_how_to_go_on(judged):
    release = judged(lost=20)
    gate = release.gate.model_copy(
        update={"verdict": "not-comparable", "rules": (), "reasons": ("other notes",)}
    )
    refused = Release(comparison=release.comparison, gate=gate)
    verdict = release_verdict(refused)
    assert verdict.state == "not-comparable"
    assert "other notes" in verdict.sentence
    assert {"20", "40"} <= set(_numbers(verdict.sentence))
    assert any("promote" in step.command for step in next_steps(refused, "out/run"))


def test_an_allowed_change_is_the_only_remedy_and_names_what_fails_then(judged):
    release = judged(lost=20)
    notes = Mismatch(what="notes", severity="no-verdict", meaning="other notes", relaxed_by="notes")
    comparison = release.comparison.model_copy(update={"mismatches": (notes,)})
    changes = {"verdict": "not-comparable", "rules": (), "reasons": ("other notes",)}
    gate = release.gate.model_copy(update=changes)
    refused = Release(comparison=comparison, gate=gate)
    then = refused.model_copy(
        update={"gate": gate.model_copy(update={"then": release.gate.failed})}
    )
    *_others, step = next_steps(refused, "out/run", baseline="base")
    *_others, failing = next_steps(then, "out/run", baseline="base")
    assert failing.command == step.command == "gigamind compare base out/run --changed notes"
    assert "50.0" in failing.label
    assert all(str(rule_label(rule.metric)) in failing.label for rule in release.gate.failed)
    assert gate_conditions(then).items == ()


def test_the_noise_is_that_of_the_metric_in_the_verdict(judged):
    release = judged(lost=20, won=3)
    worst = release.worst_first[0].metric
    assert str(noise_text(release).values["metric"]) == str(rule_label(worst))
    others = (
        change.model_copy(update={"detectable": None}) if change.metric == worst else change
        for change in release.comparison.metrics
    )
    unknown = release.comparison.model_copy(update={"metrics": tuple(others)})
    assert noise_text(release.model_copy(update={"comparison": unknown})) == ""


def test_the_limit_says_where_it_comes_from(judged):
    small, large = (metric_table(judged(lost=20, n=n)).caption.values for n in (40, 400))
    assert (EN(small["limit"]), small["below"]) == ("3.0 pp", "200")
    assert (EN(large["limit"]), large["phase"]) == ("2.0 pp", "mvp")


def _waiver(release, **changes):
    values = {
        "run_id": "r", "baseline": "b", "created_at": "2026-11-26T00:00:00+00:00",
        "reason": "new FAQ", "until": "2026-12-05", "by": "kim",
        "metrics": [rule.metric for rule in release.gate.failed],
    }  # fmt: skip
    return Waiver.model_validate(values | changes)


def test_a_waived_failure_stays_failed_and_names_person_reason_and_date(judged):
    release = judged(lost=20)
    waived = release.model_copy(update={"waiver": _waiver(release)})
    verdict = release_verdict(waived)
    assert verdict.state == "waived"
    for text in ("2026-12-05", "kim", "new FAQ", str(release_verdict(release).sentence)):
        assert text in verdict.sentence
    results = {row[-1].state for row in metric_table(waived).rows if isinstance(row[-1], Result)}
    assert "failed" in results


def test_a_pass_after_a_failure_of_the_same_candidate_is_a_pass_on_retry(judged):
    release = judged(n=400)
    failed = [
        Earlier(run_id=name, verdict="failed", metrics=(name,))
        for name in ("search.mrr", "search.hit_at_1")
    ]
    verdict = release_verdict(release.model_copy(update={"attempts": tuple(failed)}))
    assert verdict.state == "passed"
    assert [len(verdict.sentence.values[name]) for name in ("states", "metrics")] == [2, 2]
    assert release_verdict(release).sentence in verdict.leads


def test_a_second_failure_shows_both_attempts(judged):
    release = judged(lost=20)
    first = Earlier(run_id="r1", verdict="failed", metrics=("search.mrr",))
    leads = release_verdict(release.model_copy(update={"attempts": (first,)})).leads
    assert len(leads) == len(release_verdict(release).leads) + 1


def test_gated_metrics_come_first_and_the_worst_result_leads(judged):
    table = metric_table(judged(lost=20))
    gated, others = table.groups
    states = [row[-1].state for row in gated.rows]
    assert states == sorted(states, key=("failed", "warning", "skipped", "passed").index)
    assert {row[-1].state for row in others.rows} <= {"informational"}


@pytest.mark.parametrize("lost", [0, 5, 20])
def test_the_table_says_why_a_difference_has_no_interval(judged, lost):
    table = metric_table(judged(lost=lost))
    notes = [x.note for row in table.rows for x in row if isinstance(x, Difference) and x.note]
    assert (bool(notes), len(table.caption.values.get("parts", ()))) == (lost == 5, 2 * (lost == 5))


def test_metrics_that_coincide_are_shown_once(judged):
    table = metric_table(judged(lost=20), every=True)
    names = [str(row[0]) for row in table.rows]
    assert len(names) == len(set(names))


def test_an_own_metric_is_shown_even_if_it_coincides(judged):
    own = Metric("search", None, None, "own_first", Text("own first", "첫째"))
    register(own)
    try:
        table = metric_table(judged(lost=20, names=("hit_at_1", "mrr", "own_first")), every=True)
    finally:
        del OWN_METRICS[own.key]
    names = [str(row[0]) for row in table.rows]
    assert names.count("own first") == 1


def test_three_examples_of_all_are_shown_with_their_number(judged):
    examples = worst_examples(judged(lost=20).comparison)
    assert (len(examples.items), examples.of) == (3, 20)


def test_the_first_screen_has_the_order_of_all_pages(judged):
    blocks = release_document(judged(lost=20)).blocks
    kinds = [type(block) for block in blocks]
    first = [Steps, Table, Examples]
    assert [kind for kind in kinds if kind in first] == first
    assert kinds.index(Section) > kinds.index(Examples)
    warnings = [b for b in blocks if isinstance(b, Bullets) and b.warning]
    assert all(len(block.items) <= 3 for block in warnings)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_long_hostile_questions_stay_text_in_markdown(judged, lang):
    text = render_markdown(release_document(judged(lost=20)), translator(lang))
    assert "<b>" not in text
    assert all(line.count(" | ") < 8 for line in text.splitlines() if "질의\\<" in line)
