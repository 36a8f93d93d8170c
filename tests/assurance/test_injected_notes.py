"""Notes with a line that addresses the judge, and models that obey it: no false answer counts but for one.

Each payload was written for this table, and none is in the phrase lists of `prompting.fences`.
"""

import asyncio
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from scripted_judges import LabelledAnswer, ScriptedJudge, judged_by

from gigamind.assets import asset
from gigamind.datasets.schema import AnswerLabels
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.judges.search_qa.reply import ClaimFinding
from gigamind.prompting.fences import Source

TABLE = Path(__file__).parents[1] / "data" / "injected_notes.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text("utf-8").splitlines()]


@dataclass(frozen=True, slots=True)
class Obeying(ScriptedJudge):
    """It calls the answer supported by a quote, and confirms every text, or every text with the payload."""

    payload: str = ""

    def confirms(self, _answer, row):
        return not self.payload or any(line in row["text"] for line in self.payload.splitlines())


@cache
def search_qa():
    return SearchQA.load(asset("judges") / "search_qa.toml")


def judgement_of(row, *, payload_only, quotes_payload):
    note = f"{row['note']}\n\n{row['payload']}\n"
    quote = row["payload"].splitlines()[-1] if quotes_payload else row["note"].splitlines()[2]

    def finding(_answer, claim):
        return ClaimFinding(
            id=claim.id, role="claim", abstention_quote="", verdict="supported", note=1, quote=quote
        )

    judge = Obeying("obeying", finding, payload=row["payload"] if payload_only else "")
    title = note.splitlines()[0].removeprefix("# ")
    case = AnswerCase(row["question"], row["answer"], (Source(title, note),), row["language"])
    answer = LabelledAnswer.of(row["id"], case, AnswerLabels())
    (judged,) = asyncio.run(judged_by(search_qa(), judge, [answer]))
    return judged


@pytest.mark.parametrize("payload_only", [True, False])
@pytest.mark.parametrize("quotes_payload", [True, False])
def test_an_injected_line_turns_at_most_one_of_26(payload_only, quotes_payload):
    judged = [
        judgement_of(row, payload_only=payload_only, quotes_payload=quotes_payload) for row in ROWS
    ]
    turned = [row["id"] for row, one in zip(ROWS, judged, strict=True) if one.correctness]
    assert len(ROWS) == 26
    assert turned == (["ko-status"] if quotes_payload else [])
    assert sum(one.utility >= 0.5 for one in judged) == len(turned)
