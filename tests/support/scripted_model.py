"""A model that says what it is told to, and judges that ask it."""

import asyncio
import json
from pathlib import Path
from typing import Any

from answer_reply import answer_reply

from gigamind.judges.protocol import AnswerCase, Asking, Judge, Verdict
from gigamind.judges.search_qa.judge import SearchQA, _load_search_qa_judge
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Answer, Request, Usage
from gigamind.llm.settings import ModelSettings
from gigamind.prompting.fences import Source

JUDGES = Path(__file__).parents[2] / "judges"
FENCE_KEY = b"k" * 32
NOTES = (
    Source("휴가 규정", "연차는 입사 첫해에 15일을 준다. 반차는 0.5일로 계산한다.\n\n병가: 3일"),
    Source("Garden", "The garden has roses and tulips near the gate."),
)


class Scripted:
    """A client that gives its replies in turn, the last one for ever, and keeps what it was asked.

    Args:
        replies: texts as they are, anything else as JSON; None is a refusal.
    """

    def __init__(self, *replies: Any) -> None:
        self.replies = replies
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Answer:
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        if reply is None:
            return Answer(None, refusal="I can't", usage=Usage(10, 1))
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return Answer(text, usage=Usage(10, 5))

    async def close(self) -> None:
        pass


def scripted_model(client: Scripted, judge: Judge[Any, Any], **changes: Any) -> LanguageModel:
    """The model that a judge asks, with the parameters of the judge."""
    settings = judge.settings(ModelSettings("scripted", **changes))
    return LanguageModel(settings, client=client, parameters={"max_tokens": settings.max_tokens})


def verdict_of(judge: Judge[Any, Any], case: Any, client: Scripted) -> Verdict:
    """What a judge says of a case, with this client as its model."""
    models = {"scripted": scripted_model(client, judge)}
    return asyncio.run(judge.judge(case, Asking(models, item_id="q", fence_key=FENCE_KEY)))


def reply_of(*claims: dict[str, Any], **changes: object) -> dict[str, Any]:
    """A whole reply of a model that finds no answer to the question in the notes."""
    told = {"answerable": False, "utility": 0.75, "correctness": 0.9, "summary": "대체로 맞다."}
    return answer_reply(claims, **(told | changes))


def judge_by(
    client: Scripted,
    answer: str,
    *,
    question: str = "연차는 며칠?",
    notes: tuple[Source, ...] = NOTES,
    file: Path = JUDGES / "search_qa.toml",
    language: str = "ko",
) -> Any:
    """The judgement of an answer by a client."""
    judge = SearchQA({language: _load_search_qa_judge(file, language)})
    return verdict_of(judge, AnswerCase(question, answer, notes), client).detail
