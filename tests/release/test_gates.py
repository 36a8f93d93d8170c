from functools import partial
from pathlib import Path

import pytest
from gate_policy import POLICY, policy_of, rule_of
from snapshots import answers, snapshot

from gigamind.errors import InputError
from gigamind.records.judged import JudgeReport, WeakJudge
from gigamind.records.schema import SpeedReport, SystemReport
from gigamind.release.compare import compare
from gigamind.release.comparison import MetricChange
from gigamind.release.gates import at_worst, bounds_gate, judge_release
from gigamind.release.policy import Policy, Release
from gigamind.reports.verdict import release_verdict


@pytest.fixture
def policy(tmp_path):
    return partial(policy_of, tmp_path)


def verdict(baseline, current, policy, phase="mvp"):
    return judge_release(compare(baseline, current), policy, phase)


def drop(lost, total):
    """A run in which `lost` of `total` items lost their first place."""
    baseline = snapshot({f"q{i}": 1 for i in range(total)})
    return baseline, snapshot({f"q{i}": 2 if i < lost else 1 for i in range(total)})


@pytest.mark.parametrize(
    ("phase", "lost", "expected"),
    [
        ("mvp", 4, "passed"),  # 4 of 200 are 0.02, exactly what is allowed
        ("mvp", 5, "failed"),
        ("beta", 3, "passed"),
        ("beta", 4, "failed"),
        ("ga", 2, "passed"),
        ("ga", 3, "failed"),
    ],
)
def test_each_phase_from_both_sides_of_its_drop(policy, phase, lost, expected):
    assert verdict(*drop(lost, 200), policy(), phase).verdict == expected


@pytest.mark.parametrize(
    ("lost", "total", "expected"),
    [(5, 199, "passed"), (5, 200, "failed"), (3, 100, "passed"), (4, 100, "failed")],
)
@pytest.mark.parametrize("phase", ["mvp", "ga"])
def test_below_200_items_a_drop_of_003_is_allowed_in_every_phase(
    policy, phase, lost, total, expected
):
    assert verdict(*drop(lost, total), policy(), phase).verdict == expected


@pytest.mark.parametrize(
    ("figure", "before", "after", "expected"),
    [
        ("p95", 1000.0, 1150.0, "passed"),  # +15 %
        ("p95", 1000.0, 1150.1, "inconclusive"),  # one pass: it may be the machine
        ("p95", 4000.0, 4200.0, "passed"),  # +0.2 s, though only 5 %
        ("p95", 4000.0, 4200.1, "inconclusive"),
        ("p95", 10.0, 110.0, "passed"),  # eleven times, but a rise that a busy machine makes
        ("p95", 10.0, 110.1, "inconclusive"),
        ("cold", 100_000.0, 120_000.0, "passed"),  # +20 %
        ("cold", 100_000.0, 120_001.0, "failed"),
        ("cold", 900_000.0, 1_020_000.0, "passed"),  # +2 min, though only 13 %
        ("cold", 900_000.0, 1_020_001.0, "failed"),
    ],
)
def test_p95_and_cold_start_from_both_sides_of_their_limits(
    policy, figure, before, after, expected
):
    runs = (snapshot({"a": 1}, **{figure: time}) for time in (before, after))
    assert verdict(*runs, policy()).verdict == expected


def test_on_other_hardware_quality_is_judged_and_speed_is_not_where_the_policy_relaxes_it(policy):
    slow = snapshot({"a": 1, "b": None}, p95=9000.0, hardware="other")
    gate = verdict(snapshot({"a": 1, "b": 1}), slow, policy(relaxing("hardware")))
    assert "[comparable]" in gate.reasons[-1]
    found = {rule.metric: rule.status for rule in gate.rules}
    assert found == {
        "search.hit_at_1": "failed", "coverage": "passed", "search_p95": "skipped",
        "cold_start": "skipped",
    }  # fmt: skip
    assert rule_of(gate, "search_p95").why == "other_hardware"


def relaxing(*keys):
    return f"{POLICY}[comparable]\nrelax = {list(keys)}\n"


