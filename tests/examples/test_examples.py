"""The example data keeps what its README promises."""

import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gigamind.spans import Utf16

EXAMPLES = Path(__file__).parents[2] / "examples"
VAULT = EXAMPLES / "vault"


NOTES = {
    unicodedata.normalize("NFC", path.relative_to(VAULT).as_posix()): path.read_bytes().decode()
    for path in sorted(VAULT.rglob("*.md"))
}
QUERIES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (EXAMPLES / "queries.jsonl").read_text(encoding="utf-8").splitlines()
]
ANSWERABLE = [query for query in QUERIES if query["answerable"]]
UNANSWERABLE = [query for query in QUERIES if not query["answerable"]]


def test_there_are_as_many_queries_of_each_kind_as_the_readme_says():
    found = Counter((query["language"], query["answerable"]) for query in QUERIES)
    assert found == {("ko", True): 82, ("en", True): 76, ("ko", False): 22, ("en", False): 22}
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for count in (
        "202 questions",
        "104 Korean",
        "98 English",
        "44 unanswerable",
        "36 cross-lingual",
    ):
        assert count in readme


def test_ids_and_questions_are_unique():
    assert [query["id"] for query in QUERIES] == [f"q-{n:03d}" for n in range(1, len(QUERIES) + 1)]
    assert len({query["query"] for query in QUERIES}) == len(QUERIES)


def test_an_answerable_query_has_one_or_two_expected_notes_that_exist():
    assert all(1 <= len(set(query["expected_notes"])) <= 2 for query in ANSWERABLE)
    assert {note for query in QUERIES for note in query["expected_notes"]} <= set(NOTES)


def test_an_unanswerable_query_expects_nothing():
    assert len(UNANSWERABLE) >= 30
    assert all(query["expected_notes"] == query["expected_spans"] == [] for query in UNANSWERABLE)


@pytest.mark.each("query", ANSWERABLE)
def test_spans_lie_in_every_expected_note_and_cut_out_their_text(query):
    assert {span["note_path"] for span in query["expected_spans"]} == set(query["expected_notes"])
    for span in query["expected_spans"]:
        text = NOTES[span["note_path"]]
        found = Utf16(text).span_to_code_points(span["start"], span["end"]).slice(text)
        assert found == span["text"]
        units = text.encode("utf-16-le")[2 * span["start"] : 2 * span["end"]]
        assert units.decode("utf-16-le") == span["text"]
