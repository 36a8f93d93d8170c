"""Generates an answer as the product does (spec 004): only from the notes, citing `[노트 1]` or `[Note 1]`."""

from typing import Annotated

from pydantic import Field

from gigamind.i18n import Language
from gigamind.llm.client import Asked, Message
from gigamind.prompting.fences import Source
from gigamind.prompting.prompts import Prompt, as_json, included_prompt
from gigamind.prompting.replies import ModelReply, Most

_PROMPT = "search_answer/v1"
_GIVEN = ("nonce", "notes", "question")
NO_NOTES: dict[Language, str] = {
    "ko": "노트에서 관련 내용을 찾을 수 없습니다.",
    "en": "I could not find anything about this in the notes.",
}
"""The answer without notes, in the languages of the prompts. Judges recognise it, so it is not a message."""


class AnswerReply(ModelReply, frozen=True):
    """The model's answer."""

    answer: Annotated[str, Most(8_000)] = Field(
        description="the answer, with the notes it rests on named in each sentence"
    )


def load_answer_prompt(language: Language) -> Prompt:
    """Return the prompt in one language, or raise InputError."""
    return included_prompt(_PROMPT, language, _GIVEN)


async def answer_from(
    model: Asked,
    prompt: Prompt,
    language: Language,
    question: str,
    notes: list[Source],
    *,
    item_id: str,
    fence_key: bytes,
    repeat: int,
) -> str:
    """Return an answer, or raise LlmError; without notes, a fixed answer that says so, without calling the model."""
    if not notes:
        return NO_NOTES[language]
    messages = answer_messages(prompt, question, notes, fence_key)
    reply = await model.ask(
        messages, AnswerReply, item_id=item_id, fingerprint=prompt.fingerprint, repeat=repeat - 1
    )
    return reply.answer


def answer_messages(
    prompt: Prompt, question: str, notes: list[Source], fence_key: bytes
) -> list[Message]:
    """Return the messages of the request."""
    return prompt.about(notes, fence_key, question=as_json(question))
