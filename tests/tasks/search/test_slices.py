import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.stats import intervals
from gigamind.tasks.search.schema import ItemReport
from gigamind.tasks.search.summary import _slices_of

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


def overall(items, seed=42):
    return _slices_of(items, seed)["overall"]


def _answered(name, mrr, **changes):
    return replace(ANSWERED, id=name, metrics={"mrr": mrr, "span_recall": None}, **changes)


def test_a_mean_is_over_the_items_that_were_measured():
    items = [
        _answered("q1", 1.0),
        _answered("q2", 0.5),
        replace(ANSWERED, id="q3", metrics={"mrr": 0.0, "span_recall": 0.25}),
        UNANSWERABLE,
    ]
    found = overall(items)
    counts = {"queries": 4, "answerable": 3, "unanswerable": 1}
    assert found.counts.model_dump() == counts
    assert (found.search["mrr"], found.intervals["search.mrr"].n) == (0.5, 3)
    one = found.intervals["search.span_recall"]
    assert (found.search["span_recall"], one.n) == (0.25, 1)
    assert one.low < 0.25 < one.high


def test_a_mean_is_rounded_from_the_exact_sum():
    # Ten times 0.1, added one by one, is 0.9999999999999999.
    items = [_answered(f"q{i:02}", 0.1 if i < 10 else 0.0) for i in range(20)]
    assert overall(items).search["mrr"] == 0.05


def test_a_mean_of_equal_values_is_that_value_and_its_interval_that_of_a_share():
    # fsum([0.7] * 3) / 3 is one unit below 0.7.
    found = overall([_answered(f"q{i}", 0.7) for i in range(3)])
    assert found.search["mrr"] == 0.7
    # Wilson's interval of 70 % of three
    own = found.intervals["search.mrr"]
    assert (own.low, own.high) == pytest.approx((0.2264, 0.9490), abs=1e-4)


def test_answerability_figures_stand_on_their_denominators():
    judged = [(True, True)] * 6 + [(False, True)] * 2 + [(True, False)] * 4 + [(False, False)] * 8
    items = [
        replace(UNANSWERABLE, id=f"q{i:02}", answerable=not is_so, judged_unanswerable=said)
        for i, (is_so, said) in enumerate(judged)
    ]
    found = overall(items)
    sizes = {name: found.intervals[f"unanswerable.{name}"].n for name in found.unanswerable}
    assert {name: (value, sizes[name]) for name, value in found.unanswerable.items()} == {
        "precision": (0.75, 8),
        "recall": (0.6, 10),
        "f1": (12 / 18, 12),
        "far": (0.4, 10),
        "false_refusals": (0.2, 10),
    }
    far, recall = (found.intervals[f"unanswerable.{name}"] for name in ("far", "recall"))
    assert far.low == pytest.approx(1 - recall.high)


def test_where_nothing_is_unanswerable_only_false_refusals_are_a_figure():
    ours = replace(ANSWERED, tags=("ours",))
    refused = replace(ours, id="q2", judged_unanswerable=True)
    values = _slices_of([ours, refused, UNANSWERABLE], 42)["by_tag"]["ours"].unanswerable
    assert values == dict.fromkeys(values) | {"false_refusals": 0.5}


def test_latency_is_over_answerable_and_unanswerable_items():
    found = overall([ANSWERED, replace(UNANSWERABLE, latency_ms=20.0)]).search
    told = [found[f"latency_{name}_ms"] for name in ("p50", "p95", "p99")]
    assert told == pytest.approx([15.0, 19.5, 19.9])


def test_without_cross_lingual_items_there_is_no_such_slice():
    assert _slices_of([ANSWERED], 42)["cross_lingual"] is None


def test_a_slice_of_all_items_has_the_figures_of_all_items():
    found = _slices_of([_answered(f"q{i:02}", i % 7 / 7) for i in range(40)], 42)
    assert found["by_language"]["ko"] == found["by_tag"]["policy"] == found["overall"]


def test_nothing_evaluated_is_no_figure_at_all():
    found = _slices_of([], 42)
    whole = found.pop("overall")
    assert whole.counts.queries == 0
    assert {*whole.search.values(), *whole.unanswerable.values()} == {None}
    assert list(found.values()) == [{}, None, {}, {}]


def test_the_seed_moves_the_intervals_and_never_the_means():
    items = [_answered(f"q{i:02}", i % 7 / 7) for i in range(40)]
    one, two = (overall(items, seed) for seed in (1, 2))
    assert one.search == two.search
    assert one.intervals["search.mrr"] != two.intervals["search.mrr"]


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
    assert _slices_of(generator.sample(items, len(items)), 42) == _slices_of(items, 42)
