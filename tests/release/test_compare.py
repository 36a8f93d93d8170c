import pytest
from message_values import values_of
from snapshots import answers, snapshot

from gigamind.errors import InputError
from gigamind.release.compare import check_models, compare, compare_with_first


def test_figures_of_two_runs_by_hand():
    baseline = snapshot({"a": 1, "b": 1, "c": 2, "d": None})
    current = snapshot({"a": 1, "b": 2, "c": 1, "d": 4})
    mrr = compare(baseline, current).metric("search.mrr")
    assert mrr.n == 4
    assert mrr.baseline == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert mrr.current == pytest.approx((1 + 0.5 + 1 + 0.25) / 4)
    assert mrr.difference == pytest.approx(0.0625)
    assert mrr.drop == pytest.approx(-0.0625)
    assert (mrr.improved, mrr.worse) == (2, 1)
    assert mrr.low <= 0.0625 <= mrr.high


def test_far_is_worse_when_it_rises():
    baseline = snapshot({"a": 1, "u": "right", "v": "right", "w": "wrong", "x": "right"})
    current = snapshot({"a": 1, "u": "wrong", "v": "right", "w": "wrong", "x": "right"})
    far = compare(baseline, current).metric("unanswerable.far")
    assert (far.n, far.baseline, far.current, far.drop) == (4, 0.25, 0.5, 0.25)
    assert (far.improved, far.worse) == (0, 1)


def test_f1_and_precision_are_tested_by_what_each_query_adds_to_them():
    baseline = snapshot({"a": 1} | {f"u{i}": "right" if i < 2 else "wrong" for i in range(8)})
    current = snapshot({"a": 1} | {f"u{i}": "right" for i in range(8)})
    f1 = compare(baseline, current).metric("unanswerable.f1")
    assert f1.baseline == pytest.approx(4 / 10)  # tp 2, fn 6, fp 0
    assert f1.current == pytest.approx(1.0)
    assert (f1.n, f1.improved, f1.worse) == (8, 6, 0)  # "a" is in none of its counts
    precision = compare(baseline, current).metric("unanswerable.precision")
    assert (f1.items, precision.items) == ((8, 8), (2, 8))
    assert f1.low <= f1.difference <= f1.high
    assert f1.p_value < 0.05


def test_a_ratio_of_0_or_1_is_exact():
    runs = [snapshot({f"u{i}": x for i in range(9)} | {"a": 1}) for x in ("right", "wrong")]
    refused = runs[1].items[-1].model_copy(update={"judged_unanswerable": True})
    runs[1] = runs[1].model_copy(update={"items": (*runs[1].items[:-1], refused)})
    f1 = compare(*runs).metric("unanswerable.f1")
    assert (f1.baseline, f1.current, f1.difference) == (1.0, 0.0, -1.0)


def test_runs_without_an_unanswerable_query_have_no_f1_to_compare():
    """One of 0 in both, for a refused query, would be the worst there is: then gates give no verdict."""
    (item,) = (run := snapshot({"a": 1})).items
    refused = item.model_copy(update={"judged_unanswerable": True})
    both = run.model_copy(update={"items": (refused,)})
    comparison = compare(both, both)
    assert comparison.metric("unanswerable.f1") is None
    assert comparison.metric("unanswerable.false_refusals").current == 1.0


def test_a_query_without_a_verdict_counts_in_no_figure_about_verdicts_and_is_named():
    run = snapshot({"a": 1, "u": "right", "v": "wrong"})
    gone = run.items[1].model_copy(update={"judged_unanswerable": None})
    current = run.model_copy(update={"items": (run.items[0], gone, run.items[2])})
    comparison = compare(run, current)
    assert [item.id for item in comparison.unjudged] == ["u"]
    assert comparison.metric("unanswerable.far").n == 1
    assert compare(current, run).unjudged == ()