@pytest.mark.parametrize(
    ("changed", "key"),
    [({"notes": "x"}, "notes"), ({"hardware": "x"}, "hardware"), ({"mode": "keyword"}, "settings")],
)
def test_runs_of_other_notes_hardware_or_settings_get_a_verdict_only_where_the_policy_says_so(
    policy, changed, key
):
    runs = snapshot({"a": 1}), snapshot({"a": None}, **changed)
    refused = verdict(*runs, policy())
    assert (refused.verdict, refused.rules, refused.relaxed) == ("not-comparable", (), ())
    assert "gigamind baseline promote" in refused.reasons[0]
    assert [rule.status for rule in refused.then] == ["failed"]  # what follows if it is allowed
    told = verdict(*runs, policy(relaxing(key)))
    assert (told.verdict, told.relaxed) == ("failed", (key,))
    assert f"--changed {key} or [comparable]" in told.reasons[-1]
    better = verdict(snapshot({"a": 1}), snapshot({"a": 1}, **changed), policy(relaxing(key)))
    assert (better.verdict, len(better.reasons)) == ("passed", 1)  # even where it passed
    same = verdict(snapshot({"a": 1}), snapshot({"a": 1}, **changed), policy())
    assert (same.verdict, same.then) == ("not-comparable", ())


def measuring(names):
    """A run of 200 items with these metrics, each 1."""
    run = snapshot({f"q{i}": 1 for i in range(200)})
    items = (item.model_copy(update={"metrics": dict.fromkeys(names, 1.0)}) for item in run.items)
    return run.model_copy(update={"items": tuple(items)})


NDCG = POLICY.replace('"search.hit_at_1"', '"search.hit_at_1", "search.ndcg_at_10"')


def test_a_gated_metric_that_is_gone_fails_before_all_else(policy):
    both = measuring(["hit_at_1", "ndcg_at_10"])
    one = measuring(["hit_at_1"])
    gate = verdict(both, one, policy(NDCG))
    assert gate.verdict == "failed"
    first = next(rule for rule in gate.rules if rule.explanation == gate.reasons[0])
    assert (first.metric, first.why) == ("search.ndcg_at_10", "gone")
    assert compare(both, one).metric("search.ndcg_at_10").baseline == 1.0  # shown, not left out
    new = rule_of(verdict(one, both, policy(NDCG)), "search.ndcg_at_10")
    assert (new.status, new.why) == ("skipped", "new")


def test_gates_that_hold_none_of_the_figures_do_not_pass(policy):
    run = measuring(["mrr"])
    assert verdict(run, run, policy()).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("wrong", "wrong", "not-comparable"),
        ("wrong", "right", "passed"),
        ("right", "wrong", "failed"),
    ],
)
def test_a_baseline_that_cannot_get_worse_holds_nothing(policy, before, after, expected):
    """FAR of 1, and F1 of 0: no run can be worse."""
    runs = (snapshot({f"u{i}": verdict for i in range(200)}) for verdict in (before, after))
    text = POLICY.replace('"search.hit_at_1"', '"unanswerable.far", "unanswerable.f1"')
    gate = verdict(*runs, policy(text), "beta")
    assert gate.verdict == expected
    if expected == "not-comparable":
        assert "--unanswerable-mode" in gate.reasons[0]
        assert {rule.status for rule in gate.rules if rule.metric != "coverage"} >= {expected}


def test_where_a_phase_says_so_a_verdict_with_warnings_tells_what_is_not_held(policy):
    """A first user adds questions without an answer, and the judge that runs without options finds none of them."""
    text = POLICY.replace('"search.hit_at_1"', '"search.hit_at_1", "unanswerable.f1"')
    run = snapshot({"a": 1, "u": "wrong"})
    gate = verdict(run, run, policy(text))
    assert gate.verdict == "warned"
    assert verdict(run, run, policy(text), "beta").verdict == "not-comparable"
    assert "--unanswerable-mode" in gate.reasons[0]
    assert "phase mvp" in gate.reasons[0].lower()
    never_found = snapshot({"a": None, "u": "wrong"})  # a search that finds nothing has none
    assert verdict(never_found, never_found, policy(text)).verdict == "not-comparable"


