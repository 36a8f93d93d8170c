"""The seams to a language model: what asks (`Asked`), and what sends, one request and one answer without retries."""

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
    """One request as it is sent, without key and address.

    Attributes:
        response_format: the JSON schema that the answer must follow, as OpenAI has it; None where the messages say it.
        parameters: `max_tokens` always, `temperature` and `seed` where the model takes them.
        timeout_s: that the answer may take; None for as long as the settings say.
        on_text: gets the text piece by piece as it comes, and is awaited before more is read; None: all at its end.
    """

    messages: tuple[Message, ...]
    response_format: Mapping[str, Any] | None
    parameters: Mapping[str, int | float]
    timeout_s: float | None = None
    on_text: Callable[[str], Awaitable[None]] | None = None

    @property
    def max_tokens(self) -> int:
        """Tokens that the answer may have at most."""
        return int(self.parameters["max_tokens"])


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered, unjudged.

    Attributes:
        text: None when there is none.
        finish: `stop`, `length`, `content_filter`, or `none` when there was no choice at all.
        usage: None when the server did not tell: never zero tokens.
        model: the name by which the server calls the model that answered.
        fingerprint: of the server's configuration; empty when it tells none.
    """

    text: str | None
    finish: str = "stop"
    refusal: str | None = None
    usage: Usage | None = None
    model: str = ""
    fingerprint: str = ""


class ParameterRefusedError(LlmError):
    """The model takes no such parameter: its client leaves it out from now on, so the request may be sent again."""

    def __init__(self, error: LlmError, parameter: str) -> None:
        LlmError.__init__(self, *error.args)
        self.parameter = parameter

    def __reduce__(self) -> tuple[type[LlmError], tuple[Any, ...]]:
        return LlmError, self.args  # whoever is not there to send it again needs no more


class Asked(Protocol):
    """A model that gives validated replies, as `ask.LanguageModel` does: what a judge needs of one."""

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
        """A validated reply; see `ask.LanguageModel.ask`.

        Raises:
            LlmError: it gave none.
        """
        ...


class Client(Protocol):
    """Sends requests to one model."""

    async def send(self, request: Request) -> Answer:
        """One attempt over the network.

        Raises:
            LlmError: no answer came.
            ParameterRefusedError: for a parameter that this client will not send again.
        """
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...