def test_only_shared_items_count():
    comparison = compare(snapshot({"a": 1, "gone": None}), snapshot({"a": 1, "new": None}))
    assert (comparison.shared, comparison.only_baseline, comparison.only_current) == (1, 1, 1)
    assert comparison.metric("search.mrr").baseline == 1.0
    assert [(lost.id, lost.text) for lost in comparison.lost] == [("gone", "question gone")]


def test_an_item_outside_another_sample_is_not_lost():
    drawn = snapshot({"a": 1})
    other = drawn.model_copy(update={"config": {**drawn.config, "sample": "1"}})
    assert compare(snapshot({"a": 1, "b": 1}), other).lost == ()


def test_another_seed_without_a_sample_hides_no_lost_item():
    drawn = snapshot({"a": 1})
    other = drawn.model_copy(update={"config": {**drawn.config, "seed": 43}})
    assert [lost.id for lost in compare(snapshot({"a": 1, "b": 1}), other).lost] == ["b"]


def test_items_that_changed_stand_worst_first_with_both_rankings():
    baseline = snapshot({"a": 1, "b": 1, "c": 3, "u": "right", "same": 2})
    current = snapshot({"a": None, "b": 2, "c": 1, "u": "wrong", "same": 2})
    comparison = compare(baseline, current)
    found = [(change.id, change.change, values_of(change.what)) for change in comparison.changes]
    assert found == [
        ("a", "worse", [1, None]), ("u", "worse", [None]), ("b", "worse", [1, 2]),
        ("c", "improved", [3, 1]),
    ]  # fmt: skip
    assert comparison.unchanged == 1
    lost = comparison.changes[0]
    assert lost.baseline_ranking[0].note == "right.md"
    assert "right.md" not in [hit.note for hit in lost.current_ranking]


@pytest.mark.parametrize(
    ("before", "after", "change", "what"),
    [
        ((2, False), (1, True), "worse", [2, 1, None]),
        ((None, False), (1, True), "worse", [None, 1, None]),
        ((1, True), (2, False), "improved", [1, 2, None]),
        ((1, True), (None, False), "worse", [1, None, None]),
        ((2, True), (1, True), "improved", [2, 1]),
        ((1, False), (1, True), "worse", ["answerable, now judged unanswerable"]),
    ],
)
def test_a_refusal_decides_before_the_rank_and_a_lost_note_before_a_right_verdict(
    before, after, change, what
):
    def run(rank, is_refused):
        (item,) = (made := snapshot({"a": rank})).items
        refused = item.model_copy(update={"judged_unanswerable": is_refused})
        return made.model_copy(update={"items": (refused,)})

    (changed,) = compare(run(*before), run(*after)).changes
    told = values_of(changed.what) if before[0] != after[0] else [str(changed.what)]
    assert (changed.change, told) == (change, what)


def with_metrics(run, metrics):
    """The run with these metrics besides on its items, in their order."""
    items = tuple(
        item.model_copy(update={"metrics": {**item.metrics, **more}})
        for item, more in zip(run.items, metrics, strict=True)
    )
    return run.model_copy(update={"items": items})


# Two runs of ten items, of which eight lost their first place.
TEN = [snapshot({f"q{i}": 2 if i < lost else 1 for i in range(10)}) for lost in (0, 8)]


def test_a_metric_under_two_names_is_counted_once():
    def named_twice(run):
        return with_metrics(run, [{"same": item.metrics["hit_at_1"]} for item in run.items])

    baseline, current = map(named_twice, TEN)
    found = compare(baseline, current)
    hit, same = found.metric("search.hit_at_1"), found.metric("search.same")
    assert (hit.same_as, same.same_as) == (None, "search.hit_at_1")
    alone = compare(*TEN).metric("search.hit_at_1").p_adjusted
    assert same.p_adjusted == hit.p_adjusted == alone
    apart = with_metrics(current, [{}] * 9 + [{"same": 0.5}])
    assert compare(baseline, apart).metric("search.same").same_as is None


