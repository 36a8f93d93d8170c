"""Asks a model for a reply of a given shape: a validated reply comes out, or an error with a stable code.

instructor states the schema, parses, and sends an answer that fails validation back once.  It never sees the key, and
`context=` is never given to it: it would run Jinja over the messages, note text included.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gigamind.errors import InputError, LlmError
from gigamind.llm.budget import Budget
from gigamind.llm.client import Client, Message
from gigamind.llm.conversation import Conversation
from gigamind.llm.faults import scrub
from gigamind.llm.ledger import STORE, Attempt, Ledger
from gigamind.llm.loading import load_instructor
from gigamind.llm.prices import Price, price_of
from gigamind.llm.sender import Call, Sender
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import Record, Store, key_of
from gigamind.llm.transport import LitellmClient, accepted

Reply = TypeVar("Reply", bound=BaseModel)


class LanguageModel:
    """One model, with the store, the budget and the ledger that its calls go through."""

    def __init__(
        self,
        settings: ModelSettings,
        *,
        client: Client,
        parameters: Mapping[str, int | float],
        price: Price | None = None,
        store: Store | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.settings = settings
        self.parameters = parameters
        self.price = price
        self.ledger = ledger or Ledger()
        self.budget = budget or Budget()
        self._store = store or Store()
        self._client = client
        self._sender = Sender(settings, client, self.budget, self.ledger, price)
        if price is None and self.budget.limits.micro_usd is not None:
            raise unpriced(settings.model)

    async def close(self) -> None:
        """Close the connections, and let the next writer of the ledger in."""
        await self._client.close()
        self.ledger.close()

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
        """A validated reply.

        Args:
            fresh: neither take a stored reply nor keep this one: to see whether the model says the same again.
            fingerprint: of the judge that asks; another judge's stored replies are not taken.
            repeat: number of the repetition, when the same is asked several times on purpose.
            max_tokens: of this answer; None for as many as of any.

        Raises:
            LlmError: the model, the budget or the store gave none.
        """
        parameters = dict(self.parameters)
        if max_tokens is not None:
            parameters["max_tokens"] = max_tokens
        key = self._key(messages, reply, parameters, fingerprint, repeat)
        call = Call(item_id, key)
        if fresh:
            return await self._ask(messages, reply, call, parameters)

        async def make() -> tuple[Record, Reply]:
            made = await self._ask(messages, reply, call, parameters)
            return {"model": self.settings.model, "reply": _plain(made)}, made

        found, stored = await self._store.fetch(
            key, lambda record: reply.model_validate(record["reply"]), make
        )
        if stored:
            row = Attempt(item_id, 1, STORE, "ok", self.settings.model, key)
            self.ledger.append(replace(row, role=self.settings.role))
        return found

    async def _ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        call: Call,
        parameters: Mapping[str, int | float],
    ) -> Reply:
        from instructor.core.exceptions import InstructorRetryException

        conversation = Conversation(self._sender, call, parameters)
        try:
            made = await self._client_for(conversation).chat.completions.create(
                model=self.settings.model,
                messages=[dict(message) for message in messages],
                response_model=_instructed(reply),
                max_retries=self.settings.reasks,
            )
            self._sender.close_row(call, "ok")
            return reply.model_validate(_plain(made))  # without what instructor hangs on it
        except InstructorRetryException as error:
            raise _reason(error) from None  # the chain holds the whole conversation
        finally:
            self._sender.close_row(call, "invalid_output")

    def _client_for(self, conversation: Conversation) -> Any:  # noqa: ANN401
        instructor = load_instructor()
        modes = {"json_schema": instructor.Mode.JSON_SCHEMA, "md_json": instructor.Mode.MD_JSON}
        mode = modes[self.settings.mode]
        return instructor.from_litellm(conversation.send, mode=mode, async_client=True)

    def _key(
        self,
        messages: Sequence[Message],
        reply: type[BaseModel],
        parameters: Mapping[str, int | float],
        fingerprint: str,
        repeat: int,
    ) -> str:
        settings = self.settings
        return key_of({
            "endpoint": settings.api_base or "",
            "model": settings.model,
            "mode": settings.mode,
            "messages": [dict(message) for message in messages],
            "schema": _schema(reply),
            "parameters": dict(parameters),
            "fingerprint": fingerprint,
            "repeat": repeat,
        })  # fmt: skip


def connect(
    settings: ModelSettings,
    *,
    prices: Mapping[str, Price] | None = None,
    store: Store | None = None,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
) -> LanguageModel:
    """A model behind litellm.

    Raises:
        InputError: its price is unknown, and the budget has a limit in dollars.
        LlmError: its key is not in the environment, or its provider is unknown.
    """
    return LanguageModel(
        settings,
        client=LitellmClient(settings),
        parameters=accepted(settings),
        price=price_of(settings.model, prices or {}),
        store=store,
        budget=budget,
        ledger=ledger,
    )


def unpriced(model: str) -> InputError:
    """Why a run whose cost is limited cannot ask a model whose price is not known."""
    return InputError(
        f"{model} has no known price, so --max-cost-usd cannot be kept: name one with --prices, or limit --max-calls"
    )


@cache
def _instructed(reply: type[BaseModel]) -> type[BaseModel]:
    """The class and the schema that instructor would else make of a reply at each call, for a millisecond."""
    made: Any = load_instructor().response_schema(reply)
    schema = json.dumps(made.model_json_schema())

    def model_json_schema() -> dict[str, Any]:
        return json.loads(schema)  # one of its own each time, for litellm may change it

    made.model_json_schema = model_json_schema
    return made


@cache
def _schema(reply: type[BaseModel]) -> dict[str, Any]:
    return reply.model_json_schema()


def _plain(reply: BaseModel) -> dict[str, Any]:
    return reply.model_dump(mode="json", by_alias=True)


def _reason(error: BaseException) -> BaseException:
    """What lies beneath instructor's error: ours, what was wrong with the answer (without the answer), or a bug."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
        if isinstance(cause, LlmError):
            return cause
        if isinstance(cause, ValidationError):
            return LlmError(f"the reply failed validation: {_first(cause)}", "invalid_output")
    if isinstance(cause, ValueError):  # instructor's own, of an answer that holds no JSON
        return LlmError(f"the reply could not be read: {scrub(str(cause))}", "invalid_output")
    return cause


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the whole"
    return scrub(f"{place}: {first['msg']}")
