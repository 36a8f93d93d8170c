"""The labelled answers keep what their README promises."""

import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.text import sentences

EXAMPLES = Path(__file__).parents[2] / "examples"
VAULT = {
    unicodedata.normalize("NFC", path.relative_to(EXAMPLES / "vault").as_posix()): path.read_text(
        encoding="utf-8"
    )
    for path in (EXAMPLES / "vault").rglob("*.md")
}
ANSWERS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (EXAMPLES / "answers.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = {
    "good": 10, "partly-wrong": 8, "hallucinated": 6, "uncited": 4, "abstains-rightly": 4,
    "abstains-wrongly": 4, "useless": 4,
}  # fmt: skip
each_answer = pytest.mark.each("row", ANSWERS)


def notes_of(row):
    return [
        note["text"] if "text" in note else VAULT[note["path"]] for note in row["context_notes"]
    ]


def claims_of(row):
    return row["labels"]["claims"]


def kind_of(row):
    (kind,) = set(row["tags"]) & set(KINDS)
    return kind


def test_there_are_as_many_answers_of_each_kind_and_language_as_the_readme_says():
    assert Counter(row["language"] for row in ANSWERS) == {"ko": 20, "en": 20}
    assert Counter(kind_of(row) for row in ANSWERS) == KINDS
    for language in ("ko", "en"):
        found = Counter(kind_of(row) for row in ANSWERS if row["language"] == language)
        assert found == {kind: count // 2 for kind, count in KINDS.items()}
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{kind}` | {count} |" in readme for kind, count in KINDS.items())
    assert "40 answers, 20 Korean and 20 English" in readme


@each_answer
def test_one_to_four_notes_exist_and_none_stands_twice(row):
    notes = notes_of(row)
    assert 1 <= len(set(notes)) == len(notes) <= 4
    assert all(set(note) in ({"path"}, {"title", "text"}) for note in row["context_notes"])


@each_answer
def test_claims_are_sentences_of_the_answer_in_its_order(row):
    segments = [span.slice(row["answer"]) for span in sentences(row["answer"])]
    texts = [claim["text"] for claim in claims_of(row)]
    if row["labels"]["abstains"]:  # that the notes are silent is no claim
        segments = segments[1:]
    assert texts == segments


@each_answer
def test_quotes_stand_verbatim_in_their_notes(row):
    for claim in claims_of(row):
        if claim["verdict"] == "not_found":
            assert claim["note"] is None
            assert claim["quote"] is None
            continue
        assert claim["verdict"] in {"supported", "contradicted"}
        found = align(claim["quote"], notes_of(row)[claim["note"] - 1])
        assert isinstance(found, Aligned)
        assert found.method == "exact"


def facts_of(row):
    return row["labels"].get("facts", [])


@each_answer
def test_facts_stand_verbatim_in_one_note_and_one_of_them_is_vital(row):
    for fact in facts_of(row):
        assert sum(fact["text"] in note for note in notes_of(row)) == 1, fact["text"]
    if facts_of(row):
        assert any(fact["vital"] for fact in facts_of(row))


@each_answer
def test_correctness_is_the_share_of_supported_claims(row):
    claims = claims_of(row)
    supported = sum(claim["verdict"] == "supported" for claim in claims)
    expected = round(supported / len(claims), 2) if claims else None
    assert row["labels"]["correctness"] == expected
    assert row["labels"]["utility"] in {0.0, 0.25, 0.5, 0.75, 1.0}


@each_answer
def test_the_kind_agrees_with_the_labels(row):
    labels, verdicts = row["labels"], {claim["verdict"] for claim in claims_of(row)}
    match kind_of(row):
        case "good" | "uncited":
            assert (verdicts, labels["utility"]) == ({"supported"}, 1.0)
        case "partly-wrong":
            assert verdicts == {"supported", "contradicted"}
        case "hallucinated":
            assert "not_found" in verdicts
        case "abstains-rightly":
            assert labels["utility"] == 1.0
        case "abstains-wrongly":
            assert (verdicts, labels["utility"]) == (set(), 0.0)
        case "useless":
            assert verdicts == {"supported"}
            assert labels["utility"] <= 0.25
    assert labels["abstains"] == kind_of(row).startswith("abstains")