def test_a_metric_under_two_names_is_counted_once_whatever_others_are_measured_on():
    """One answer that abstains has no correctness, but an answered share: that is no reason for another p-value."""

    def both(run, *, lacks):
        values = [item.metrics["hit_at_1"] for item in run.items]
        metrics = [{"x": v, "y": v / 4, "z": v} for v in values]
        metrics[lacks[0]] |= {"x": None}
        metrics[lacks[1]] |= {"z": None}
        return with_metrics(run, metrics)

    def same_as(lacks):
        changes = compare(*(both(run, lacks=lacks) for run in TEN))
        return {name: changes.metric(f"search.{name}").same_as for name in "xyz"}

    assert same_as((9, 9)) == {"x": None, "y": None, "z": "search.x"}
    # The same differences of two other items.
    assert same_as((8, 9)) == {"x": None, "y": None, "z": None}


def test_metrics_that_differ_alike_from_other_levels_are_one_test():
    run = snapshot({f"q{i}": 1 for i in range(8)})
    low = with_metrics(run, [{"x": 0.0, "y": 0.25}] * 8)
    high = with_metrics(run, [{"x": 0.5, "y": 0.75}] * 7 + [{"x": 0.0, "y": 0.25}])
    x, y = (compare(low, high).metric(f"search.{name}") for name in "xy")
    assert (x.same_as, y.same_as) == (None, "search.x")
    assert x.p_value == y.p_value
    assert x.p_adjusted == y.p_adjusted


@pytest.mark.parametrize(
    ("modes", "models", "detail"),
    [
        (("hybrid", "hybrid"), ("use@1", "use@2"), "use@1 → use@2"),
        (("hybrid", "semantic"), ("use@1", "use@2"), "use@1 → use@2"),
        (("hybrid", "hybrid"), ("use@1", None), "use@1 → none"),  # no setting does away with it
    ],
)
def test_different_embedding_models_are_compared_and_refused_by_gates(modes, models, detail):
    runs = [
        snapshot({"a": 1}, model=model, mode=mode)
        for mode, model in zip(modes, models, strict=True)
    ]
    mismatch = next(one for one in compare(*runs).mismatches if one.what == "embedding model")
    assert (mismatch.severity, mismatch.detail) == ("refuse", detail)
    with pytest.raises(InputError, match=detail):
        check_models(*runs)


def test_other_recorded_answers_to_the_same_questions_are_told_from_other_questions():
    """The questions are alike, so no difference comes from them; two systems are compared over one dataset."""
    before = answers({"a": None, "b": None})
    after = before.model_copy(update={"dataset_hash": "other"})
    (mismatch,) = compare(before, after).mismatches
    assert (mismatch.what, mismatch.severity) == ("recorded answers", "refuse")
    assert "`--system run:FILE`" in mismatch.meaning
    with pytest.raises(InputError, match="--system run:FILE"):
        compare_with_first(["one", "two"], [before, after])


def test_questions_that_changed_and_answers_that_were_asked_for_are_other_datasets():
    before = answers({"a": None, "b": None})
    other = {"dataset_hash": "other"}
    asked = before.model_copy(update={"config": {"answer_model": "openai/a"}})
    changed = before.items[0].model_copy(update={"question": "another"})
    for baseline, current in (
        (before, before.model_copy(update={**other, "items": (changed, *before.items[1:])})),
        (before, before.model_copy(update={**other, "items": before.items[1:]})),
        (asked, asked.model_copy(update=other)),
    ):
        (mismatch,) = compare(baseline, current).mismatches
        assert mismatch.what == "dataset"
        with pytest.raises(InputError, match="two"):
            compare_with_first(["one", "two"], [baseline, current])


@pytest.mark.parametrize("back", [False, True])
def test_a_mode_without_a_model_is_a_change_of_settings_that_names_the_mode(back):
    """`--changed settings` covers what was set, so it must cover the model that this does away with."""
    hybrid, keyword = (
        snapshot({"a": 1}, model=model).model_copy(update={"config": {"mode": mode}})
        for mode, model in (("hybrid", "use@1"), ("keyword", None))
    )
    runs = (keyword, hybrid) if back else (hybrid, keyword)
    (mismatch,) = compare(*runs).mismatches
    assert (mismatch.severity, mismatch.relaxed_by) == ("no-verdict", "settings")
    assert mismatch.detail == ("mode keyword → hybrid" if back else "mode hybrid → keyword")
    check_models(*runs)


