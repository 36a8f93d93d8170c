"""What changes and mismatches of two runs mean, in both languages."""

import pytest

from gigamind.formats import moment
from gigamind.i18n import translator
from gigamind.metrics.answerability import confusion, measure_verdicts
from gigamind.release.compare import compare
from gigamind.tasks import KINDS


def compared(*runs):
    return compare(*map(KINDS["search"].take_snapshot, runs))


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
    change = compared(*runs).metric("unanswerable.far")
    assert (change.difference, change.is_better) == (1.0, False)


def test_every_mismatch_has_words_in_both_languages(make_record, make_item):
    other = {
        "dataset_hash": "e" * 64,
        "notes_hash": "m" * 64,
        "options": {"mode": "keyword", "topk": 10},
        "judge": {"kind": "threshold", "file": "mine.toml", "fingerprint": "g", "setting": 0.4},
    }
    items = (make_item(1),)
    mismatches = compared(make_record(items, run=other), make_record(items)).mismatches
    assert {mismatch.what for mismatch in mismatches} == {
        "dataset",
        "judge",
        "notes",
        "retrieval settings",
    }
    english, korean = (
        {translator(lang)(mismatch.meaning) for mismatch in mismatches} for lang in ("en", "ko")
    )
    assert len(english) == len(korean) == len(mismatches)
    assert not english & korean


@pytest.mark.parametrize(
    ("created_at", "shown"),
    [
        ("2026-01-31T12:00:59+00:00", "2026-01-31 12:00 UTC"),
        ("2026-01-31T12:00:59+09:00", "2026-01-31 12:00 +09:00"),
    ],
)
def test_a_time_is_shown_to_the_minute_with_its_zone(created_at, shown):
    assert moment(created_at) == shown


def test_the_n_of_f1_counts_what_is_or_was_judged_unanswerable():
    pairs = [(is_so, judged_so) for is_so in (True, False) for judged_so in (True, False)]
    terms = {pair: measure_verdicts(confusion([pair]))["f1"] for pair in pairs}
    assert {pair for pair, (_, whole) in terms.items() if whole} == {*pairs[:3]}
