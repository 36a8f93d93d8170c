"""A request to a language model, its answer, and the interfaces that judges and senders depend on."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from gigamind.errors import LlmError
from gigamind.llm.usage import Usage

Message = Mapping[str, Any]
Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as sent, without key and address."""

    messages: tuple[Message, ...]
    form: (
        Mapping[str, Any] | None
    )  # as instructor sends it: `response_format`, or `tools` and `tool_choice`
    parameters: Mapping[str, int | float]  # always `max_tokens`; `temperature`, `seed` if accepted
    timeout_s: float | None = None  # None for that of the settings
    on_text: Callable[[str], Awaitable[None]] | None = None  # awaited for each piece of text

    @property
    def max_tokens(self) -> int:
        """Upper limit of tokens in the answer."""
        return int(self.parameters["max_tokens"])

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of the answer; None if the messages alone ask for it."""
        form = self.form or {}
        if tools := form.get("tools"):
            return tools[0]["function"]["parameters"]
        return form.get("response_format", {}).get("json_schema", {}).get("schema")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server, before validation."""

    text: str | None
    finish: str = "stop"  # or `length`, `content_filter`, `none` (no choice at all)
    refusal: str | None = None
    usage: Usage | None = None  # None if the server reported none; never zero tokens
    model: str = ""  # the server's name of the model
    fingerprint: str = ""  # fingerprint of the server's configuration; empty if it reports none


class ParameterRefusedError(LlmError):
    """The model rejects or requires a parameter.  The client follows from now on; the request can be sent again."""

    def __init__(self, error: LlmError, parameter: str) -> None:
        LlmError.__init__(self, *error.args)
        self.parameter = parameter

    def __reduce__(self) -> tuple[type[LlmError], tuple[Any, ...]]:
        return LlmError, self.args  # after pickling, nobody sends the request again


class Asked(Protocol):
    """A model that gives validated replies, as `ask.LanguageModel` does; judges depend on this interface."""

    async def ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        item_id: str,
        fingerprint: str = "",
        repeat: int = 0,
        fresh: bool = False,
        max_tokens: int | None = None,
    ) -> Reply:
        """Return a validated reply as `ask.LanguageModel.ask`; raise LlmError if the model gave none."""
        ...


class Client(Protocol):
    """Sends requests to one model, as `completion.Completions` does."""

    async def send(self, request: Request) -> Answer:
        """Send one request; raise LlmError if no answer came, ParameterRefusedError if a parameter is left out next."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
