"""A language model that is asked questions and gives validated replies, each stored, paid for once, and booked.

instructor parses and asks once more where an answer does not fit; an answer that was cut off is asked for once more
with twice the tokens.  Each request runs through the store, the budget, the limiter and the ledger.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError, create_model

from gigamind.errors import GigamindError, InputError, LlmError
from gigamind.llm.batches.batcher import Batches
from gigamind.llm.batches.sender import BatchSender
from gigamind.llm.booking import Booking, Call
from gigamind.llm.budget import Budget, budget_of
from gigamind.llm.client import Answer, Client, Message, ParameterRefusedError, Request
from gigamind.llm.faults import scrub
from gigamind.llm.ledger import STORE, Attempt, Ledger
from gigamind.llm.limiter import Gates
from gigamind.llm.loading import check_installed, load_instructor
from gigamind.llm.options import ModelOptions
from gigamind.llm.prices import price_of, read_prices
from gigamind.llm.reading import cut_off, own_object
from gigamind.llm.sender import Sender
from gigamind.llm.settings import Mode, ModelSettings
from gigamind.llm.speed import Speed
from gigamind.llm.store import Record, Store, key_of
from gigamind.llm.through_litellm import LitellmClient, taken
from gigamind.llm.transport import OpenAIClient, speaks_openai, wanted
from gigamind.llm.usage import Price
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


class LanguageModel:
    """One model, with the store, the budget and the ledger that its calls go through."""

    def __init__(
        self,
        settings: ModelSettings,
        *,
        client: Client | Batches,
        parameters: Mapping[str, int | float],
        price: Price | None = None,
        store: Store | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        gates: Gates | None = None,
    ) -> None:
        self.settings = settings
        self._wanted = parameters
        self._refused: set[str] = set()
        self.price = price
        self.ledger = ledger or Ledger()
        self.budget = budget or Budget()
        self.gates = gates or Gates()
        self._store = store or Store()
        self._store.tell = lambda line: self.gates.tell(line)  # noqa: PLW0108  which may be set later
        self._store.shared = not self.gates.alone
        account = (self.budget, self.ledger, price)
        self._sender: Booking = (
            BatchSender(settings, client, *account)
            if isinstance(client, Batches)
            else Sender(settings, client, *account, gates=self.gates)
        )
        if price is None and self.budget.limits.micro_usd is not None:
            raise unpriced(settings.model)

    @property
    def parameters(self) -> dict[str, int | float]:
        """What is sent, less what the model has refused."""
        return {k: v for k, v in self._wanted.items() if k not in self._refused - {"max_tokens"}}

    async def measure(self, request: Request) -> Speed | None:
        """The speed of its server, for requests such as this one; None where that failed, which the gates are told."""
        return await self._sender.measure(request)

    async def close(self) -> None:
        """Close the connections, and let the next writer of the ledger in."""
        await self._sender.close()
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
        parameters = dict(self._wanted)  # as stored replies are found, whatever is refused later
        if max_tokens is not None:
            parameters["max_tokens"] = max_tokens
        key = self._key(messages, reply, parameters, fingerprint, repeat)
        call = Call(item_id, key, fresh)
        await self._sender.ready()
        if fresh:
            return await self._ask(messages, reply, call, parameters)

        async def make() -> tuple[Record, Reply]:
            made = await self._ask(messages, reply, call, parameters)
            return {"model": self.settings.model, "reply": _plain(made)}, made

        validated, stored = await self._store.fetch(
            key, lambda record: reply.model_validate(record["reply"]), make
        )
        if stored:
            row = Attempt(item_id, 1, STORE, "ok", self.settings.model, key)
            self.ledger.append(replace(row, role=self.settings.role))
        return validated

    async def tell(
        self,
        messages: Sequence[Message],
        on_text: Callable[[str], Awaitable[None]],
        *,
        item_id: str,
    ) -> str:
        """An answer in plain text, all of it; it is neither taken from the store nor kept there.

        Args:
            on_text: gets it piece by piece, as the model gives it.

        Raises:
            LlmError: the model or the budget gave none, or not all of it: what was told by then stands.
        """
        await self._sender.ready()
        call, parameters = Call(item_id, "", fresh=True), dict(self._wanted)
        conversation = Conversation(self._sender, call, messages, parameters, self._refused)
        return await conversation.tell(on_text)

    async def _ask(
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        call: Call,
        parameters: Mapping[str, int | float],
    ) -> Reply:
        from instructor.core.exceptions import InstructorRetryException

        _conversation.set(
            Conversation(self._sender, call, messages, dict(parameters), self._refused)
        )
        try:
            made = await _instructed(self.settings.mode).chat.completions.create(
                model=self.settings.model,
                messages=[dict(message) for message in messages],
                response_model=_shape(reply),
                max_retries=self.settings.reasks,
            )
        except InstructorRetryException as error:
            raise _reason(error) from None  # the chain holds the whole conversation
        else:
            self._sender.close_row(call, "ok")
            return made.reply
        finally:
            self._sender.close_row(call, "invalid_output")

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
    store: Store | None = None,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    gates: Gates | None = None,
    batches: Batches | None = None,
    prices: Mapping[str, Price] | None = None,
) -> LanguageModel:
    """A model by its name: asked directly where it speaks OpenAI's protocol, else through litellm; or in batches.

    Raises:
        InputError: its price is unknown, and the budget has a limit in dollars; or its provider has no batches.
        LlmError: its key is not in the environment, or its provider is unknown.
        ModuleNotFoundError: gigamind was installed without its extra `llm`.
    """
    check_installed()
    directly = speaks_openai(settings.model)
    return LanguageModel(
        settings,
        client=batches or (OpenAIClient(settings) if directly else LitellmClient(settings)),
        parameters=wanted(settings) if directly else taken(settings, wanted(settings)),
        price=price_of(
            settings.model, prices or {}, api_base=settings.api_base, batch=batches is not None
        ),
        store=store,
        budget=budget,
        ledger=ledger,
        gates=gates,
    )


def open_model(
    options: ModelOptions,
    ledger: Ledger,
    store: Path,
    adjust: Callable[[ModelSettings], ModelSettings] = lambda settings: settings,
    budget: Budget | None = None,
    *,
    model: str | None = None,
    gates: Gates | None = None,
    batches: Batches | None = None,
) -> LanguageModel:
    """The model of the options; closing it closes the ledger, too.

    Args:
        store: where answers are kept, unless the options name another folder.
        adjust: sets what a judge file or a command decides, such as temperature and tokens.
        budget: shared with other models; one of its own without it.
        gates: shared with them, too.
        model: another one than that of the options.

    Raises:
        InputError: no model is named, or its price is unknown and the cost is limited.
        LlmError: its key is not in the environment, or its provider is unknown.
    """
    try:
        return connect(
            adjust(options.settings(model)),
            prices=read_prices(options.prices) if options.prices else {},
            store=Store(options.store or store, options.store_mode),
            budget=budget or budget_of(options),
            ledger=ledger,
            gates=gates,
            batches=batches,
        )
    except BaseException:
        ledger.close()
        raise


def unpriced(model: str) -> InputError:
    """Why a run whose cost is limited cannot ask a model whose price is not known."""
    return InputError(
        f"{model} has no known price, so --max-cost-usd cannot be kept: name one with --prices, or limit --max-calls"
    )


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
        if isinstance(cause, GigamindError):
            return cause
        if isinstance(cause, ValidationError):
            return LlmError(
                f"the reply failed validation: {scrub(first_problem(cause))}", "invalid_output"
            )
    if isinstance(cause, ValueError):  # instructor's own, of an answer that holds no JSON
        return LlmError(f"the reply could not be read: {scrub(str(cause))}", "invalid_output")
    return cause


_LENGTHS = ("minLength", "maxLength")
_MOST_REPETITIONS = 1_999
_OWN_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa", ".localhost")


def sent_schema(schema: Mapping[str, Any], api_base: str | None) -> dict[str, Any]:
    """A reply's schema for the server at that address; None for that of the provider.

    Strings have bounds on servers of one's own, whose grammars would else let a small model write for ever.  OpenAI's
    strict mode documents `maxItems` and no length of strings, and its Java client refuses one; Anthropic takes neither,
    and litellm leaves them out there.  llama.cpp of before August 2026 refuses more than 2 000 repetitions.
    """
    return _within(schema, _MOST_REPETITIONS if _is_own(api_base) else 0)


def _within(schema: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The same without lengths of strings above `most`; a field may be called like one, but is no number."""
    return {
        name: _inside(value, most)
        for name, value in schema.items()
        if name not in _LENGTHS or not isinstance(value, int) or value <= most
    }


def _inside(value: object, most: int) -> object:
    if isinstance(value, Mapping):
        return _within(cast("Mapping[str, Any]", value), most)
    if isinstance(value, list):
        return [_inside(row, most) for row in cast("list[object]", value)]
    return value


def _is_own(api_base: str | None) -> bool:
    """Whether a server stands on this machine or its network, and not at a provider."""
    host = urlsplit(api_base or "").hostname or ""
    try:
        return ip_address(host).is_private  # loopback is, too
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_OWN_SUFFIXES))
