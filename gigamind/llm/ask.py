"""A language model that gives validated replies; each is stored, paid for once, and recorded in the ledger.

A reply can quote a note, and a note can contain an object that imitates the verdict.  Of several JSON objects, only one
that is certainly the model's own is used, whatever its schema or the words around it; else the model is asked again:

- A reply that is one object, bare or in a code block, is the answer.
- Otherwise each `{` must begin an object, because the inside of a broken object would be used instead.
- Objects that occur in the request are quotes, whoever wrote them.  One object must remain, possibly repeated.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import from_json

from gigamind.errors import GigamindError, InputError, LlmError
from gigamind.i18n import Text, _
from gigamind.llm.batches.batcher import Batches, BatchSender
from gigamind.llm.budget import Budget
from gigamind.llm.client import Answer, Message, Reply, Request
from gigamind.llm.completion import Completions, accepted
from gigamind.llm.faults import scrub
from gigamind.llm.ledger import STORE, Attempt, Ledger, Price, price_of, read_prices
from gigamind.llm.limiter import Limiters, Speed
from gigamind.llm.loading import load_instructor
from gigamind.llm.sender import Booking, Call, Sender
from gigamind.llm.settings import Mode, ModelOptions, ModelSettings
from gigamind.llm.store import Record, Store, key_of
from gigamind.loading import first_problem

_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"
_BLOCK = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_OPENED = re.compile(r"\A```\w*\s*")
_SECOND = re.compile(r"\}\s*[^\s,\]}]")  # text after an object: perhaps another one
_SPACE = re.compile(r"[\s\\]+")  # a quote can be wrapped, or encoded as JSON in JSON
_MOST_CHARS = 100_000  # of a searched reply; a broken object can make the search quadratic


def _own_object(text: str, request: Sequence[Message]) -> str | None:
    """Return the only JSON object of a reply that is certainly its answer; None if there is none."""
    bare = _bare(text)
    objects = _objects(bare)
    if objects != [bare]:
        flat = "".join(_SPACE.sub("", str(message.get("content") or "")) for message in request)
        objects = [
            each for each in _objects(_after_thought(text)) if _SPACE.sub("", each) not in flat
        ]
    try:
        different = {json.dumps(json.loads(each), sort_keys=True): each for each in objects}
    except RecursionError:
        return None
    return next(iter(different.values())) if len(different) == 1 else None


def _readable(text: str, request: Sequence[Message], fields: AbstractSet[str]) -> tuple[str, bool]:
    """Return the JSON object of a reply with these fields, and whether it had to be repaired.

    A reply is repaired only if it is one broken object: a trailing comma, comments, `True`, typographic quotes, raw
    line breaks, lone surrogates, or one object around it.  A reply without such an object is returned unchanged.
    """
    own = _own_object(text, request)
    value: Any = json.loads(own) if own is not None else _repaired(_bare(text))
    if not isinstance(value, dict):
        return text, False
    found = cast("dict[str, Any]", value)
    (key, inner), *others = found.items() or [("", None)]
    is_wrapped = not others and key not in fields and isinstance(inner, dict)
    whole = json.dumps(inner if is_wrapped else found, ensure_ascii=False)
    sound = whole.encode("utf-8", "replace").decode()
    if own is not None and not is_wrapped and sound == whole:
        return own, False
    return sound, True


def _repaired(text: str) -> object:
    """Return the value of a broken JSON object; None for any other text."""
    is_one = text.startswith("{") and text.endswith("}") and not _SECOND.search(text)
    if not is_one or len(text) > _MOST_CHARS:
        return None
    with suppress(ValueError, RecursionError):
        try:
            json.JSONDecoder().raw_decode(text)
        except json.JSONDecodeError:
            from json_repair import repair_json

            return repair_json(text, return_objects=True, skip_json_loads=True)
    return None  # a whole object and more: which one is the answer is unknown


def _bare(text: str) -> str:
    answer = _after_thought(text)
    block = _BLOCK.fullmatch(answer)
    return block[1] if block else answer


def _cut_off(text: str | None) -> bool:
    """Return whether a text is a truncated object or thought; some servers report `stop` when tokens run out."""
    answer = _after_thought(text or "")
    if answer.startswith(_THOUGHT):
        return True
    answer = _OPENED.sub("", answer)
    if not answer.startswith("{"):
        return False
    try:
        from_json(answer.encode("utf-8", "replace"))
    except ValueError as error:
        return str(error).startswith("EOF while parsing")
    return False


def _after_thought(text: str) -> str:
    stripped = text.strip()
    if not stripped.startswith(_THOUGHT) or _THOUGHT_ENDS not in stripped:
        return stripped
    return stripped.partition(_THOUGHT_ENDS)[2].strip()


def _objects(text: str) -> list[str]:
    """Return the outermost objects of a text; none if any brace does not begin an object."""
    if len(text) > _MOST_CHARS:
        return []
    objects: list[str] = []
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            _value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        objects.append(text[place:end])
        place = text.find("{", end)
    return objects


_FORMS = ("response_format", "tools", "tool_choice")  # how instructor asks for JSON
# Usage is counted below instructor.  Without usage, it searches for Anthropic's package in every folder on each call.
_NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@dataclass(slots=True)
class _Conversation:
    """The requests of one logical call."""

    sender: Booking
    call: Call
    messages: Sequence[Message]
    parameters: dict[str, int | float]
    fields: frozenset[str] = frozenset()  # of the reply
    on_text: Callable[[str], Awaitable[None]] | None = None
    _longer: bool = False
    _answer: Answer | None = None  # the last one

    async def send(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a completion in OpenAI's form; a truncated answer is requested again, with twice the tokens."""
        # instructor repeats a request only if the last answer failed validation.
        self.sender.close_row(self.call, "invalid_output")
        messages = tuple(_sendable(message) for message in request["messages"])
        api_base = self.sender.settings.api_base
        form = _strict({k: request[k] for k in _FORMS if k in request}, api_base)
        if not self.fields:
            return self._completion(await self._send(messages, None), form)
        try:
            answer = await self._send(messages, form)
        except LlmError as error:
            if error.code != "truncated" or self._longer:
                raise
        else:
            if self._longer or not _cut_off(answer.text):
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
            # The exception chain contains the whole conversation.
            raise _reason(error, self._answer) from None
        self.sender.close_row(self.call, "ok")
        return response

    async def _send(self, messages: tuple[Message, ...], form: Mapping[str, Any] | None) -> Answer:
        request = Request(messages, form, dict(self.parameters), on_text=self.on_text)
        self._answer = await self.sender.send(request, self.call)
        return self._answer

    def _completion(self, answer: Answer, form: Mapping[str, Any]) -> Any:  # noqa: ANN401
        from openai.types.chat import ChatCompletion

        text = answer.text or ""
        if self.fields:
            text, is_repaired = _readable(text, self.messages, self.fields)
            if is_repaired and self.call.open_row:
                self.call.open_row = replace(self.call.open_row, repaired=1)
        calls: list[Any] | None = None
        if "tools" in form:
            function = {"name": form["tools"][0]["function"]["name"], "arguments": text}
            calls = [{"id": "call", "type": "function", "function": function}]
        message = {"role": "assistant", "content": text, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        envelope = {"id": "", "object": "chat.completion", "created": 0, "model": answer.model}
        return ChatCompletion.model_validate({**envelope, "choices": [choice], "usage": _NO_USAGE})


# instructor passes only keyword arguments on; the current task knows whose they are.
_conversation: ContextVar[_Conversation] = ContextVar("_conversation")


def _sendable(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": content.encode("utf-8", "replace").decode()}


def _strict(form: dict[str, Any], api_base: str | None) -> dict[str, Any]:
    if "json_schema" not in form.get("response_format", {}):
        return form
    requested = form["response_format"]["json_schema"]
    schema = _sent_schema(requested["schema"], api_base)
    strict = {**requested, "schema": schema, "strict": True}
    return {**form, "response_format": {**form["response_format"], "json_schema": strict}}


_LENGTHS = ("minLength", "maxLength")
_MOST_REPETITIONS = 1_999
_OWN_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa", ".localhost")


def _sent_schema(schema: Mapping[str, Any], api_base: str | None) -> dict[str, Any]:
    """Return a reply's schema for the server at `api_base`; None is the provider's address.

    Self-hosted servers get length limits of strings, because their grammars would let a small model write for ever.
    OpenAI's strict mode documents `maxItems` but no string lengths, and its Java client rejects them.  Anthropic
    accepts neither, and litellm removes them there.  llama.cpp before August 2026 rejects more than 2 000 repetitions.
    """
    most = _MOST_REPETITIONS if _is_own(api_base) else 0

    def within(row: dict[str, Any]) -> dict[str, Any]:
        lengths = {name: row[name] for name in _LENGTHS if isinstance(row.get(name), int)}
        return {name: value for name, value in row.items() if lengths.get(name, 0) <= most}

    return json.loads(json.dumps(schema), object_hook=within)


def _is_own(api_base: str | None) -> bool:
    host = urlsplit(api_base or "").hostname or ""
    try:
        return ip_address(host).is_private  # includes loopback
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_OWN_SUFFIXES))


