"""The page of a run of answers, as an evaluation writes it."""

import json
import re

import pytest
from answer_reply import answer_reply, supported

from gigamind.evaluation.options import validated
from gigamind.llm.fake import running
from gigamind.tasks import evaluate
from gigamind.tasks.answers.options import AnswerEvalOptions

TEXT = "The deploy runs every Friday at three."
HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    row = {
        "id": "a",
        "question": f"When? {HOSTILE}",
        "answer": f"Every Friday at three. {HOSTILE}",
        "context_notes": [{"title": HOSTILE, "text": TEXT}],
        "language": "en",
    }
    (tmp_path / "answers.jsonl").write_text(json.dumps(row), encoding="utf-8")
    missing = {"id": 2, "verdict": "not_found", "note": None, "quote": ""}
    reply = answer_reply([supported(TEXT), missing], TEXT)

    def written(lang):
        with running() as server:
            server.script.append(reply)
            options = validated(AnswerEvalOptions, {
                "dataset": tmp_path / "answers.jsonl",
                "out": tmp_path / f"out-{lang}",
                "model": "openai/judge",
                "api_base": server.url,
                "cache_dir": tmp_path / f"cache-{lang}",
                "lang": lang,
            })  # fmt: skip
            out = evaluate(options).out
        return (out / "report.html").read_text(encoding="utf-8")

    return written


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_page_says_first_how_many_claims_are_proven(page, lang):
    (headline,) = re.findall("<h1>(.*?)</h1>", page(lang))
    assert re.search(r"\b50\.0\s?%", headline)
    assert {"1", "2"} <= set(re.findall(r"\d+", headline))


def test_no_text_of_a_dataset_becomes_markup(page):
    text = page("en")
    assert "<script>alert(1)" not in text
    assert text.count("<script") == 2  # the data and ours
