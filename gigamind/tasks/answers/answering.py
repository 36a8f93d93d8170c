"""Answers a question as the product does (seed 004): from the notes alone, with `[노트 1]` or `[Note 1]`."""

from typing import Annotated

from pydantic import Field

from gigamind.assets import asset
from gigamind.llm.client import Asked, Message
from gigamind.llm.fences import Source, fence
from gigamind.llm.prompts import Prompt, as_json, load_prompt
from gigamind.llm.replies import ModelReply, Most
from gigamind.wording import Language

PROMPT = "search_answer/v1"
_GIVEN = ("nonce", "notes", "question")
NO_NOTES: dict[Language, str] = {
    "ko": "노트에서 관련 내용을 찾을 수 없습니다.",
    "en": "I could not find anything about this in the notes.",
}


class AnswerReply(ModelReply, frozen=True):
    """What the model answers."""

    answer: Annotated[str, Most(8_000)] = Field(
        description="the answer, with the notes it rests on named in each sentence"
    )


def load_answer_prompt(language: Language) -> Prompt:
    """The prompt in one language.

    Raises:
        InputError: it cannot be read.
    """
    return load_prompt(asset("prompts") / PROMPT / f"{language}.jinja", _GIVEN)


async def answer_from(
    model: Asked,
    prompt: Prompt,
    language: Language,
    question: str,
    notes: list[Source],
    *,
    item_id: str,
    fence_key: bytes,
) -> str:
    """An answer; without notes it says so, and nothing is asked.

    Raises:
        LlmError: the model gave none.
    """
    if not notes:
        return NO_NOTES[language]
    messages = answer_messages(prompt, question, notes, fence_key)
    reply = await model.ask(messages, AnswerReply, item_id=item_id, fingerprint=prompt.fingerprint)
    return reply.answer


def answer_messages(
    prompt: Prompt, question: str, notes: list[Source], fence_key: bytes
) -> list[Message]:
    """What the model is asked."""
    fenced = fence(notes, fence_key)
    return prompt.render(nonce=fenced.nonce, notes=fenced.text, question=as_json(question))
