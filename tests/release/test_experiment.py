import numpy as np
import pytest
from blocks import find
from snapshots import answers, links, snapshot

from gigamind.errors import InputError
from gigamind.i18n import translator
from gigamind.release.compare import _MOST_TAGS, compare, compare_with_first
from gigamind.reports.document import Bullets, Listing, Table
from gigamind.reports.experiment import experiment_document
from gigamind.stats.paired import compare_metrics, holm

NAMES = [f"q{number}" for number in range(12)]
FIRST = dict.fromkeys(NAMES, 2)
BETTER = FIRST | dict.fromkeys(NAMES[:9], 1)
WORSE = FIRST | {"q0": 1, "q1": 3, "q2": 4, "q3": None}


def with_slices(run, **of_items):
    """The run, whose items stand in these slices."""
    items = (item.model_copy(update=of_items.get(item.id, {})) for item in run.items)
    return run.model_copy(update={"items": tuple(items)})


def test_runs_of_other_modes_and_embedders_are_compared_and_told_apart():
    runs = [
        snapshot(FIRST, mode="keyword", model=None),
        snapshot(BETTER, mode="hybrid"),
        snapshot(WORSE, mode="hybrid", model="e5"),
    ]
    found = compare_with_first(["keyword", "hybrid", "hybrid"], runs)
    assert [run.label for run in found.runs] == ["keyword", "hybrid #1", "hybrid #2"]
    assert [run.setup for run in found.runs] == [
        {"mode": "keyword", "embedding model": "none"},
        {"mode": "hybrid", "embedding model": "use@1"},
        {"mode": "hybrid", "embedding model": "e5"},
    ]
    assert [run.figures["search.mrr"] for run in found.runs] == pytest.approx(
        [0.5, (9 * 1 + 3 * 0.5) / 12, (1 + 1 / 3 + 1 / 4 + 0 + 8 * 0.5) / 12]
    )
    assert [c.metric("search.mrr").baseline for c in found.comparisons] == [0.5, 0.5]


def test_two_runs_have_the_intervals_of_a_plain_comparison():
    runs = snapshot(FIRST), snapshot(WORSE)
    found = compare_with_first(["a", "b"], runs)
    assert found.comparisons == (compare(*runs).published(),)
    assert (found.correction.intervals, found.correction.confidence) == ("none", 0.95)


def test_intervals_of_many_runs_are_corrected_for_their_number_and_p_values_for_all():
    runs = [snapshot(FIRST), snapshot(BETTER), snapshot(WORSE), snapshot(BETTER | {"q9": 1})]
    found = compare_with_first(["a", "b", "c", "d"], runs)
    assert found.correction.intervals == "bonferroni"
    assert found.correction.confidence == pytest.approx(1 - 0.05 / 3)
    pairs = np.full(12, 0.5), np.array([1.0] * 9 + [0.5] * 3)
    alone = compare_metrics(
        {"search.mrr": pairs}, seed=42, label="compare", confidence=found.correction.confidence
    )["search.mrr"]
    change = found.comparisons[0].metric("search.mrr")
    assert (change.low, change.high) == (alone.low, alone.high)
    plain = compare(runs[0], runs[1]).metric("search.mrr")
    assert change.low < plain.low
    assert change.high >= plain.high
    changes = [change for comparison in found.comparisons for change in comparison.metrics]
    expected = holm([change.p_value for change in changes])
    assert [change.p_adjusted for change in changes] == expected


def test_items_of_some_runs_only_are_counted_and_in_no_figure():
    runs = [snapshot({"a": 1, "b": 2, "c": 1}), snapshot({"b": 1, "c": 1, "d": None})]
    found = compare_with_first(["x", "y"], runs)
    assert (found.shared, found.partial) == (2, ("a", "d"))
    assert [(run.items, run.lacks) for run in found.runs] == [(3, 1), (3, 1)]
    assert found.runs[1].figures["search.mrr"] == 1.0
    assert found.comparisons[0].metric("search.mrr").n == 2