def test_answers_that_are_gone_or_refuse_are_held_though_no_model_judges():
    """`--judge words`: an answer that never came, and one that refuses, are in no mean."""
    names = [f"a{i}" for i in range(20)]
    shipped = Policy.read(None)
    baseline = answers(dict.fromkeys(names), checklist=None)

    def changed(count, **update):
        items = [
            one.model_copy(update=update) if place < count else one
            for place, one in enumerate(baseline.items)
        ]
        return baseline.model_copy(update={"items": tuple(items)})

    def ends(current):
        gate = verdict(baseline, current, shipped)
        return gate.verdict, [rule.metric for rule in gate.failed]

    assert ends(baseline) == ("passed", [])
    assert ends(changed(1, evaluated=False, metrics={})) == ("failed", ["verdicts"])
    refusing = changed(12, metrics={"correctness": None})
    assert ends(refusing) == ("failed", ["answers.answered"])
    comparison = compare(baseline, refusing)
    assert (comparison.unchanged, len(comparison.changes)) == (8, 12)
    rule = rule_of(verdict(baseline, refusing, shipped), "answers.correctness")
    assert "apart" in rule.remarks
    assert (rule.values["before_n"], rule.values["after_n"]) == ("20", "8")


@pytest.mark.parametrize(
    ("section", "bound", "expected"),
    [
        ('[floors]\n"search.hit_at_1" = 0.5', "floor", "passed"),
        ('[floors]\n"search.hit_at_1" = 0.51', "floor", "failed"),
        ('[ceilings]\n"unanswerable.far" = 0.5', "ceiling", "passed"),
        ('[ceilings]\n"unanswerable.far" = 0.49', "ceiling", "failed"),
    ],
)
def test_floors_and_ceilings_hold_whatever_the_baseline_was(policy, section, bound, expected):
    run = snapshot({"a": 1, "b": 2, "u": "right", "v": "wrong"})  # hit@1 and FAR are 0.5
    gate = verdict(run, run, policy(f"{POLICY}{section}\n"))
    (rule,) = (rule for rule in gate.rules if rule.why == bound)
    assert (gate.verdict, rule.status, rule.current) == (expected, expected, 0.5)


def test_a_bound_on_what_the_run_does_not_have_fails(policy):
    run = snapshot({"a": 1})
    gate = verdict(run, run, policy(f'{POLICY}[floors]\n"search.recall_at_10" = 0.1\n'))
    assert (gate.verdict, gate.rules[1].why) == ("failed", "floor_gone")


def test_a_bound_lets_a_baseline_at_its_worst_be_compared(policy):
    run = snapshot({f"u{i}": "wrong" for i in range(9)})
    text = POLICY.replace('"search.hit_at_1"', '"unanswerable.far"')
    bounded = f'{text}[ceilings]\n"unanswerable.far" = 1.0\n'
    assert verdict(run, run, policy(bounded)).verdict == "passed"


def test_the_allowance_for_small_runs_counts_their_queries_and_not_those_of_a_metric(policy):
    """Of 200 queries 40 are unanswerable: FAR rises by 0.025, which only a small run may."""
    items = {f"q{i}": 1 for i in range(160)} | {f"u{i}": "right" for i in range(40)}
    worse = snapshot(items | {"u0": "wrong"})
    text = policy(POLICY.replace('"search.hit_at_1"', '"unanswerable.far"'))
    assert verdict(snapshot(items), worse, text).verdict == "failed"
    del items["q0"]
    smaller = snapshot(items | {"u0": "wrong"})
    assert verdict(snapshot(items), smaller, text).verdict == "passed"


def test_another_sample_is_no_way_around_the_gate(policy):
    full = snapshot({"a": 1, "b": 1})
    part = snapshot({"a": 1}, notes="n")
    part = part.model_copy(update={"config": {**part.config, "sample": "1", "seed": 42}})
    full = full.model_copy(update={"config": {**full.config, "sample": None, "seed": 42}})
    gate = verdict(full, part, policy())
    assert gate.verdict == "not-comparable"
    assert "sample all → 1" in gate.reasons[0]


@pytest.mark.parametrize("changed", [{"dataset": "x"}, {"judge": "x"}])
def test_no_verdict_is_invented_where_runs_cannot_be_compared(policy, changed):
    gate = verdict(snapshot({"a": 1}), snapshot({"a": None}, **changed), policy())
    assert (gate.verdict, gate.rules) == ("not-comparable", ())
    assert len(gate.reasons) == 1


