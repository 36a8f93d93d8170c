import re
from dataclasses import replace

import pytest

from gigamind.metrics.answerability import confusion, measure_verdicts
from gigamind.records.schema import IntervalReport
from gigamind.release.compare import compare
from gigamind.reports.figures import Figure
from gigamind.reports.page.headline import card, notices, main_changes
from gigamind.tasks import KINDS
from gigamind.tasks.search.page import cards, headline
from gigamind.wording import moment, words

EN = words("en")


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
    assert headline(make_record(), None, EN) == (
        "An expected note came first for 1 of 2 answerable queries (50.0\u00a0%);"
        " 1 of 2 unanswerable ones were taken for answerable (50.0\u00a0%),"
        " 0 of 2 answerable ones for unanswerable (0.0\u00a0%)."
    )


@pytest.mark.parametrize(
    ("answerable", "unanswerable", "told"),
    [
        (2, 0, "An expected note came first for 1 of 2 answerable queries (50.0\u00a0%)."),
        (0, 2, "1 of 2 unanswerable queries were taken for answerable (50.0\u00a0%)."),
        (0, 0, "No query was evaluated."),
    ],
)
def test_a_class_without_queries_is_not_told_of(make_record, answerable, unanswerable, told):
    counts = {"queries_answerable": answerable, "queries_unanswerable": unanswerable}
    assert headline(make_record(counts=counts), None, EN) == told


@pytest.mark.parametrize(
    ("now", "before", "begins"),
    [
        ([0.5] * 12, [1.0] * 12, "Worse than the baseline: hit@1\u00a0−1.000"),
        ([1.0] * 12, [0.5] * 12, "Better than the baseline: hit@1\u00a0+1.000"),
        ([1.0, 0.5] * 6, [0.5, 1.0] * 6, "No clear difference"),
        ([0.5] + [1.0] * 11, [1.0] * 12, "Chance alone could explain each change"),
        ([1.0] * 12, [1.0] * 12, "No clear difference"),
    ],
)
def test_a_baseline_makes_the_sure_change_the_headline(compared, now, before, begins):
    assert headline(*compared(now, before), EN).startswith(begins)


def test_a_difference_between_runs_that_cannot_be_compared_is_no_headline(compared):
    record, comparison = compared([0.5] * 12, [1.0] * 12, dataset_hash="e" * 64)
    assert headline(record, comparison, EN).startswith("An expected note came first")
    assert "A new baseline is needed" in " ".join(notices(record, comparison, EN))


def test_runs_without_a_shared_query_are_not_compared(make_record, make_item):
    record = make_record((make_item(1),))
    comparison = compare(
        KINDS["search"].take_snapshot(make_record((make_item(2),))),
        KINDS["search"].take_snapshot(record),
    )
    assert headline(record, comparison, EN) == EN("headline.not_paired")


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
    assert main_changes([change], (), EN)[1]["worse"].startswith("unanswerable: FAR\u00a0+1.000 (")


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
    kind, told = main_changes(moved, main, EN)
    assert kind == "mixed"
    assert re.sub(r"\u00a0\S+ \(.*?\)", "", told["worse"]) == "unanswerable: false refusals"
    assert re.sub(r"\u00a0\S+ \(.*?\)", "", told["better"]) == "unanswerable: FAR, unanswerable: F1"
    sentence = EN("headline.mixed", **told)
    assert sentence.startswith("Worse than the baseline: unanswerable: false refusals\u00a0+0.400")


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
    assert list(notices(warned, None, EN)) == ["a", "b", "c", "More warnings: 1. See Warnings."]


def test_speed_of_other_hardware_is_not_set_beside(compared):
    record, same = compared([1.0], [1.0])
    other = record.run.hardware.model_copy(update={"hash": "other"})
    _, differs = compared([1.0], [1.0], hardware=other)
    assert cards(record, same, EN)[-1].difference == "baseline 1234.6"
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
    korean = list(notices(record, comparison, words("ko")))
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


@pytest.mark.parametrize(
    ("lang", "counted"),
    [
        ("en", "N: those that are, or were judged so"),
        ("ko", "N은 답이 없거나 없다고 판정한 질의 수"),
    ],
)
def test_the_card_of_f1_says_what_its_n_counts(make_record, lang, counted):
    f1 = next(c for c in cards(make_record(), None, words(lang)) if c.label == "F1")
    assert counted in f1.about
    pairs = [(is_so, judged_so) for is_so in (True, False) for judged_so in (True, False)]
    terms = {pair: measure_verdicts(confusion([pair]))["f1"] for pair in pairs}
    assert {pair for pair, (_, whole) in terms.items() if whole} == {*pairs[:3]}
