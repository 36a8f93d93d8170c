"""What is said for one reply: instructor parses, and asks once more where an answer does not fit.

An answer that was cut off is asked for once more with twice the tokens.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, create_model

from gigamind.errors import GigamindError, LlmError
from gigamind.llm.booking import Booking, Call
from gigamind.llm.client import Answer, Message, ParameterRefusedError, Request
from gigamind.llm.faults import scrub
from gigamind.llm.loading import load_instructor
from gigamind.llm.reading import cut_off, own_object
from gigamind.llm.sent_schema import sent_schema
from gigamind.llm.settings import Mode
from gigamind.loading import first_problem

Reply = TypeVar("Reply", bound=BaseModel)
# Usage is counted beneath instructor; without any, it looks for Anthropic's package at each call, in every folder.
_NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@dataclass(slots=True)
class Conversation:
    """The requests of one logical call, and what was said last.

    Attributes:
        messages: those of the first request.
        refused: parameters that the model has refused; shared by all of its conversations.
    """

    sender: Booking
    call: Call
    messages: Sequence[Message]
    parameters: dict[str, int | float]
    refused: set[str]
    _said: str = ""
    _longer: bool = False

    async def send(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """A completion as OpenAI has it; an answer that was cut off is asked for once more, with more room."""
        # instructor asks again, so the last answer failed validation.
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
        """A validated reply.

        Raises:
            LlmError: the model, the budget or the store gave none.
        """
        from instructor.core.exceptions import InstructorRetryException

        _conversation.set(self)
        settings = self.sender.settings
        try:
            made = await _instructed(settings.mode).chat.completions.create(
                model=settings.model,
                messages=[dict(message) for message in self.messages],
                response_model=_shape(reply),
                max_retries=settings.reasks,
            )
        except InstructorRetryException as error:
            raise _reason(error) from None  # the chain holds the whole conversation
        else:
            self.sender.close_row(self.call, "ok")
            return made.reply
        finally:
            self.sender.close_row(self.call, "invalid_output")

    async def tell(self, on_text: Callable[[str], Awaitable[None]]) -> str:
        """The text of an answer that has no shape, told piece by piece; once a piece is told, it is not asked again."""

        async def relay(text: str) -> None:
            self.call.hopeless = True
            await on_text(text)

        messages = tuple(_sendable(message) for message in self.messages)
        answer = await self._send(messages, None, relay)
        self.sender.close_row(self.call, "ok")
        if answer.text and not self.call.hopeless:  # a server that does not stream
            await on_text(answer.text)
        return answer.text or ""

    def read(self, reply: type[Reply]) -> Reply:
        """What was said last, as a reply; a number in quotes is none.

        Raises:
            ValidationError: it is none.
        """
        try:
            return reply.model_validate_json(self._said, strict=True)
        except ValidationError:
            own = own_object(self._said, self.messages)
            if own is None:
                raise
        return reply.model_validate_json(own, strict=True)

    async def _send(
        self,
        messages: tuple[Message, ...],
        schema: Mapping[str, Any] | None,
        on_text: Callable[[str], Awaitable[None]] | None = None,
    ) -> Answer:
        """The answer to a request, which is sent again for each parameter that the model refuses."""
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
        """The answer as instructor reads it."""
        from openai.types.chat import ChatCompletion

        self._said = answer.text or ""
        message = {"role": "assistant", "content": self._said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        envelope = {"id": "", "object": "chat.completion", "created": 0, "model": answer.model}
        return ChatCompletion.model_validate({**envelope, "choices": [choice], "usage": _NO_USAGE})


# instructor hands an answer on to be read, or the last object in it alone: the task that asks knows all that was said.
_conversation: ContextVar[Conversation] = ContextVar("_conversation")


def _sendable(message: Message) -> Message:
    """The message without lone surrogates, which no HTTP body can carry; a model's own answer may hold one."""
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": content.encode("utf-8", "replace").decode()}


def _strict(
    response_format: Mapping[str, Any] | None, api_base: str | None
) -> Mapping[str, Any] | None:
    if not response_format or "json_schema" not in response_format:
        return response_format
    asked = response_format["json_schema"]
    schema = sent_schema(asked["schema"], api_base)
    return {**response_format, "json_schema": {**asked, "schema": schema, "strict": True}}


@cache
def _instructed(mode: Mode) -> Any:  # noqa: ANN401
    """One client of instructor for all calls; it sends through the conversation of the task that asks."""
    instructor = load_instructor()
    modes = {"json_schema": instructor.Mode.JSON_SCHEMA, "md_json": instructor.Mode.MD_JSON}

    async def create(**request: Any) -> Any:  # noqa: ANN401
        return await _conversation.get().send(request)

    return instructor.from_litellm(create, mode=modes[mode], async_client=True)


@cache
def _shape(reply: type[BaseModel]) -> type[BaseModel]:
    """What instructor asks for: the schema of a reply, and how it is read.

    A class of its own, without the fields: instructor looks through those five times a call for what it cannot run,
    and hangs its own on what it returns.
    """
    schema = json.dumps(reply.model_json_schema())

    def model_json_schema() -> dict[str, Any]:
        return json.loads(schema)  # one of its own each time, for litellm may change it

    def model_validate_json(*_given: object, **_named: object) -> BaseModel:
        return shape.model_construct(reply=_conversation.get().read(reply))

    shape = create_model(reply.__name__, __base__=load_instructor().OpenAISchema, reply=(Any, None))
    made: Any = shape
    made.model_json_schema, made.model_validate_json = model_json_schema, model_validate_json
    return shape


def _reason(error: BaseException) -> BaseException:
    """What lies beneath instructor's error: ours, what was wrong with the answer (without the answer), or a bug."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
        if isinstance(cause, GigamindError):
            return cause
        if isinstance(cause, ValidationError):
            return LlmError(
                f"the reply failed validation: {scrub(first_problem(cause))}", "invalid_output"
            )
    if isinstance(cause, ValueError):  # instructor's own, of an answer that holds no JSON
        return LlmError(f"the reply could not be read: {scrub(str(cause))}", "invalid_output")
    return cause
