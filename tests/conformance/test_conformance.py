"""Every demand of the documents has a row, every row holds, and docs/conformance.md says what they say."""

import re
from collections import Counter
from pathlib import Path

import pytest
from demands.model import REQUIRED, TESTS, Departure, Equal, Field, Option, Repeats, Test, Written
from demands.page import page
from demands.table import SECTIONS

from gigamind.release.model import EvalSnapshot

ROWS = [(section.document, row) for section in SECTIONS for row in section.rows]
PROOFS = [(document, row, proof) for document, row in ROWS for proof in row.proofs]
DEFINED = [
    (document, int(line), name)
    for document, line, name in map(
        str.split, Path(__file__).with_name("demands.txt").read_text("utf-8").splitlines()
    )
]


@pytest.mark.each(
    "document, row, proof", [one for one in PROOFS if not isinstance(one[2], Departure | Repeats)]
)
def test_what_a_row_says_holds(document, row, proof):
    try:
        proof.check()
    except AssertionError as error:
        raise AssertionError(f"{document}, lines {row.lines}: {error}") from error


@pytest.mark.each("document, line, name", DEFINED)
def test_what_a_document_defines_at_a_line_has_a_row_there_that_names_it(document, line, name):
    quotes = [row.says for of, row in ROWS if of == document and line in row.lines]
    assert any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said) for said in quotes)


def test_a_row_that_repeats_another_document_names_what_its_row_names():
    for _, row, proof in PROOFS:
        if isinstance(proof, Repeats):
            name = re.findall(r"[\w-]+", row.says)[0]
            others = [
                said for of, said in ROWS if of == proof.document and proof.line in said.lines
            ]
            assert any(name in said.says and proof not in said.proofs for said in others), row


def test_every_row_has_a_proof_and_quotes_its_lines_unless_it_has_none():
    for _, row in ROWS:
        assert row.proofs, row
        assert bool(row.lines) is bool(row.says), row


def test_no_departure_stands_twice():
    asked = Counter(proof.asked for _, _, proof in PROOFS if isinstance(proof, Departure))
    assert [text for text, count in asked.items() if count > 1] == []


def test_the_page_is_the_one_that_the_rows_make():
    written = (TESTS.parent / "docs" / "conformance.md").read_text("utf-8")
    assert written == page(SECTIONS), "run `make conformance`"


@pytest.mark.each(
    "proof",
    [
        Option("eval search", "--no-such-option"),
        Option("eval no-such-task", "--dataset"),
        Option("eval search", "--topk", 11),
        Option("eval search", "--min-score", 0.3),
        Option("eval search", "--topk", REQUIRED),
        Option("eval search", "--graph-rerank", default=True),
        Option("eval search", "--mode", choices=("vector",)),
        Field(EvalSnapshot, "environment.no_such_field"),
        Field(EvalSnapshot, "version.no_such_field"),
        Written("out/summary.json", "overall.search.no_such_metric"),
        Written("links/per_item.jsonl", "expected.9.anchor"),
        Equal(lambda: 0.3, 0.31),
        Test("conformance/no_such_file.py::test_something"),
        Test("conformance/test_conformance.py::test_there_is_no_such_test"),
    ],
)
def test_a_proof_of_what_is_not_so_fails(proof):
    with pytest.raises(AssertionError):
        proof.check()
