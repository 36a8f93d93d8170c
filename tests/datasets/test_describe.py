import json

from gigamind.datasets.describe import describe_links, describe_queries
from gigamind.datasets.jsonl import dataset_kind, read_links, read_queries


def test_queries_are_counted_by_label(read_rows):
    found = describe_queries(
        read_rows(
            {"id": "1", "query": "abc", "answerable": True, "expected_notes": ["n"], "language": "ko",
             "difficulty": "easy", "tags": ["x", "y"],
             "expected_spans": [{"note_path": "n", "start": 0, "end": 1}] * 2},
            {"id": "2", "query": "abcde", "answerable": True, "expected_notes": ["n", "m"], "tags": ["y"]},
            {"id": "3", "query": "abc", "answerable": False, "expected_notes": []},
            "broken",
        )
    )  # fmt: skip
    assert (found.kind, found.rows, found.rejected) == ("queries", 3, 1)
    assert found.counts == {
        "language": {"(none)": 2, "ko": 1},
        "answerable": {"yes": 2, "no": 1},
        "difficulty": {"(none)": 2, "easy": 1},
        "expected_spans": {"no": 2, "yes": 1},
        "source": {"(none)": 3},
        "tags": {"y": 2, "(none)": 1, "x": 1},
    }
    assert found.figures == {
        "different expected notes": 2,
        "expected spans": 2,
        "repeated queries": 1,
        "median query, characters": 3,
    }


def test_links_are_counted_by_anchor(write_rows):
    row = {"source_note": "a", "expected_links": ["n"], "label": "accept", "source": "generated"}
    path = write_rows(
        row | {"id": "1", "anchor": "one two three", "anchor_range": {"start": 0, "end": 13}},
        row | {"id": "2", "anchor": "하나", "language": "ko"},
    )
    assert dataset_kind(path) == "links"
    found = describe_links(read_links(path))
    assert (found.kind, found.rows, found.rejected) == ("links", 2, 0)
    assert found.counts["anchor_range"] == {"no": 1, "yes": 1}
    assert found.counts["label"] == {"accept": 2}
    assert found.figures["median anchor, words"] == 2
    assert found.figures["source notes"] == 1


def test_a_dataset_without_a_usable_row_is_described_too(read_rows):
    found = describe_queries(read_rows("{broken"))
    assert (found.rows, found.rejected) == (0, 1)


def test_the_kind_is_told_by_the_first_readable_row(write_rows):
    assert dataset_kind(write_rows("broken", json.dumps({"anchor": "x"}))) == "links"
    assert dataset_kind(write_rows(json.dumps({"query": "x", "anchor": "x"}))) == "queries"
    assert dataset_kind(write_rows("broken")) == "queries"
    assert read_queries(write_rows("{broken")).items == ()