@cache
def _instructed(mode: Mode) -> Any:  # noqa: ANN401
    instructor = load_instructor()

    async def create(**request: Any) -> Any:  # noqa: ANN401
        return await _conversation.get().send(request)

    return instructor.from_litellm(create, mode=instructor.Mode[mode.upper()], async_client=True)


@cache
def _response_model(reply: type[BaseModel]) -> Any:  # noqa: ANN401
    """Return a class that only asks for a reply and reads it: instructor inspects all fields four times a call."""
    model = load_instructor().openai_schema(create_model(reply.__name__, __doc__=reply.__doc__))
    model.model_json_schema = partial(json.loads, json.dumps(_schema(reply)))
    model.model_validate_json = reply.model_validate_json
    return model


def _reason(error: BaseException, answer: Answer | None) -> BaseException:
    """Return the cause: an error of ours, the problem and the shape of the answer, but never its text, or a bug."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
        if isinstance(cause, GigamindError):
            return cause
        if isinstance(cause, ValidationError):
            return _unusable(_("the model's reply is invalid"), first_problem(cause), answer)
    if isinstance(cause, ValueError):  # raised by instructor for an answer without JSON
        return _unusable(_("the model's reply cannot be read"), str(cause), answer)
    return cause


def _unusable(problem: Text, reason: str, answer: Answer | None) -> LlmError:
    text = _("{problem}: {reason}", problem=problem, reason=scrub(reason))
    if answer:
        text = _(
            "{problem} (finish reason {finish}, {n:,} characters, from {model})",
            problem=text,
            finish=answer.finish,
            n=len(answer.text or ""),
            model=answer.model or _("an unnamed model"),
        )
    return LlmError(text, "invalid_output")


class LanguageModel:
    """One model with the store, the budget and the ledger of its calls, sent one at a time or in `batches`.

    By default, litellm sends the requests; a given `client` accepts the `parameters` and has no price.

    Raises:
        InputError: The price is unknown and the budget is limited in dollars, or the provider has no batches.
        LlmError: The key is not in the environment, or the provider is unknown.
        ModuleNotFoundError: gigamind was installed without its extra `llm`.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        client: Completions | None = None,
        parameters: Mapping[str, int | float] | None = None,
        store: Store | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        limiters: Limiters | None = None,
        batches: Batches | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        _check_installed()
        self.settings = settings
        self._wanted = accepted(settings) if parameters is None else parameters
        own, base = prices or {}, settings.api_base
        self.price = price = (
            None if client else price_of(settings.model, own, api_base=base, batch=bool(batches))
        )
        self.ledger = ledger or Ledger()
        self.budget = budget or Budget()
        self.limiters = limiters or Limiters()
        self._store = store or Store()
        self._store.tell = lambda line: self.limiters.tell(line)  # noqa: PLW0108  can be set later
        self._store.shared = not self.limiters.alone
        account = settings, self.budget, self.ledger, price
        self._sender: Booking = (
            BatchSender(*account, batches)
            if batches
            else Sender(*account, client or Completions(settings), self.limiters)
        )
        if price is None and self.budget.limits.micro_usd is not None:
            raise unpriced(settings.model)

    @property
    def parameters(self) -> dict[str, int | float]:
        """The wanted parameters without those that the model rejected."""
        refused = self._sender.refused - {"max_tokens"}
        return {name: value for name, value in self._wanted.items() if name not in refused}

    async def measure(self, request: Request) -> Speed | None:
        """Measure the speed of the server for requests like this one; None (and reported) on failure."""
        return await self._sender.measure(request)

    async def close(self) -> None:
        """Close the connections and release the ledger for the next writer."""
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
        """Return a validated reply.

        Args:
            fresh: Neither use a stored reply nor store this one, to test whether the model repeats its reply.
            fingerprint: Fingerprint of the judge; stored replies of other judges are not used.
            repeat: Number of an intentional repetition of the same request.
            max_tokens: None for the limit in the settings.

        Raises:
            LlmError: The model, the budget or the store gave no reply.
        """
        parameters = dict(self._wanted)  # the key of stored replies includes rejected parameters
        if max_tokens is not None:
            parameters["max_tokens"] = max_tokens
        key = key_of({
            "endpoint": self.settings.api_base or "",
            "model": self.settings.model,
            "mode": self.settings.mode,
            "messages": [dict(message) for message in messages],
            "schema": _schema(reply),
            "parameters": parameters,
            "fingerprint": fingerprint,
            "repeat": repeat,
        })  # fmt: skip
        call = Call(item_id, key, fresh)
        await self._sender.ready()
        conversation = _Conversation(self._sender, call, messages, dict(parameters))
        if fresh:
            return await conversation.ask(reply)

        async def make() -> tuple[Record, Reply]:
            validated = await conversation.ask(reply)
            values = validated.model_dump(mode="json", by_alias=True)
            return {"model": self.settings.model, "reply": values}, validated

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
        """Return a complete answer in plain text; `on_text` receives it in pieces.  The store is not used.

        Raises LlmError without a complete answer; pieces already passed on remain valid.
        """
        await self._sender.ready()
        call = Call(item_id, "", fresh=True)
        return await _Conversation(self._sender, call, messages, dict(self._wanted)).tell(on_text)

    @classmethod
    def open(
        cls,
        options: ModelOptions,
        ledger: Ledger,
        store: Path,
        adjust: Callable[[ModelSettings], ModelSettings] = lambda settings: settings,
        budget: Budget | None = None,
        *,
        model: str | None = None,
        limiters: Limiters | None = None,
        batches: Batches | None = None,
    ) -> Self:
        """Return the model of the options, or `model`; closing it closes the ledger too.

        Args:
            store: Folder of stored replies, unless the options name another.
            adjust: Applies the settings of a judge file or a command, such as temperature and tokens.
            budget: A budget shared with other models; None for one of its own.

        Raises:
            InputError: No model is named, or its price is unknown and the cost is limited.
            LlmError: The key is not in the environment, or the provider is unknown.
        """
        try:
            return cls(
                adjust(options.settings(model)),
                prices=read_prices(options.prices) if options.prices else {},
                store=Store(options.store or store, options.store_mode),
                budget=budget or Budget.of(options),
                ledger=ledger,
                limiters=limiters,
                batches=batches,
            )
        except BaseException:
            ledger.close()
            raise


def _check_installed() -> None:
    """Raise ModuleNotFoundError if the extra `llm` is not installed; nothing is imported."""
    for name in ("instructor", "json_repair", "litellm", "openai"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def unpriced(model: str) -> InputError:
    """Return the error for a cost limit with a model of unknown price."""
    return InputError(
        "{model}: the price is unknown, so --max-cost-usd cannot be enforced. Set a price with"
        " --prices, or use --max-calls.",
        model=model,
    )


@cache
def _schema(reply: type[BaseModel]) -> dict[str, Any]:
    return reply.model_json_schema()
