"""Every demand of the documents has a row, every row holds, and docs/conformance.md says what they say."""

import re
from collections import Counter
from pathlib import Path

import pytest
from demands.model import REQUIRED, Equal, Field, Option, Repeats, Test, Written
from demands.page import PAGE, counted, departures, lines_of
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

DEPARTURES = departures(PAGE.read_text("utf-8"))


@pytest.mark.each(
    "document, row, proof", [one for one in PROOFS if not isinstance(one[2], Repeats)]
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


def test_every_row_has_a_proof_or_is_a_departure_and_every_departure_is_of_a_row():
    departed = {one[:3] for one in DEPARTURES if one.lines}
    rows = {(of.document, of.part, lines_of(row)): row for of in SECTIONS for row in of.rows}
    assert departed <= rows.keys()
    assert {key for key, row in rows.items() if not row.proofs} <= departed


def test_a_departure_says_what_is_asked_once_what_is_here_and_why():
    asked = Counter(one.asked for one in DEPARTURES)
    assert [text for text, count in asked.items() if count > 1] == []
    assert all(one.asked and one.here and one.why for one in DEPARTURES)


def test_the_page_has_the_counts_of_the_rows():
    written = PAGE.read_text("utf-8")
    assert written == counted(written, SECTIONS), "run `make conformance`"


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
