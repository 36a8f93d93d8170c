from math import isnan
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.stats import intervals
from gigamind.stats.intervals import Estimate, Interval
from gigamind.tasks.search.schema import ItemReport
from gigamind.tasks.search.summary import slices_of

NOTHING = Estimate(None, None, 0, 0)

ANSWERED = ItemReport(
    id="q1",
    query="query",
    language="ko",
    cross_lingual=False,
    tags=("policy",),
    difficulty="easy",
    answerable=True,
    expected_notes=(),
    expected_spans=(),
    ranking=(),
    judged_unanswerable=False,
    top_base_score=None,
    metrics={"mrr": 1.0, "span_recall": None},
    latency_ms=10.0,
)


def replace(item, **changes):
    return item.model_copy(update=changes)


UNANSWERABLE = replace(ANSWERED, id="q9", answerable=False, metrics={})


def summarise(items, *, seed):
    """Slices with estimates instead of values and intervals beside each other."""
    fields = slices_of(items, seed)
    named = {
        name: {key: _estimated(part) for key, part in fields[name].items()}
        for name in ("by_language", "by_tag", "by_difficulty")
    }
    across = fields["cross_lingual"] and _estimated(fields["cross_lingual"])
    overall = _estimated(fields["overall"])
    return SimpleNamespace(overall=overall, cross_lingual=across, **named)


def _estimated(part):
    def estimates(block):
        found = {}
        for key, interval in part.intervals.items():
            of, _dot, name = key.partition(".")
            if of == block:
                ends = None if interval.low is None else Interval(interval.low, interval.high)
                n = interval.n
                found[name] = Estimate(getattr(part, block)[name], ends, n, n)
        return found

    counts = part.counts
    return SimpleNamespace(
        n=counts.queries,
        n_answerable=counts.answerable,
        n_unanswerable=counts.unanswerable,
        search=estimates("search"),
        unanswerable=estimates("unanswerable"),
        latency=[part.search[f"latency_{name}_ms"] for name in ("p50", "p95", "p99")],
    )


def _answered(name, mrr, **changes):
    return replace(ANSWERED, id=name, metrics={"mrr": mrr, "span_recall": None}, **changes)


def test_a_mean_is_over_the_items_that_were_measured():
    items = [
        _answered("q1", 1.0),
        _answered("q2", 0.5),
        replace(ANSWERED, id="q3", metrics={"mrr": 0.0, "span_recall": 0.25}),
        UNANSWERABLE,
    ]
    overall = summarise(items, seed=42).overall
    assert (overall.n, overall.n_answerable, overall.n_unanswerable) == (4, 3, 1)
    assert (overall.search["mrr"].value, overall.search["mrr"].n) == (0.5, 3)
    one = overall.search["span_recall"]
    assert (one.value, one.n) == (0.25, 1)
    assert one.low < 0.25 < one.high


def test_a_metric_that_no_item_has_is_none_over_zero_items():
    assert summarise([ANSWERED], seed=42).overall.search["span_recall"] == NOTHING


def test_a_mean_is_rounded_from_the_exact_sum():
    # Ten times 0.1, added one by one, is 0.9999999999999999.
    items = [_answered(f"q{i:02}", 0.1 if i < 10 else 0.0) for i in range(20)]
    assert summarise(items, seed=42).overall.search["mrr"].value == 0.05


def test_a_mean_of_equal_values_is_that_value_and_its_interval_that_of_a_share():
    # fsum([0.7] * 3) / 3 is one unit below 0.7.
    items = [_answered(f"q{i}", 0.7) for i in range(3)]
    found = summarise(items, seed=42).overall.search["mrr"]
    # Wilson's interval of 70 % of three
    low, high = pytest.approx(0.2264, abs=1e-4), pytest.approx(0.9490, abs=1e-4)
    assert found == Estimate(0.7, Interval(low, high), 3, 3)


def test_the_interval_of_a_mean_worked_out_by_hand():
    # One success in four: see the interval's own test.  Wilson's, 0.046 to 0.699, is inside.
    items = [_answered(f"q{i}", float(i == 0)) for i in range(4)]
    assert summarise(items, seed=42).overall.search["mrr"] == Estimate(
        0.25, Interval(0.0, 0.75), 4, 4
    )


def test_answerability_figures_stand_on_their_denominators():
    judged = [(True, True)] * 6 + [(False, True)] * 2 + [(True, False)] * 4 + [(False, False)] * 8
    items = [
        replace(UNANSWERABLE, id=f"q{i:02}", answerable=not is_so, judged_unanswerable=said)
        for i, (is_so, said) in enumerate(judged)
    ]
    found = summarise(items, seed=42).overall.unanswerable
    assert {name: (estimate.value, estimate.n) for name, estimate in found.items()} == {
        "precision": (0.75, 8),
        "recall": (0.6, 10),
        "f1": (12 / 18, 12),
        "far": (0.4, 10),
        "false_refusals": (0.2, 10),
    }
    assert all(e.low < e.value < e.high for e in found.values())
    assert found["far"].low == pytest.approx(1 - found["recall"].high)


def test_a_judge_that_never_says_unanswerable_has_no_precision():
    found = summarise([ANSWERED, UNANSWERABLE], seed=42).overall.unanswerable
    assert found == {
        "precision": NOTHING,
        # z^2 / (1 + z^2) of Wilson: one item tells little
        "recall": Estimate(0.0, Interval(0.0, pytest.approx(0.7935, abs=1e-4)), 1, 1),
        "f1": Estimate(0.0, Interval(0.0, pytest.approx(0.7935, abs=1e-4)), 1, 1),
        "far": Estimate(1.0, Interval(pytest.approx(0.2065, abs=1e-4), 1.0), 1, 1),
        "false_refusals": Estimate(0.0, Interval(0.0, pytest.approx(0.7935, abs=1e-4)), 1, 1),
    }