def test_runs_without_a_shared_item_are_not_comparable(policy):
    assert verdict(snapshot({"a": 1}), snapshot({"b": 1}), policy()).verdict == "not-comparable"


def test_a_query_that_can_no_longer_be_evaluated_fails_the_release(policy):
    gate = verdict(snapshot({"a": 1, "b": 1}), snapshot({"a": 1}), policy())
    assert gate.verdict == "failed"
    (rule,) = gate.failed
    assert rule.why == "lost_coverage"
    assert rule.values["count"] == "1"
    assert rule.values["total"] == "2"
    assert "b" in rule.values["example"]


def test_the_share_of_lost_queries_from_both_sides(policy):
    half = policy(POLICY.replace("max_lost = 0.0", "max_lost = 0.5"))
    full = snapshot({"a": 1, "b": 1, "c": 1})
    assert verdict(full, snapshot({"a": 1, "b": 1}), half).verdict == "passed"  # 0.33
    assert verdict(full, snapshot({"a": 1}), half).verdict == "failed"  # 0.67


JUDGED = POLICY.replace(
    'metrics = ["search.hit_at_1"]',
    'metrics = []\njudged = ["search.hit_at_1", "unanswerable.far"]',
)


def test_a_judged_metric_is_inconclusive_where_noise_could_hide_a_drop(policy):
    """Ten verdicts flip each way: no drop at all, and an interval of about +-0.044 around it."""
    baseline = snapshot({f"q{i}": 2 if i < 10 else 1 for i in range(200)})
    current = snapshot({f"q{i}": 2 if 10 <= i < 20 else 1 for i in range(200)})
    gate = verdict(baseline, current, policy(JUDGED))
    assert gate.verdict == "inconclusive"
    assert gate.rules[0].remarks == ("wide", "needs")


def test_a_judged_far_that_falls_is_no_failure(policy):
    baseline = snapshot({f"u{i}": "wrong" for i in range(50)})
    current = snapshot({f"u{i}": "right" for i in range(50)})
    fell, rose = (
        verdict(*runs, policy(JUDGED)) for runs in ((baseline, current), (current, baseline))
    )
    assert rule_of(fell, "unanswerable.far").status == "passed"
    assert rule_of(rose, "unanswerable.far").status == "failed"


MODEL_JUDGE = JudgeReport(kind="llm", file="judges/j.toml", fingerprint="j", model="openai/x")
FAR = POLICY.replace(
    '"search.hit_at_1"', '"search.hit_at_1", "unanswerable.far", "unanswerable.f1"'
)


BY_RULE = MODEL_JUDGE.model_copy(update={"kind": "threshold", "model": None})


@pytest.mark.parametrize(
    ("judge", "before", "after", "far", "f1"),
    [
        # FAR rises by 0.04, and chance explains it: other items are wrong.
        (MODEL_JUDGE, range(5), range(5, 14), "inconclusive", "inconclusive"),
        (BY_RULE, range(5), range(5, 14), "failed", "passed"),
        (MODEL_JUDGE, range(5), range(5), "passed", "passed"),
        (MODEL_JUDGE, (), range(30), "failed", "failed"),
    ],
)
def test_verdicts_of_a_model_are_held_to_a_drop_that_chance_does_not_explain(
    policy, judge, before, after, far, f1
):
    runs = (
        snapshot({f"u{i}": "wrong" if i in wrong else "right" for i in range(100)})
        for wrong in (before, after)
    )
    gate = judge_release(compare(*runs), policy(FAR), "mvp", judge=judge)
    assert rule_of(gate, "unanswerable.far").status == far
    assert rule_of(gate, "unanswerable.f1").status == f1


def test_rankings_are_held_to_the_raw_drop_whoever_judges(policy):
    found = compare(*drop(5, 200))
    gate = judge_release(found, policy(FAR), "mvp", judge=MODEL_JUDGE)
    assert rule_of(gate, "search.hit_at_1").status == "failed"


