"""The exchange for one reply: instructor parses the answer, and requests it again if it is invalid.

A truncated answer is requested again with twice the tokens.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, create_model

from gigamind.errors import GigamindError, LlmError
from gigamind.i18n import _
from gigamind.llm.booking import Booking, Call
from gigamind.llm.client import Answer, Message, ParameterRefusedError, Request
from gigamind.llm.faults import scrub
from gigamind.llm.loading import load_instructor
from gigamind.llm.reading import cut_off, own_object
from gigamind.llm.sent_schema import sent_schema
from gigamind.llm.settings import Mode
from gigamind.loading import first_problem

Reply = TypeVar("Reply", bound=BaseModel)
# Usage is counted below instructor.  Without usage, it searches for Anthropic's package in every folder on each call.
_NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@dataclass(slots=True)
class Conversation:
    """The requests of one logical call, and the last answer."""

    sender: Booking
    call: Call
    messages: Sequence[Message]
    parameters: dict[str, int | float]
    refused: set[str]  # parameters that the model rejected; shared by all conversations with it
    _last_text: str = ""
    _longer: bool = False

    async def send(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a completion in OpenAI's form; a truncated answer is requested again, with twice the tokens."""
        # instructor repeats a request only if the last answer failed validation.
        self.sender.close_row(self.call, "invalid_output")
        messages = tuple(_sendable(message) for message in request["messages"])
        schema = _strict(request.get("response_format"), self.sender.settings.api_base)
        try:
            answer = await self._send(messages, schema)
        except LlmError as error:
            if error.code != "truncated" or self._longer:
                raise
        else:
            if self._longer or not cut_off(answer.text):
                return self._completion(answer)
            self.sender.close_row(self.call, "truncated")
        self._longer = True
        self.parameters["max_tokens"] *= 2
        return self._completion(await self._send(messages, schema))

    async def ask(self, reply: type[Reply]) -> Reply:
        """Return a validated reply; raise LlmError if the model, the budget or the store gave none."""
        from instructor.core.exceptions import InstructorRetryException

        _conversation.set(self)
        settings = self.sender.settings
        try:
            response = await _instructed(settings.mode).chat.completions.create(
                model=settings.model,
                messages=[dict(message) for message in self.messages],
                response_model=_shape(reply),
                max_retries=settings.reasks,
            )
        except InstructorRetryException as error:
            raise _reason(error) from None  # the exception chain contains the whole conversation
        else:
            self.sender.close_row(self.call, "ok")
            return response.reply
        finally:
            self.sender.close_row(self.call, "invalid_output")

    async def tell(self, on_text: Callable[[str], Awaitable[None]]) -> str:
        """Return a free-form answer and pass it on in pieces; after the first piece there are no retries."""

        async def relay(text: str) -> None:
            self.call.hopeless = True
            await on_text(text)

        messages = tuple(_sendable(message) for message in self.messages)
        answer = await self._send(messages, None, relay)
        self.sender.close_row(self.call, "ok")
        if answer.text and not self.call.hopeless:  # the server does not stream
            await on_text(answer.text)
        return answer.text or ""

    def read(self, reply: type[Reply]) -> Reply:
        """Parse the last answer strictly (a number in quotes is invalid); raise ValidationError."""
        try:
            return reply.model_validate_json(self._last_text, strict=True)
        except ValidationError:
            own = own_object(self._last_text, self.messages)
            if own is None:
                raise
        return reply.model_validate_json(own, strict=True)

    async def _send(
        self,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any] | None,
        on_text: Callable[[str], Awaitable[None]] | None = None,
    ) -> Answer:
        """Send a request, again for each parameter that the model rejects, and return the answer."""
        refused: set[str] = set()
        while True:
            request = Request(messages, schema, dict(self.parameters), on_text=on_text)
            try:
                return await self.sender.send(request, self.call)
            except ParameterRefusedError as error:
                if error.parameter in refused:
                    raise
                refused.add(error.parameter)
                self.refused.add(error.parameter)

    def _completion(self, answer: Answer) -> Any:  # noqa: ANN401
        from openai.types.chat import ChatCompletion

        self._last_text = answer.text or ""
        message = {"role": "assistant", "content": self._last_text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        envelope = {"id": "", "object": "chat.completion", "created": 0, "model": answer.model}
        return ChatCompletion.model_validate({**envelope, "choices": [choice], "usage": _NO_USAGE})


# instructor passes on only an answer or its last JSON object; the current task knows the whole text.
_conversation: ContextVar[Conversation] = ContextVar("_conversation")


def _sendable(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": content.encode("utf-8", "replace").decode()}


def _strict(
    response_format: Mapping[str, Any] | None, api_base: str | None
) -> Mapping[str, Any] | None:
    if not response_format or "json_schema" not in response_format:
        return response_format
    requested = response_format["json_schema"]
    schema = sent_schema(requested["schema"], api_base)
    return {**response_format, "json_schema": {**requested, "schema": schema, "strict": True}}


@cache
def _instructed(mode: Mode) -> Any:  # noqa: ANN401
    instructor = load_instructor()
    modes = {"json_schema": instructor.Mode.JSON_SCHEMA, "md_json": instructor.Mode.MD_JSON}

    async def create(**request: Any) -> Any:  # noqa: ANN401
        return await _conversation.get().send(request)

    return instructor.from_litellm(create, mode=modes[mode], async_client=True)


@cache
def _shape(reply: type[BaseModel]) -> type[BaseModel]:
    """Return the class that instructor uses: the schema of a reply, and how to parse it.

    It is a separate class without the fields, because instructor walks through the fields five times a call and adds
    attributes to its results.
    """
    schema = json.dumps(reply.model_json_schema())

    def model_json_schema() -> dict[str, Any]:
        return json.loads(schema)  # a new copy each time, because litellm may change it

    def model_validate_json(*_given: object, **_named: object) -> BaseModel:
        return shape.model_construct(reply=_conversation.get().read(reply))

    shape = create_model(reply.__name__, __base__=load_instructor().OpenAISchema, reply=(Any, None))
    mutable: Any = shape
    mutable.model_json_schema, mutable.model_validate_json = model_json_schema, model_validate_json
    return shape


def _reason(error: BaseException) -> BaseException:
    """Return the cause of instructor's error: an error of ours, the validation problem without the answer, or a bug."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
        if isinstance(cause, GigamindError):
            return cause
        if isinstance(cause, ValidationError):
            reason = scrub(first_problem(cause))
            return LlmError(
                _("the model's reply is invalid: {reason}", reason=reason), "invalid_output"
            )
    if isinstance(cause, ValueError):  # raised by instructor for an answer without JSON
        return LlmError(
            _("the model's reply cannot be read: {reason}", reason=scrub(str(cause))),
            "invalid_output",
        )
    return cause
