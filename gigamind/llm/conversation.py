"""The exchange for one reply: instructor validates the answer, and requests it again if it is invalid.

instructor calls `Conversation.send` for each request, as it would call litellm.  A truncated answer is requested again
with twice the tokens.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.errors import GigamindError, LlmError
from gigamind.i18n import _
from gigamind.llm.booking import Booking, Call
from gigamind.llm.client import Answer, Message, ParameterRefusedError, Request
from gigamind.llm.dialects import sent_schema
from gigamind.llm.faults import scrub
from gigamind.llm.loading import load_instructor
from gigamind.llm.reading import cut_off, readable
from gigamind.llm.settings import Mode
from gigamind.loading import first_problem

Reply = TypeVar("Reply", bound=BaseModel)
_FORMS = ("response_format", "tools", "tool_choice")  # how instructor asks for JSON
# Usage is counted below instructor.  Without usage, it searches for Anthropic's package in every folder on each call.
_NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@dataclass(slots=True)
class Conversation:
    """The requests of one logical call."""

    sender: Booking
    call: Call
    messages: Sequence[Message]
    parameters: dict[str, int | float]
    refused: set[str]  # parameters that the model rejected; shared by all conversations with it
    fields: frozenset[str] = frozenset()  # of the reply
    on_text: Callable[[str], Awaitable[None]] | None = None
    _longer: bool = False

    async def send(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a completion in OpenAI's form; a truncated answer is requested again, with twice the tokens."""
        # instructor repeats a request only if the last answer failed validation.
        self.sender.close_row(self.call, "invalid_output")
        messages = tuple(_sendable(message) for message in request["messages"])
        form = _strict({k: request[k] for k in _FORMS if k in request}, self._api_base)
        if not self.fields:
            return self._completion(await self._send(messages, None), form)
        try:
            answer = await self._send(messages, form)
        except LlmError as error:
            if error.code != "truncated" or self._longer:
                raise
        else:
            if self._longer or not cut_off(answer.text):
                return self._completion(answer, form)
            self.sender.close_row(self.call, "truncated")
        self._longer = True
        self.parameters["max_tokens"] *= 2
        return self._completion(await self._send(messages, form), form)

    async def ask(self, reply: type[Reply]) -> Reply:
        """Return a validated reply; raise LlmError if the model, the budget or the store gave none."""
        self.fields = frozenset(reply.model_fields) | {
            field.alias for field in reply.model_fields.values() if field.alias
        }
        try:
            response = await self._instruct(_response_model(reply))
        finally:
            self.sender.close_row(self.call, "invalid_output")
        values = {name: getattr(response, name) for name in reply.model_fields}
        return reply.model_construct(response.model_fields_set, **values)

    async def tell(self, on_text: Callable[[str], Awaitable[None]]) -> str:
        """Return a free-form answer and pass it on in pieces; after the first piece there are no retries."""

        async def relay(text: str) -> None:
            self.call.hopeless = True
            await on_text(text)

        self.on_text = relay
        completion = await self._instruct(None)
        text: str = completion.choices[0].message.content or ""
        if text and not self.call.hopeless:  # the server does not stream
            await on_text(text)
        return text

    async def _instruct(self, response_model: type[BaseModel] | None) -> Any:  # noqa: ANN401
        from instructor.core.exceptions import InstructorRetryException

        _conversation.set(self)
        settings = self.sender.settings
        try:
            response = await _instructed(settings.mode).chat.completions.create(
                model=settings.model,
                messages=[dict(message) for message in self.messages],
                response_model=response_model,
                max_retries=settings.reasks,
            )
        except InstructorRetryException as error:
            raise _reason(error) from None  # the exception chain contains the whole conversation
        self.sender.close_row(self.call, "ok")
        return response

    @property
    def _api_base(self) -> str | None:
        return self.sender.settings.api_base

    async def _send(self, messages: tuple[Message, ...], form: Mapping[str, Any] | None) -> Answer:
        """Send a request, again for each parameter that the model rejects, and return the answer."""
        refused: set[str] = set()
        while True:
            request = Request(messages, form, dict(self.parameters), on_text=self.on_text)
            try:
                return await self.sender.send(request, self.call)
            except ParameterRefusedError as error:
                if error.parameter in refused:
                    raise
                refused.add(error.parameter)
                self.refused.add(error.parameter)

    def _completion(self, answer: Answer, form: Mapping[str, Any]) -> Any:  # noqa: ANN401
        from openai.types.chat import ChatCompletion

        text = answer.text or ""
        if self.fields:
            text, is_repaired = readable(text, self.messages, self.fields)
            self.sender.mark_repaired(self.call, is_repaired=is_repaired)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if "tools" in form:
            function = {"name": form["tools"][0]["function"]["name"], "arguments": text}
            message = {
                **message,
                "tool_calls": [{"id": "call", "type": "function", "function": function}],
            }
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        envelope = {"id": "", "object": "chat.completion", "created": 0, "model": answer.model}
        return ChatCompletion.model_validate({**envelope, "choices": [choice], "usage": _NO_USAGE})


# instructor passes only keyword arguments on; the current task knows whose they are.
_conversation: ContextVar[Conversation] = ContextVar("_conversation")


def _sendable(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": content.encode("utf-8", "replace").decode()}


def _strict(form: dict[str, Any], api_base: str | None) -> dict[str, Any]:
    if "json_schema" not in form.get("response_format", {}):
        return form
    requested = form["response_format"]["json_schema"]
    schema = sent_schema(requested["schema"], api_base)
    strict = {**requested, "schema": schema, "strict": True}
    return {**form, "response_format": {**form["response_format"], "json_schema": strict}}


@cache
def _instructed(mode: Mode) -> Any:  # noqa: ANN401
    instructor = load_instructor()

    async def create(**request: Any) -> Any:  # noqa: ANN401
        return await _conversation.get().send(request)

    return instructor.from_litellm(create, mode=instructor.Mode[mode.upper()], async_client=True)


@cache
def _response_model(reply: type[BaseModel]) -> Any:  # noqa: ANN401
    """Return the class that instructor would otherwise make for each call."""
    return load_instructor().openai_schema(reply)


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