@pytest.mark.parametrize(("allowed", "expected"), [(0.0, "failed"), (0.5, "passed")])
def test_queries_that_a_model_no_longer_decides_about_count_as_lost(policy, allowed, expected):
    run = snapshot({"a": 1, "u": "right"})
    silent = [item.model_copy(update={"judged_unanswerable": None}) for item in run.items[1:]]
    current = run.model_copy(update={"items": (run.items[0], *silent)})
    told = policy(FAR.replace("max_lost = 0.0", f"max_lost = {allowed}"))
    gate = judge_release(compare(run, current), told, "mvp", judge=MODEL_JUDGE)
    rule = rule_of(gate, "verdicts")
    assert (rule.status, rule.current) == (expected, 0.5)
    assert (rule.values["count"], rule.values["total"]) == ("1", "2")
    assert rule.values["example"] == "u"


def test_the_policy_that_comes_with_gigamind_has_the_seeds_figures():
    policy = Policy.read(None)
    drops = {phase: rules.drop for phase, rules in policy.phases.items()}
    assert drops == {"mvp": 0.02, "beta": 0.015, "ga": 0.01}
    assert (policy.small_sample.below, policy.small_sample.drop) == (200, 0.03)
    assert (policy.speed.search_p95.ratio, policy.speed.search_p95.rise_ms) == (1.15, 200)
    assert (policy.speed.cold_start.ratio, policy.speed.cold_start.rise_ms) == (1.2, 120_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (POLICY.replace("search.hit_at_1", "search.hits"), "search.hits"),
        (POLICY.replace("search.hit_at_1", "quality.Pass"), "quality.Pass"),
        (POLICY.replace("drop = 0.02", "drop = nan"), "phases.mvp.drop"),
        (POLICY.replace("drop = 0.02", "drop = 0.02\nmore = 1"), "phases.mvp.more"),
        (POLICY.replace("[phases.mvp]", "[phases.alpha]"), "phases.alpha"),
        (POLICY + '[floors]\n"search.mr" = 0.1', "search.mr"),
        (POLICY + '[floors]\n"unanswerable.far" = 0.1', r"unanswerable.far.*\[ceilings\]"),
        (POLICY + '[ceilings]\n"search.mrr" = 0.1', r"search.mrr.*\[floors\]"),
        (POLICY + '[comparable]\nrelax = ["judge"]', "comparable.relax.0"),
        ("schema = ", "TOML"),
    ],
)
def test_a_bad_policy_is_an_error_that_names_file_and_field(policy, text, message):
    with pytest.raises(InputError, match=message) as caught:
        policy(text)
    assert "gates.toml" in str(caught.value)
    assert caught.value.exit_code == 1


def test_a_file_changes_what_it_says_and_leaves_the_rest_as_it_comes(policy):
    shipped = Policy.read(None)
    small = policy('[comparable]\nrelax = ["settings"]\n[speed.search_p95]\nratio = 1.5\n')
    assert small.comparable.relax == ("settings",)
    assert small.speed.search_p95 == shipped.speed.search_p95.model_copy(update={"ratio": 1.5})
    assert small.speed.cold_start == shipped.speed.cold_start
    assert (small.phases, small.quality) == (shipped.phases, shipped.quality)
    assert policy('[quality]\nmetrics = ["search.mrr"]\n').quality.metrics == ("search.mrr",)


def test_what_was_changed_on_purpose_may_differ_beside_what_the_file_allows(tmp_path):
    assert Policy.read(None, ["notes"]).comparable.relax == ("notes",)
    file = tmp_path / "gates.toml"
    file.write_text('[comparable]\nrelax = ["hardware", "notes"]\n', "utf-8")
    told = Policy.read(file, ["notes", "settings"])
    assert told.comparable.relax == ("hardware", "notes", "settings")
    assert told.model_copy(update={"comparable": Policy.read(None).comparable}) == Policy.read(None)


def test_a_missing_policy_is_named():
    with pytest.raises(InputError, match=r"nowhere.toml"):
        Policy.read(Path("nowhere.toml"))


SOFT = POLICY.replace("[phases.mvp]\ndrop = 0.02", '[phases.mvp]\ndrop = 0.02\nsoft = ["search"]')