@pytest.mark.parametrize(
    ("changed", "what", "severity"),
    [
        ({"dataset": "x"}, "dataset", "refuse"), ({"judge": "x"}, "judge", "refuse"),
        ({"notes": "x"}, "notes", "no-verdict"), ({"hardware": "x"}, "hardware", "no-verdict"),
        ({"schema": "9"}, "index schema", "warn"),
        ({"mode": "keyword"}, "retrieval settings", "no-verdict"),
        ({"fusion": "balanced"}, "retrieval settings", "no-verdict"),
    ],
)  # fmt: skip
def test_each_difference_of_the_runs_is_named(changed, what, severity):
    found = compare(snapshot({"a": 1}), snapshot({"a": 1}, **changed)).mismatches
    assert [(m.what, m.severity) for m in found] == [(what, severity)]


def test_a_baseline_from_before_there_was_a_choice_of_fusion_is_a_weighted_one():
    assert compare(snapshot({"a": 1}), snapshot({"a": 1}, fusion="weighted")).mismatches == ()


def moved(worse, better=0, total=200):
    """hit@1 of a run in which so many items lost their first place, and so many others won it."""
    items = [f"q{i}" for i in range(total)]
    before = {name: 2 if i < better else 1 for i, name in enumerate(items)}
    after = {name: 2 if i >= total - worse else 1 for i, name in enumerate(items)}
    return compare(snapshot(before), snapshot(after)).metric("search.hit_at_1")


@pytest.mark.parametrize(
    ("worse", "better", "is_better"),
    [
        (20, 0, False),
        (0, 20, True),
        (3, 0, None),  # all one way in 1 of 4 such cases
        (5, 0, None),
        (6, 0, None),  # p is 0.031, and above 0.05 once it is adjusted
        (20, 15, None),
    ],
)
def test_a_change_is_sure_where_neither_interval_nor_adjusted_p_allow_chance(
    worse, better, is_better
):
    assert moved(worse, better).is_better is is_better


def test_fewer_than_six_changed_items_have_a_p_and_no_interval_to_show():
    five, six = moved(5), moved(6)
    assert (five.worse, five.interval, five.test) == (5, None, "mcnemar")
    assert five.p_value == pytest.approx(2 * 0.5**5)  # five discordant pairs, all one way
    assert five.p_value < five.p_adjusted <= 1
    assert six.interval == (six.low, six.high)
    assert (five.published().low, five.published().high) == (None, None)
    assert six.published() == six


def test_a_rise_of_a_rate_of_errors_is_surely_worse():
    runs = (snapshot({f"u{i}": verdict for i in range(20)}) for verdict in ("right", "wrong"))
    assert compare(*runs).metric("unanswerable.far").is_better is False


def languages(run, english):
    """The run with so many of its items in English, the others in Korean."""
    items = [
        item.model_copy(update={"language": "en" if i < english else "ko"})
        for i, item in enumerate(run.items)
    ]
    return run.model_copy(update={"items": tuple(items)})


@pytest.mark.parametrize(
    ("worse", "english", "slice_of_all"),
    [
        (10, 20, ("language", "ko")),  # 0.5**10 by chance
        (10, 31, None),  # one of them is English
        (4, 20, None),  # 0.5**4 by chance, for each of two languages
        (10, 0, None),  # all are Korean, whether worse or not
        (0, 20, None),
    ],
)
def test_the_slice_that_holds_all_that_got_worse_is_named_where_chance_does_not_explain_it(
    worse, english, slice_of_all
):
    before = snapshot({f"q{i}": 1 for i in range(40)})
    after = snapshot({f"q{i}": 2 if i >= 40 - worse else 1 for i in range(40)})
    compared = compare(languages(before, english), languages(after, english))
    assert compared.worse_in == slice_of_all
