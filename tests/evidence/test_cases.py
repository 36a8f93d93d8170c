"""The verified cases: spans worked out by hand, in code points and UTF-16."""

import json
from pathlib import Path

import pytest

from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned, Failed
from gigamind.spans import Span, Utf16

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "evidence_cases.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def arguments(row):
    given = dict(row["args"])
    if "used" in given:
        given["used"] = [Span(*pair) for pair in given["used"]]
    return given


def rows(*, aligned):
    chosen = [row for row in ROWS if (row["expect"]["method"] != "none") == aligned]
    return pytest.mark.parametrize("row", chosen, ids=[row["id"] for row in chosen])


def test_all_verified_cases_are_read():
    assert len(ROWS) == 40


@rows(aligned=True)
def test_a_verified_quote_is_found_where_it_stands(row):
    expect = row["expect"]
    found = align(row["quote"], row["source"], **arguments(row))
    assert isinstance(found, Aligned)
    assert found.span == Span(expect["start"], expect["end"])
    assert list(Utf16(row["source"]).span_from_code_points(found.span)) == expect["utf16"]
    assert (found.method, found.level) == (expect["method"], expect["level"])
    assert round(found.confidence, 4) == expect["confidence"]
    assert found.occurrences == expect["occurrences"]
    assert list(found.critical) == expect["critical"]
    assert found.promotable is expect["promotable"]


@rows(aligned=False)
def test_a_verified_misquote_is_refused_with_its_reason(row):
    failed = align(row["quote"], row["source"], **arguments(row))
    assert isinstance(failed, Failed)
    assert failed.reason == row["expect"]["reason"]