def test_a_soft_block_warns_in_its_phase_and_fails_in_the_next(policy):
    pair = drop(50, 200)
    told = verdict(*pair, policy(SOFT))
    assert told.verdict == "warned"
    assert "soft" in told.rules[0].remarks
    assert verdict(*pair, policy(SOFT), "beta").verdict == "failed"


def test_a_floor_on_a_soft_block_warns_where_nothing_is_compared(policy):
    run, held = snapshot({"a": 2}), '[floors]\n"search.hit_at_1" = 0.5\n'
    softly, hard = (bounds_gate(run, policy(text + held), "mvp") for text in (SOFT, POLICY))
    assert softly is not None
    assert hard is not None
    assert (softly.verdict, hard.verdict) == ("warned", "failed")


def test_links_are_soft_in_mvp_and_hard_afterwards():
    phases = Policy.read(None).phases
    assert [phases[name].soft for name in ("mvp", "beta", "ga")] == [("links",), (), ()]


def timed(run, costs, queries=("a", "b"), clock="cpu", query_ms=5.0):
    """The run with passes in which each query cost so much, and a p95 that says something else."""
    passes = SpeedReport(
        clock=clock,
        queries=queries,
        query_ms=query_ms,
        unit_ms=0.5,
        costs=tuple((cost,) * len(queries) for cost in costs),
    )
    performance = run.metrics.performance.model_copy(update={"passes": passes})
    metrics = run.metrics.model_copy(update={"performance": performance})
    return run.model_copy(update={"metrics": metrics})


STEADY = (10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.0)
WILD = (10.0, 30.0, 4.0, 9.0, 25.0, 6.0, 10.0, 12.0)


@pytest.mark.parametrize(
    ("before", "after", "factor", "expected"),
    [
        (STEADY, STEADY, 1.14, "passed"),
        (STEADY, STEADY, 1.16, "failed"),
        (STEADY, STEADY, 0.5, "passed"),
        (STEADY, WILD, 1.3, "inconclusive"),  # a rise that chance explains
        (STEADY[:5], STEADY[:5], 1.3, "inconclusive"),  # too few passes
    ],
)
def test_speed_is_held_by_the_ratio_of_passes_whatever_the_p95_was(
    policy, before, after, factor, expected
):
    """p95 is 39 ms and 276 ms: a busy machine."""
    baseline = timed(snapshot({"a": 1, "b": 1}, p95=39.0), before)
    current = timed(snapshot({"a": 1, "b": 1}, p95=276.0), [factor * cost for cost in after])
    gate = verdict(baseline, current, policy())
    rule = rule_of(gate, "search_p95")
    assert (rule.status, gate.verdict) == (expected, expected)
    assert (rule.limit, rule.baseline, rule.current) == (1.15, 39.0, 276.0)
    assert (rule.values["before"], rule.values["after"]) == ("39", "276")


def test_a_slow_search_fails_from_a_rise_of_200_ms_on(policy):
    """A query of 5 ms may rise by 15 %; one of 4 000 ms by 200, which are 5 %."""
    run = snapshot({"a": 1})
    slow = timed(run, STEADY, query_ms=4_000.0)
    for factor, expected in ((1.04, "passed"), (1.06, "failed")):
        current = timed(run, [factor * cost for cost in STEADY])
        assert verdict(slow, current, policy()).verdict == expected


def test_only_queries_that_both_runs_timed_are_compared(policy):
    run = snapshot({"a": 1, "b": 1})
    both, one = timed(run, STEADY), timed(run, STEADY, queries=("b",))
    assert compare(both, one).speed[0].ratio == pytest.approx(1.0)
    assert verdict(both, one, policy()).verdict == "passed"
    assert compare(both, timed(run, STEADY, clock="wall")).speed[0].ratio is None


def test_a_run_that_measures_speed_no_more_fails(policy):
    run = snapshot({"a": 1})
    gate = verdict(timed(run, STEADY), run, policy())
    assert gate.verdict == "failed"
    assert "--speed-passes" in gate.reasons[0]
    assert verdict(run, timed(run, STEADY), policy()).verdict == "passed"  # a baseline before it


