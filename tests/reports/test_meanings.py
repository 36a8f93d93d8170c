"""What changes and mismatches of two runs mean, in both languages."""

from gigamind.i18n import translator
from gigamind.release.compare import compare
from gigamind.tasks import KINDS


def test_every_mismatch_has_words_in_both_languages(make_record, make_item):
    other = {
        "dataset_hash": "e" * 64,
        "notes_hash": "m" * 64,
        "options": {"mode": "keyword", "topk": 10},
        "judge": {"kind": "threshold", "file": "mine.toml", "fingerprint": "g", "setting": 0.4},
    }
    items = (make_item(1),)
    runs = make_record(items, run=other), make_record(items)
    mismatches = compare(*map(KINDS["search"].take_snapshot, runs)).mismatches
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