def test_other_datasets_are_an_error_that_names_the_runs():
    runs = [snapshot({"a": 1}), snapshot({"a": 1}), snapshot({"a": 1}, dataset="other")]
    with pytest.raises(InputError) as caught:
        compare_with_first(["one", "two", "three"], runs)
    values = {"first": "one", "first_hash": "d", "other": "three", "other_hash": "other"}
    assert caught.value.message.values == values


def test_other_tasks_are_an_error():
    with pytest.raises(InputError, match="links"):
        compare_with_first(["a", "b"], [links({"a.md": (1, 2, 2)}), snapshot({"a": 1})])


def test_runs_without_a_common_item_are_an_error():
    with pytest.raises(InputError, match=r"a, b.*--sample"):
        compare_with_first(["a", "b"], [snapshot({"a": 1}), snapshot({"b": 1})])


def test_slices_are_those_that_any_run_knows_and_small_ones_have_no_interval():
    sliced = {name: {"language": "ko", "tags": ("x", "x")} for name in NAMES[:7]}
    sliced["q7"] = {"language": "en", "difficulty": "hard", "cross_lingual": True}
    runs = snapshot(FIRST), with_slices(snapshot(BETTER), **sliced)
    slices = {(one.kind, one.key): one for one in compare_with_first(["a", "b"], runs).slices}
    assert {name: one.items for name, one in slices.items()} == {
        ("language", "ko"): 7, ("language", "en"): 1, ("cross_lingual", ""): 1,
        ("difficulty", "hard"): 1, ("tag", "x"): 7,
    }  # fmt: skip
    large, small = (
        next(c for c in slices["language", key].metrics[0] if c.metric == "search.mrr")
        for key in ("ko", "en")
    )
    assert (large.difference, large.low, large.high) == (0.5, 0.5, 0.5)
    assert (small.difference, small.low, small.high) == (0.5, None, None)


def test_the_largest_tags_are_shown_and_the_others_counted():
    tags = {name: {"tags": tuple(f"t{n}" for n in range(20 - at))} for at, name in enumerate(NAMES)}
    found = compare_with_first(["a", "b"], [with_slices(snapshot(FIRST), **tags), snapshot(BETTER)])
    assert [one.key for one in found.slices][:9] == [f"t{n}" for n in range(9)]
    assert (len(found.slices), found.tags_left_out) == (_MOST_TAGS, 20 - _MOST_TAGS)


def test_runs_of_links_are_compared_by_their_sums():
    runs = [
        links({f"{n}.md": (1, 2, 2) for n in range(8)}),
        links({f"{n}.md": (2, 2, 2) for n in range(8)}),
    ]
    change = compare_with_first(["a", "b"], runs).comparisons[0].metric("links.precision_at_5")
    assert (change.baseline, change.current, change.improved) == (0.5, 1.0, 8)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_runs_of_answers_and_of_links_have_their_page(lang):
    texts = dict.fromkeys(NAMES, "dgs")
    judged = [
        answers(texts),
        answers(texts, correctness=dict.fromkeys(NAMES[:8], 0.5)),
        answers(texts, checklist=None),
    ]
    linked = [links({"a.md": (1, 2, 2)}), links({"a.md": (2, 2, 2)})]
    say = translator(lang)
    judged_page, linked_page = (
        experiment_document(compare_with_first(["x", "y", "z"][: len(runs)], runs), runs, say)
        for runs in (judged, linked)
    )
    warnings = find(judged_page.blocks, Bullets).items
    assert [warning.values["run"] for warning in warnings] == ["z"]  # its checklist differs
    assert "1.00 → 0.50" in find(judged_page.blocks, Listing).data
    assert [say(label) for label in find(linked_page.blocks, Table).columns][1:3] == ["x", "y"]