@pytest.mark.parametrize(
    ("after", "factor", "told"),
    [
        (STEADY, 1.14, "passed"),
        (STEADY, 1.16, "skipped"),  # not all of its interval lies past the limit
        (STEADY, 1.18, "warned"),
        (WILD, 1.3, "skipped"),
        (None, 1, "warned"),
    ],
)
def test_the_speed_of_another_system_is_only_told_unless_the_policy_holds_it(
    policy, after, factor, told
):
    run = of_system(snapshot({"a": 1}))
    slower = of_system(snapshot({"a": 1}, p95=100.0 * factor))
    before = timed(run, STEADY)
    current = timed(slower, [factor * cost for cost in after]) if after else run
    gate = verdict(before, current, policy())
    rule = rule_of(gate, "search_p95")
    assert rule.status == told
    assert ("--gates" in rule.explanation) is (told != "passed")
    assert gate.verdict in {"passed", "warned"}
    held = verdict(before, current, policy(POLICY + '[speed]\nsystems = "hold"\n'))
    expected = {"warned": "failed", "skipped": "inconclusive"}.get(told, told)
    assert held.verdict == expected


def of_system(run, kind="http"):
    system = SystemReport(kind=kind, target="http://h", fingerprint="f")
    environment = run.environment.model_copy(update={"system": system})
    return run.model_copy(update={"environment": environment})


@pytest.mark.parametrize(
    ("p95", "factor", "scatter", "expected"),
    [
        (140.0, 1.4, 0.02, "failed"),
        (99.0, 1.4, 0.02, "inconclusive"),  # its p95 fell
        (140.0, 1.17, 0.05, "inconclusive"),  # not sure to be past 1.15
        (600.0, 6.0, 0.9, "inconclusive"),  # [1.4, 25]: as likely three times less
    ],
)
def test_held_another_system_fails_only_where_nothing_else_explains_it(
    policy, p95, factor, scatter, expected
):
    before = timed(of_system(snapshot({"a": 1})), STEADY)
    costs = [10.0 * factor * (1 + scatter * (-1) ** place) for place in range(8)]
    current = timed(of_system(snapshot({"a": 1}, p95=p95)), costs)
    gate = verdict(before, current, policy(POLICY + '[speed]\nsystems = "hold"\n'))
    assert gate.verdict == expected


def test_a_run_file_is_not_asked_for_times_it_cannot_have(policy):
    before = timed(of_system(snapshot({"a": 1})), STEADY)
    gate = verdict(before, of_system(snapshot({"a": 1}, p95=None), "run"), policy())
    rule = rule_of(gate, "search_p95")
    assert rule.why == "speed_of_file"
    assert "--speed-passes" not in rule.explanation


@pytest.mark.parametrize(
    ("total", "limit", "unseen"),
    [
        (13, "3.0 pp", "20.6 pp"),  # 1 - 0.05 ** (1/13)
        (200, "2.0 pp", None),  # 1 - 0.05 ** (1/200) is 0.015: a larger drop is ruled out
    ],
)
def test_a_pass_names_the_largest_drop_that_so_few_questions_cannot_show(
    policy, total, limit, unseen
):
    ranks = {f"q{i}": 1 for i in range(total)}
    found = compare(snapshot(ranks | {"q0": 2}), snapshot(ranks))
    verdict = release_verdict(Release(comparison=found, gate=judge_release(found, policy(), "mvp")))
    values = verdict.sentence.values["parts"][0].values
    assert (verdict.state, str(values["limit"])) == ("passed", limit)
    assert (str(values["most"]) if unseen else values.get("most")) == unseen


def test_how_much_is_judged_is_neither_better_nor_worse():
    sure = {"n": 99, "baseline": 0.9, "current": 0.5, "difference": -0.4, "changed": 50}
    sure |= {"low": -0.5, "high": -0.3, "p_adjusted": 0.001}
    assert MetricChange(metric="search.judged_at_10", **sure).is_better is None
    assert MetricChange(metric="search.mrr", **sure).is_better is False


