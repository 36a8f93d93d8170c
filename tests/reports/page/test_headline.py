import re
from dataclasses import replace

import pytest

from gigamind.formats import moment
from gigamind.i18n import translator
from gigamind.metrics.answerability import confusion, measure_verdicts
from gigamind.records.schema import IntervalReport
from gigamind.release.compare import compare
from gigamind.reports.figures import Figure
from gigamind.reports.page.headline import card, main_changes, notices
from gigamind.tasks import KINDS
from gigamind.tasks.search.page import cards, headline

EN = translator("en")


@pytest.fixture
def compared(make_record, make_item):
    """A run of twelve answerable queries with these reciprocal ranks, and its comparison with another."""

    def build(now, before, **run):
        runs = [
            make_record(
                tuple(
                    make_item(i, metrics={"mrr": value, "hit_at_1": float(value == 1)})
                    for i, value in enumerate(values)
                ),
                run=changes,
            )
            for values, changes in ((now, {}), (before, run))
        ]
        return runs[0], compare(
            KINDS["search"].take_snapshot(runs[1]), KINDS["search"].take_snapshot(runs[0])
        )

    return build


def test_without_a_baseline_the_result_is_told_in_counts(make_record):
    # hit@1 is 0.5 of 2 answerable queries, FAR 0.5 of 2 unanswerable ones, and no answerable one was refused.
    told = re.findall(r"\d+ of \d+|[\d.]+%", headline(make_record(), None, EN))
    assert told == ["1 of 2", "50.0%", "0 of 2", "0.0%", "1 of 2", "50.0%"]


@pytest.mark.parametrize(
    ("answerable", "unanswerable", "told"),
    [
        (2, 0, ["1 of 2", "50.0%"]),
        (0, 2, ["1 of 2", "50.0%"]),
        (0, 0, []),
    ],
)
def test_a_class_without_queries_is_not_told_of(make_record, answerable, unanswerable, told):
    counts = {"queries_answerable": answerable, "queries_unanswerable": unanswerable}
    text = headline(make_record(counts=counts), None, EN)
    assert re.findall(r"\d+ of \d+|[\d.]+%", text) == told


@pytest.mark.parametrize(
    ("now", "before", "told"),
    [
        ([0.5] * 12, [1.0] * 12, ["hit@1 −100.0 pp", "worse"]),
        ([1.0] * 12, [0.5] * 12, ["hit@1 +100.0 pp", "better"]),
        ([1.0, 0.5] * 6, [0.5, 1.0] * 6, ["No significant difference"]),
        ([0.5] + [1.0] * 11, [1.0] * 12, ["No metric changed", "Gates"]),
        ([1.0] * 12, [1.0] * 12, ["No significant difference"]),
    ],
)
def test_a_baseline_makes_the_sure_change_the_headline(compared, now, before, told):
    text = headline(*compared(now, before), EN)
    assert all(part in text for part in told)


def test_a_difference_between_runs_that_cannot_be_compared_is_no_headline(compared):
    record, comparison = compared([0.5] * 12, [1.0] * 12, dataset_hash="e" * 64)
    assert headline(record, comparison, EN) == headline(record, None, EN)
    assert comparison.mismatches[0].meaning in list(notices(record, comparison, EN))


def test_runs_without_a_shared_query_are_not_compared(make_record, make_item):
    record = make_record((make_item(1),))
    comparison = compare(
        KINDS["search"].take_snapshot(make_record((make_item(2),))),
        KINDS["search"].take_snapshot(record),
    )
    assert headline(record, comparison, EN) != headline(record, None, EN)
    assert "queries" in headline(record, comparison, EN)


def test_a_rising_far_is_worse(make_record, make_item):
    runs = [
        make_record(
            tuple(
                make_item(i, answerable=False, metrics={}, expected_notes=(), judged_unanswerable=j)
                for i in range(12)
            )
        )
        for j in (True, False)
    ]
    change = compare(*map(KINDS["search"].take_snapshot, runs)).metric("unanswerable.far")
    assert change is not None
    assert change.difference == 1.0
    assert change.is_better is False
    # As tables do: "recall" alone might be that of the ranking.
    assert main_changes([change], (), EN)[0].startswith("unanswerable: FAR +100.0 pp (")


