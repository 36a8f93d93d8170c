"""What instructor calls instead of a model: the requests of one logical call, its re-ask and its longer try included.

An answer that was cut off is asked for once more with twice the tokens; nothing else is done twice here.
"""

import json
from collections.abc import Mapping
from typing import Any

from gigamind.errors import LlmError
from gigamind.llm.client import Answer, Message, Request
from gigamind.llm.sender import Call, Sender

_LITERALS = ("true", "false", "null")
# Usage is counted beneath instructor; without any, it looks for Anthropic's package at each call, in every folder.
_NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


class Conversation:
    """The requests of one logical call."""

    def __init__(self, sender: Sender, call: Call, parameters: Mapping[str, int | float]) -> None:
        self._sender = sender
        self._call = call
        self._parameters = dict(parameters)
        self._longer = False

    async def send(self, **asked: Any) -> Any:  # noqa: ANN401
        """A completion as OpenAI has it; an answer that was cut off is asked for once more, with more room."""
        # instructor asks again, so the last answer failed validation.
        self._sender.close_row(self._call, "invalid_output")
        messages = tuple(_sendable(message) for message in asked["messages"])
        schema = _strict(asked.get("response_format"))
        try:
            answer = await self._send(messages, schema)
        except LlmError as error:
            if error.code != "truncated" or self._longer:
                raise
        else:
            if self._longer or not _cut_off(answer.text):
                return _completion(answer)
            self._sender.close_row(self._call, "truncated")
        self._longer = True
        self._parameters["max_tokens"] *= 2
        return _completion(await self._send(messages, schema))

    async def _send(
        self, messages: tuple[Message, ...], schema: Mapping[str, Any] | None
    ) -> Answer:
        return await self._sender.send(
            Request(messages, schema, dict(self._parameters)), self._call
        )


def _sendable(message: Message) -> Message:
    """The message without lone surrogates, which no HTTP body can carry; a model's own answer may hold one."""
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": content.encode("utf-8", "replace").decode()}


def _cut_off(text: str | None) -> bool:
    """Whether a text is the beginning of a JSON object: some servers say `stop` where they ran out of tokens."""
    stripped = (text or "").strip()
    if not stripped.startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(stripped)
    except json.JSONDecodeError as error:
        rest = stripped[error.pos :]
        return "Unterminated" in error.msg or any(word.startswith(rest) for word in _LITERALS)
    return False


def _strict(response_format: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if not response_format or "json_schema" not in response_format:
        return response_format
    return {
        **response_format,
        "json_schema": {**response_format["json_schema"], "strict": True},
    }


def _completion(answer: Answer) -> Any:  # noqa: ANN401
    """The answer as instructor reads it."""
    from openai.types.chat import ChatCompletion

    message = {"role": "assistant", "content": answer.text or ""}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    told = {"id": "", "object": "chat.completion", "created": 0, "model": answer.model}
    return ChatCompletion.model_validate({**told, "choices": [choice], "usage": _NO_USAGE})