def test_two_endpoints_are_told_how_to_be_one_system():
    runs = [of_system(snapshot({"a": 1})), of_system(snapshot({"a": 1}), "run")]
    other = SystemReport(kind="http", target="http://i", fingerprint="g")
    moved = runs[0].model_copy(
        update={"environment": runs[0].environment.model_copy(update={"system": other})}
    )
    (told,) = (one.meaning for one in compare(runs[0], moved).mismatches if one.what == "system")
    assert "--system-name NAME" in told
    (told,) = (one.meaning for one in compare(runs[1], moved).mismatches if one.what == "system")
    assert "--system-name" not in told  # a run file has no name


def test_a_small_sample_is_that_of_the_metric_and_says_what_one_item_weighs(policy):
    unanswerable = {f"u{i}": "right" for i in range(3)}
    runs = [
        snapshot({f"q{i}": rank if i == 0 else 1 for i in range(24)} | unanswerable)
        for rank in (1, 2)
    ]
    (rule,) = verdict(*runs, policy()).failed
    assert "small" in rule.remarks
    assert (rule.values["n"], rule.values["weight"]) == ("24", "0.0417")


def test_of_f1_nothing_is_said_of_what_one_item_weighs_for_it_is_no_mean(policy):
    """One of 40 verdicts flips and F1 falls by more than 1 / n (n = 20), which the sentence would call impossible."""
    items = {f"q{i}": 1 for i in range(20)} | {f"u{i}": "right" for i in range(8)}
    items |= {f"w{i}": "wrong" for i in range(12)}
    before, after = snapshot(items), snapshot(items | {"u0": "wrong"})
    gate = verdict(before, after, policy('[quality]\nmetrics = ["unanswerable.f1"]\n'))
    rule = rule_of(gate, "unanswerable.f1")
    assert rule.baseline - rule.current == pytest.approx(2 * 8 / 28 - 2 * 7 / 27)
    assert "small" not in rule.remarks


def test_the_gates_that_come_with_gigamind_hold_refusals_as_well_as_false_answers():
    """A judge that refuses more questions has the better FAR: one without the other lets any through."""
    held = Policy.read(None).quality.metrics
    assert {"unanswerable.far", "unanswerable.false_refusals"} <= {*held}


@pytest.mark.parametrize(
    ("answer", "text", "worst"),
    [
        ("wrong", POLICY, ["unanswerable.far"]),
        ("right", POLICY, []),
        ("wrong", POLICY + '[ceilings]\n"unanswerable.far" = 1.0\n', []),
    ],
)
def test_a_baseline_with_a_gated_metric_at_its_worst_is_known(policy, answer, text, worst):
    run = snapshot({f"u{i}": answer for i in range(20)})
    gated = policy(text.replace('"search.hit_at_1"', '"unanswerable.far"'))
    assert at_worst(run, gated) == worst


@pytest.mark.parametrize(
    ("before", "after", "held", "expected"),
    [
        (True, True, "warn", ("warned", "warned")),
        (True, True, "hold", ("failed", "failed")),
        (False, True, "warn", ("failed", "failed")),  # a judge that became weak is a regression
        (True, False, "warn", ("warned", "warned")),
        (False, False, "warn", ("failed", "failed")),
    ],
)
def test_the_verdicts_of_a_weak_judge_do_not_gate(policy, before, after, held, expected):
    """300 unanswerable queries, of which 60 more are accepted than before, and a search that stays the same."""

    def run(accepted, weak):
        judged = {f"n{i}": "right" if i >= accepted else "wrong" for i in range(300)}
        own = JudgeReport(kind="threshold", file="t", fingerprint="f")
        if weak:
            own = own.model_copy(update={"weak": WeakJudge(accepts=0.6, refuses=None)})
        made = snapshot({f"q{i}": 1 for i in range(300)} | judged)
        return made.model_copy(update={"judge": own})

    first, second = run(180, before), run(240, after)
    text = POLICY.replace('["search.hit_at_1"]', f'["unanswerable.far"]\nweak_judges = "{held}"')
    gate = judge_release(
        compare(first, second), policy(text), "mvp", judge=second.judge, before=first.judge
    )
    far = rule_of(gate, "unanswerable.far")
    assert (far.status, gate.verdict) == expected
    assert ("weak_judge" in far.remarks) == (expected[0] == "warned")
    if expected[0] == "warned":
        assert (far.values["accepts"], far.values["refuses"]) == ("60.0%", "–")