def test_where_nothing_is_unanswerable_only_false_refusals_are_a_figure():
    ours = replace(ANSWERED, tags=("ours",))
    refused = replace(ours, id="q2", judged_unanswerable=True)
    found = summarise([ours, refused, UNANSWERABLE], seed=42).by_tag["ours"].unanswerable
    values = {name: estimate.value for name, estimate in found.items()}
    assert values == dict.fromkeys(values) | {"false_refusals": 0.5}


def test_latency_is_over_answerable_and_unanswerable_items():
    items = [ANSWERED, replace(UNANSWERABLE, latency_ms=20.0)]
    found = summarise(items, seed=42).overall.latency
    assert found == pytest.approx([15.0, 19.5, 19.9])


def test_slices_hold_their_own_items_under_sorted_keys():
    items = [
        _answered("q1", 1.0, language="ko", tags=("policy", "hr", "hr"), difficulty="mid"),
        _answered("q2", 0.5, language="en", tags=("hr",), difficulty="easy", cross_lingual=True),
        _answered("q3", 0.0, language="ko", tags=(), difficulty=None),
        replace(UNANSWERABLE, language=None, tags=("zoo",)),
    ]
    found = summarise(items, seed=42)

    def figures(slices):
        return [(key, s.n, s.search["mrr"].value) for key, s in slices.items()]

    assert figures(found.by_language) == [("en", 1, 0.5), ("ko", 2, 0.5)]
    assert figures(found.by_tag) == [("hr", 2, 0.75), ("policy", 1, 1.0), ("zoo", 1, None)]
    assert figures(found.by_difficulty) == [("easy", 2, 0.5), ("mid", 1, 1.0)]
    assert found.cross_lingual is not None
    assert (found.cross_lingual.n, found.cross_lingual.search["mrr"].value) == (1, 0.5)


def test_without_cross_lingual_items_there_is_no_such_slice():
    assert summarise([ANSWERED], seed=42).cross_lingual is None


def test_a_slice_of_all_items_has_the_figures_of_all_items():
    items = [_answered(f"q{i:02}", i % 7 / 7) for i in range(40)]
    found = summarise(items, seed=42)
    assert found.by_language["ko"] == found.by_tag["policy"] == found.overall


def test_nothing_evaluated_is_no_figure_at_all():
    found = summarise([], seed=42)
    assert (found.overall.n, found.overall.search, found.overall.latency) == (0, {}, [None] * 3)
    assert set(found.overall.unanswerable.values()) == {NOTHING}
    assert found.by_language == found.by_tag == found.by_difficulty == {}


def test_the_seed_moves_the_intervals_and_never_the_means():
    items = [_answered(f"q{i:02}", i % 7 / 7) for i in range(40)]
    one, two = (summarise(items, seed=seed).overall.search["mrr"] for seed in (1, 2))
    assert one.value == two.value
    assert (one.low, one.high) != (two.low, two.high)


shares = st.none() | st.floats(0, 1)
runs = st.lists(
    st.builds(
        lambda unanswerable, said, values, language, tags, ms: replace(
            ANSWERED,
            language=language,
            tags=tuple(tags),
            answerable=not unanswerable,
            judged_unanswerable=said,
            metrics={} if unanswerable else values,
            latency_ms=ms,
        ),
        st.booleans(),
        st.booleans(),
        st.fixed_dictionaries({"mrr": shares, "span_recall": shares}),
        st.sampled_from(["ko", "en"]),
        st.lists(st.sampled_from("xyz"), max_size=2),
        st.floats(0, 1000),
    ),
    max_size=8,
).map(lambda items: [replace(item, id=f"q{i}") for i, item in enumerate(items)])


def _numbers(value):
    if isinstance(value, SimpleNamespace):
        return _numbers(vars(value))
    if isinstance(value, Estimate):
        return _numbers({"value": value.value, "low": value.low, "high": value.high})
    if isinstance(value, list):
        return [number for inner in value for number in _numbers(inner)]
    if isinstance(value, dict):
        return [number for inner in value.values() for number in _numbers(inner)]
    return [] if value is None else [value]


@pytest.fixture(scope="module")
def few_resamples():
    """For properties that hold of any number of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_RESAMPLES", 200)
        yield


@pytest.mark.usefixtures("few_resamples")
@given(runs, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_figures_do_not_depend_on_the_order_of_the_items(items, generator):
    shuffled = generator.sample(items, len(items))
    assert repr(summarise(shuffled, seed=42)) == repr(summarise(items, seed=42))


@pytest.mark.usefixtures("few_resamples")
@given(runs)
@settings(max_examples=25)
def test_no_figure_is_nan_and_every_figure_has_its_interval(items):
    found = summarise(items, seed=42)
    assert not any(isnan(number) for number in _numbers(vars(found)))
    for estimate in (*found.overall.search.values(), *found.overall.unanswerable.values()):
        measured = estimate.n > 0
        assert [x is not None for x in (estimate.value, estimate.low, estimate.high)] == [
            measured
        ] * 3
        assert estimate.low is None or 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        assert estimate.low is None or estimate.high - estimate.low > 0.1  # of eight items