def test_of_changes_both_ways_the_worse_are_told_first_and_no_news_twice(make_record, make_item):
    """FAR 1 -> 0, which recall, F1 and precision follow; 8 of 20 answerable queries are refused now."""

    def run(refused, far):
        answerable = [make_item(i, judged_unanswerable=i < refused) for i in range(20)]
        unanswerable = [
            make_item(i, answerable=False, metrics={}, expected_notes=(), judged_unanswerable=far)
            for i in range(20, 40)
        ]
        return KINDS["search"].take_snapshot(make_record((*answerable, *unanswerable)))

    moved = [
        change
        for change in compare(run(0, far=False), run(8, far=True)).metrics
        if change.is_better is not None
    ]
    main = ("unanswerable.recall", "unanswerable.far", "unanswerable.f1")
    worse, better = main_changes(moved, main, EN)
    assert re.sub(r" \S+ pp \(.*?\)", "", worse) == "unanswerable: false refusals"
    assert re.sub(r" \S+ pp \(.*?\)", "", better) == "unanswerable: FAR, unanswerable: F1"
    assert worse.startswith("unanswerable: false refusals +40.0 pp")


@pytest.mark.parametrize(
    ("key", "low", "high", "ceiling", "bad"),
    [
        ("search.mrr", 0.1, 0.2, None, True),
        ("search.mrr", 0.1, 0.21, None, False),
        ("search.mrr", 0.05, 0.11, 0.5, False),
        ("unanswerable.far", 0.8, 1.0, None, True),
        ("unanswerable.far", 0.79, 1.0, None, False),
        ("search.mrr", None, None, None, False),
    ],
)
def test_a_figure_is_bad_when_its_interval_lies_in_the_worst_fifth(key, low, high, ceiling, bad):
    interval = IntervalReport(low=low, high=high, n=12)
    figure = Figure(*key.split("."), 0.1, interval)
    assert card(figure, None, EN, ceiling).bad is bad


def test_the_first_three_warnings_are_told_and_the_others_counted(make_record, make_item):
    record = make_record((make_item(1),))
    warned = replace(record, run=record.run.model_copy(update={"warnings": ("a", "b", "c", "d")}))
    *first, rest = notices(warned, None, EN)
    assert first == ["a", "b", "c"]
    assert rest.startswith("1 more")


def test_speed_of_other_hardware_is_not_set_beside(compared):
    record, same = compared([1.0], [1.0])
    other = record.run.hardware.model_copy(update={"hash": "other"})
    _, differs = compared([1.0], [1.0], hardware=other)
    assert cards(record, same, EN)[-1].difference == "baseline 1234.6 ms"
    assert not cards(record, differs, EN)[-1].difference


def test_every_mismatch_has_words_in_both_languages(compared):
    record, comparison = compared(
        [1.0],
        [1.0],
        dataset_hash="e" * 64,
        notes_hash="m" * 64,
        options={"mode": "keyword", "topk": 10},
        judge={"kind": "threshold", "file": "mine.toml", "fingerprint": "g", "setting": 0.4},
    )
    assert {mismatch.what for mismatch in comparison.mismatches} == {
        "dataset",
        "judge",
        "notes",
        "retrieval settings",
    }
    english = list(notices(record, comparison, EN))
    korean = list(notices(record, comparison, translator("ko")))
    assert len(english) == len(korean) == 5
    assert not set(english) & set(korean)


@pytest.mark.parametrize(
    ("created_at", "told"),
    [
        ("2026-01-31T12:00:59+00:00", "2026-01-31 12:00 UTC"),
        ("2026-01-31T12:00:59+09:00", "2026-01-31 12:00 +09:00"),
    ],
)
def test_a_time_is_told_to_the_minute_with_its_zone(created_at, told):
    assert moment(created_at) == told


def test_the_n_of_f1_counts_what_is_or_was_judged_unanswerable():
    pairs = [(is_so, judged_so) for is_so in (True, False) for judged_so in (True, False)]
    terms = {pair: measure_verdicts(confusion([pair]))["f1"] for pair in pairs}
    assert {pair for pair, (_, whole) in terms.items() if whole} == {*pairs[:3]}
