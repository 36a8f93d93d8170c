"""A scripted judge: replies are given in turn, the last one for ever, and what was asked is kept."""

import asyncio
import json
from pathlib import Path

import pytest
from answer_reply import aside

from gigamind.judges.protocol import AnswerCase, Asking
from gigamind.judges.search_qa.judge import SearchQA, load_search_qa_judge
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Answer, Usage
from gigamind.llm.settings import ModelSettings
from gigamind.prompting.fences import Source

ROOT = Path(__file__).parents[3]
JUDGE_FILE = ROOT / "judges" / "search_qa.toml"
NOTES = (
    Source("휴가 규정", "연차는 입사 첫해에 15일을 준다. 반차는 0.5일로 계산한다.\n\n병가: 3일"),
    Source("Garden", "The garden has roses and tulips near the gate."),
)


class Scripted:
    """A client of the model."""

    def __init__(self, *replies):
        self.replies = replies
        self.requests = []

    async def send(self, request):
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        if reply is None:
            return Answer(None, refusal="I can't", usage=Usage(10, 1))
        return Answer(json.dumps(reply, ensure_ascii=False), usage=Usage(10, 5))

    async def close(self):
        pass


@pytest.fixture
def notes():
    return NOTES


@pytest.fixture
def scripted():
    return Scripted


@pytest.fixture
def found():
    """One verdict of the model about a claim."""

    def finding(number, verdict, note=None, quote=""):
        return {"id": number, "verdict": verdict, "note": note, "quote": quote}

    return finding


@pytest.fixture(name="aside")
def _aside():
    """What the model says about a sentence that is no claim to it."""
    return lambda number, role, words="": aside(role, words, number)


@pytest.fixture
def reply_of():
    """A whole reply with these verdicts."""

    def reply(*claims, **changes):
        rest = {
            "source_coverage": [],
            "grounding_issues": ["모델이 본 문제"],
            "omissions": [],
            "answerable": False,
            "answer_note": None,
            "answer_quote": "",
            "utility_reason": "질문에 답한다.",
            "utility": 0.75,
            "correctness": 0.9,
            "summary": "대체로 맞다.",
        }
        return {"claims": list(claims), **rest, **changes}

    return reply


@pytest.fixture
def judge_file(tmp_path):
    """A judge file with a few fields of its own."""

    def write(**fields):
        lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
        path = tmp_path / "judge.toml"
        text = 'kind = "search_qa"\nprompt = "search_qa/v2"\n' + "\n".join(lines)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def judge_by():
    """The judgement of an answer by a client."""

    def judged(
        client, answer, *, question="연차는 며칠?", notes=NOTES, file=JUDGE_FILE, language="ko"
    ):
        judge = SearchQA({language: load_search_qa_judge(file, language)})
        model = LanguageModel(
            judge.settings(ModelSettings("scripted")),
            client=client,
            parameters={"max_tokens": judge.file.max_tokens},
        )
        case = AnswerCase(question, answer, notes)
        asking = Asking({"scripted": model}, item_id="q", fence_key=b"k" * 32)
        return asyncio.run(judge.judge(case, asking)).detail

    return judged
