"""The batch interfaces of OpenAI and Anthropic, by their SDKs over our transport.

A batch is a list of requests, each with a `custom_id` of ours; results come in any order, each with that id.  Reading
a batch costs nothing and is retried.  Creating one may cost and is never retried here.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from http import HTTPStatus
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from gigamind.errors import InputError, LlmError
from gigamind.i18n import _
from gigamind.llm.client import Answer, Request, Usage
from gigamind.llm.completion import answer_of, error_of_exchange, error_text, reply_in
from gigamind.llm.faults import code_of, error_of_status, lost, unset_key, with_retries
from gigamind.llm.loading import load_litellm
from gigamind.llm.settings import ModelSettings
from gigamind.llm.transport import MOST_BYTES, Exchange, Transport, exchange
from gigamind.redaction import keep_secret, keep_secret_of
from gigamind.runs.folders import private_file

_Json = dict[str, Any]
_Row = Any  # of an SDK, with whatever a server sent
_Result = TypeVar("_Result")
RequestOutcome = Answer | LlmError
"""Result of a request in a batch."""
_SHORT_S, _LONG_S = 300.0, 3600.0  # a batch can have 256 MB
_LONGEST_UPLOAD_S = 7200.0
_PAGE = 100
_TAG = "gigamind"


@dataclass(frozen=True, slots=True)
class State:
    """The state of a batch as the provider reports it."""

    batch_id: str
    status: str  # in the provider's terms
    ended: bool  # whether it is final
    done: int
    total: int  # of the requests
    results: tuple[str, ...]  # paths, if any
    problem: LlmError  # of requests without a result


class Provider(ABC):
    """Batches of a model, named without its provider; raises LlmError if the key is not in the environment."""

    name: ClassVar[str]
    key_variable: ClassVar[str]  # default environment variable of the key
    address: ClassVar[str]  # default address, after `address_variables`
    address_variables: ClassVar[tuple[str, ...]]
    is_tagged: ClassVar[bool]  # whether `find` returns only our batches, by tag
    clock_skew_s: ClassVar[float]  # largest difference of its clock to ours
    most_requests: int  # of one batch
    most_bytes: int
    _resource: ClassVar[str]  # of the SDK's client
    _http: ClassVar[str]  # the package of its connections

    def __init__(self, settings: ModelSettings, model: str) -> None:
        self._settings = settings
        self._model = model
        addresses = (settings.api_base, *map(os.environ.get, self.address_variables))
        self._address = next(filter(None, addresses), self.address)
        self._is_itself = self._address == self.address
        keep_secret(self._address)
        keep_secret_of(settings.key_variable)
        variable = settings.key_variable or self.key_variable
        if (self._is_itself or settings.key_variable) and not os.environ.get(variable):
            raise InputError(unset_key(settings.model, variable))
        self._key = os.environ.get(variable, "").strip() or "none"
        self._transport: Transport | None = None

    @abstractmethod
    def _connect(self, connections: Any) -> Any:  # noqa: ANN401
        """Return the SDK's client over these connections."""

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401  the SDKs are loaded late
        http: Any = import_module(self._http)
        self._transport = Transport(http)
        return self._connect(http.AsyncClient(transport=self._transport, follow_redirects=False))

    @property
    def _batches(self) -> Any:  # noqa: ANN401
        return attrgetter(self._resource)(self._client)

    @abstractmethod
    def line(self, custom_id: str, request: Request) -> bytes:
        """Return a request as a line of a batch."""

    async def upload(self, tag: str, lines: Sequence[bytes]) -> str:
        """Upload these lines and return the id of the file, "" if none is needed; raise LlmError if that failed."""
        del tag, lines
        return ""

    @abstractmethod
    async def create(self, tag: str, file_id: str, lines: Sequence[bytes]) -> State:
        """Start the batch of a file; an LlmError with `may_cost` means that it may have been started."""

    @abstractmethod
    def _state(self, row: _Row) -> State: ...

    @abstractmethod
    def _outcome(self, row: _Json) -> RequestOutcome: ...

    async def find(self, tag: str, since: float, count: int) -> list[State]:
        """Return listed batches that can have this tag: `count` requests, created after `since` (epoch seconds)."""

        async def search() -> list[State]:
            found: list[State] = []
            async for row in self._batches.list(limit=_PAGE):
                created_at = _seconds(row.created_at)
                if created_at < since - self.clock_skew_s:
                    break
                if not self.is_tagged:
                    state = self._state(row)
                    if state.total == count and created_at < since + _LONGEST_UPLOAD_S:
                        found.append(state)
                elif _table(row.metadata).get(_TAG) == tag:
                    found.append(self._state(row))
            return found

        return await self._call(search, list[State], is_retried=True)

    async def look(self, batch_id: str) -> State:
        """Return the current state of a batch."""
        return await self._call(
            lambda: self._batches.retrieve(batch_id), self._state, is_retried=True
        )

    async def cancel(self, batch_id: str) -> State:
        """Stop a batch; finished requests are charged and can be read."""
        return await self._call(lambda: self._batches.cancel(batch_id), self._state)

    async def download(self, state: State, path: Path) -> None:
        """Write its results to a file of lines, completely or not at all."""

        async def copy() -> None:
            with private_file(path) as unfinished, unfinished.open("wb") as file:
                for result in state.results:
                    streamed = await self._client.get(result, cast_to=object, stream=True)
                    async with aclosing(streamed.response) as response:
                        async for block in response.aiter_bytes():
                            file.write(block)

        await self._call(copy, lambda _done: None, _LONG_S, None, is_retried=True)

    def read(self, path: Path) -> dict[str, RequestOutcome]:
        """Return the results in a downloaded file, by `custom_id`; a line without one is left out."""
        outcomes: dict[str, RequestOutcome] = {}
        with path.open("rb") as lines:
            for line in lines:
                try:
                    row = _table(json.loads(line))
                except (ValueError, RecursionError):
                    continue
                if not isinstance(custom_id := row.get("custom_id"), str):
                    continue
                try:
                    outcomes[custom_id] = self._outcome(row)
                except Exception:  # noqa: BLE001  the server can send anything
                    reason = _("the batch result contains no model reply")
                    outcomes[custom_id] = lost(self._settings.model, reason, "malformed_response")
        return outcomes

    async def close(self) -> None:
        """Close the connections."""
        if self._transport:
            await self._transport.end()

    async def _call(
        self,
        send: Callable[[], Awaitable[Any]],
        read: Callable[[Any], _Result],
        timeout_s: float = _SHORT_S,
        most: int | None = MOST_BYTES,
        *,
        is_retried: bool = False,
    ) -> _Result:
        """Return what `read` makes of a response; raise LlmError if none came or it has another form."""

        async def once() -> _Result:
            current = Exchange(timeout_s, most)
            exchange.set(current)
            try:
                return read(await send())
            except OSError:  # of the disk; those of the network are in `current`
                raise
            except Exception as error:  # noqa: BLE001  the server can send anything
                # The exception chain can contain the key.
                raise error_of_exchange(error, current, self._settings.model) from None

        return await (with_retries(once, self._settings) if is_retried else once())

    def _failed(self, status: int, error: _Json) -> LlmError:
        """Return the error of a request that the provider reports as failed, which costs nothing."""
        text = error_text(json.dumps(error).encode())
        return LlmError(*error_of_status(self._settings.model, status, text).args[:4])

    def without_result(self, status: str) -> LlmError:
        """Return the error of a request without a result, from the status of its batch."""
        reason = _(
            "the batch has the status {status} and no result for this request", status=status
        )
        if status in {"completed", "ended"}:
            return lost(self._settings.model, reason, "malformed_response")
        code = "timeout" if status == "expired" else "server_error"
        return lost(self._settings.model, reason, code, may_cost=False)


class _OpenAiBatches(Provider):
    """An uploaded file of requests becomes a batch with our tag, which leaves files of answers and of errors."""

    name = "OpenAI"
    key_variable = "OPENAI_API_KEY"
    address = "https://api.openai.com/v1"
    address_variables = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    is_tagged = True
    clock_skew_s = 3600.0
    most_requests, most_bytes = 50_000, 200 * 10**6
    _resource, _http = "batches", "httpx"
    _endpoint = "/v1/chat/completions"
    _ended = frozenset({"completed", "failed", "expired", "cancelled"})
    _account_limits = ("insufficient_quota", "billing_hard_limit_reached", "token_limit_exceeded")

    def _connect(self, connections: Any) -> Any:  # noqa: ANN401
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._key,
            organization=os.environ.get("OPENAI_ORGANIZATION"),  # else the SDK reads OPENAI_ORG_ID
            base_url=self._address,
            timeout=_LONG_S,  # the limit of the exchange comes first
            max_retries=0,
            http_client=connections,
        )

    def line(self, custom_id: str, request: Request) -> bytes:
        body: _Json = {"model": self._model, "messages": list(request.messages)}
        body |= request.parameters
        if self._is_itself:  # newer models reject the older name, others may require it
            body["max_completion_tokens"] = body.pop("max_tokens")
        body |= request.form or {}
        row = {"custom_id": custom_id, "method": "POST", "url": self._endpoint, "body": body}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    async def upload(self, tag: str, lines: Sequence[bytes]) -> str:
        file = (f"{tag}.jsonl", b"".join(lines), "application/jsonl")
        files = self._client.files
        return await self._call(
            lambda: files.create(file=file, purpose="batch"), lambda row: _text(row.id), _LONG_S
        )

    async def create(self, tag: str, file_id: str, lines: Sequence[bytes]) -> State:
        del lines  # they are in the file
        wanted = {"endpoint": self._endpoint, "completion_window": "24h"}
        wanted |= {"input_file_id": file_id, "metadata": {_TAG: tag}}
        return await self._call(lambda: self._batches.create(**wanted), self._state)

    def _state(self, row: _Row) -> State:
        status, counts = _text(row.status), row.request_counts
        has_ended = status in self._ended
        files = (row.output_file_id, row.error_file_id)
        problem = self.without_result(status)
        if row.errors and row.errors.data:
            first = row.errors.data[0]
            text, is_limit = f"{first.message} ({first.code})", first.code in self._account_limits
            http_status = HTTPStatus.TOO_MANY_REQUESTS if is_limit else HTTPStatus.BAD_REQUEST
            code = code_of(http_status, text)
            problem = lost(self._settings.model, text, code, may_cost=False)
        return State(
            batch_id=_text(row.id),
            status=status,
            ended=has_ended,
            done=counts.completed + counts.failed if counts else 0,
            total=counts.total if counts else 0,
            results=tuple(f"/files/{name}/content" for name in files if name and has_ended),
            problem=problem,
        )

    def _outcome(self, row: _Json) -> RequestOutcome:
        response = _table(row.get("response"))
        status, body = response.get("status_code"), _table(response.get("body"))
        if status == HTTPStatus.OK:
            return answer_of(reply_in(body), Exchange(0.0, requests=1, payload=body))
        if isinstance(status, int):
            return self._failed(status, body)
        error = _table(row.get("error"))
        code = "timeout" if error.get("code") == "batch_expired" else "server_error"
        return lost(self._settings.model, str(error.get("message")), code, may_cost=False)


class _AnthropicBatches(Provider):
    """A batch is created with all its requests, and read from one stream of results.

    It has no tag of ours, only the ids of its requests, which appear only in its results.  A batch whose id was lost is
    searched by creation time and number of requests, and recognised by its first result.
    """

    name = "Anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    address = "https://api.anthropic.com"
    address_variables = ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
    is_tagged = False
    clock_skew_s = 600.0
    most_requests, most_bytes = 100_000, 256 * 10**6
    _resource, _http = "messages.batches", "httpx2"

    def _connect(self, connections: Any) -> Any:  # noqa: ANN401
        from anthropic import AsyncAnthropic, Omit

        # As litellm: version 2026-10-21, the default from SDK 2 on, rejects requests with a temperature.
        headers: Any = {"anthropic-version": "2023-06-01", "X-Api-Key": self._key}
        headers["Authorization"] = Omit()  # where SDK 2 sends the key
        return AsyncAnthropic(
            api_key=self._key,
            base_url=self._address.rstrip("/").removesuffix("/messages").removesuffix("/v1"),
            default_headers=headers,
            timeout=_LONG_S,  # the limit of the exchange comes first
            max_retries=0,
            http_client=connections,
        )

    def line(self, custom_id: str, request: Request) -> bytes:
        cached = {
            "type": "text",
            "cache_control": {"type": "ephemeral"},
        }  # as `completion.Completions`
        whole = [message for message in request.messages if message["role"] == "system"]
        system = [{**cached, "text": message["content"]} for message in whole]
        params: _Json = {
            "model": self._model,
            "messages": [message for message in request.messages if message["role"] != "system"],
            **request.parameters,
            **({"system": system} if system else {}),
            **(_schema_form(self._model, request.schema) if request.schema else {}),
        }
        row = {"custom_id": custom_id, "params": params}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    async def create(self, tag: str, file_id: str, lines: Sequence[bytes]) -> State:
        del tag, file_id
        requests = list(map(json.loads, lines))
        return await self._call(
            lambda: self._batches.create(requests=requests), self._state, _LONG_S
        )

    def _state(self, row: _Row) -> State:
        batch_id, status = _text(row.id), _text(row.processing_status)
        total = sum(row.request_counts.to_dict().values())
        # Not by `results_url`: the key goes only to the configured host.
        path = f"/v1/messages/batches/{batch_id}/results"
        return State(
            batch_id=batch_id,
            status=status,
            ended=status == "ended",
            done=total - row.request_counts.processing,
            total=total,
            results=(path,) if row.results_url else (),
            problem=self.without_result(status),
        )

    def _outcome(self, row: _Json) -> RequestOutcome:
        result = _table(row["result"])
        if result["type"] == "succeeded":
            return _answer_in(_table(result["message"]))
        if result["type"] != "errored":
            return self.without_result(str(result["type"]))
        error = _table(result["error"])
        error = _table(error.get("error")) or error
        return self._failed(_STATUSES.get(error["type"], HTTPStatus.BAD_REQUEST), error)


_PROVIDERS = {"openai": _OpenAiBatches, "anthropic": _AnthropicBatches}
_STATUSES = {  # of Anthropic's errors, as it documents them
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def provider_of(settings: ModelSettings) -> Provider:
    """Return the batch interface of a model's provider; InputError without batches, LlmError without a key."""
    name, _slash, model = settings.model.partition("/")
    if name not in _PROVIDERS:
        raise InputError(
            "--batch: batch files work only with models named openai/... or anthropic/..., not with {model}. Omit"
            " --batch.",
            model=settings.model,
        )
    return _PROVIDERS[name](settings, model)


def _table(value: object) -> _Json:
    """Return a JSON object; an empty one if the server sent something else."""
    return cast("_Json", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(value)
    return value


def _seconds(created_at: datetime | float) -> float:
    return created_at.timestamp() if isinstance(created_at, datetime) else float(created_at)


def _schema_form(model: str, schema: Mapping[str, Any]) -> _Json:
    """Return how a schema is sent: enforced by a grammar, or as a tool if model or schema do not allow that."""
    from anthropic import transform_schema

    row: _Json | None = load_litellm().model_cost.get(model)
    if row is None or row.get("supports_native_structured_output"):
        try:
            form = {"type": "json_schema", "schema": transform_schema(dict(schema))}
        except (ValueError, TypeError, AttributeError, AssertionError):
            pass
        else:
            return {"output_config": {"format": form}}
    tool = {"name": "answer", "description": "Gives the answer.", "input_schema": dict(schema)}
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": "answer"}}


def _answer_in(message: _Json) -> Answer:
    """Return the answer in a message of Anthropic; a stop reason or block that the SDK does not know is no error."""
    from anthropic.types import Message

    reply: Any = Message.construct(**message)
    texts = [block.text for block in reply.content if block.type == "text"]
    tools = [json.dumps(block.input) for block in reply.content if block.type == "tool_use"]
    text = "".join(tools or texts) if tools or texts else None
    is_cut = reply.stop_reason in {"max_tokens", "model_context_window_exceeded"}
    refusal = (text or "no reason given") if reply.stop_reason == "refusal" else None
    # Anthropic does not count tokens read from or written to its cache as input.
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [getattr(reply.usage, name, None) or 0 for name in (*names, "output_tokens")]
    usage = None
    if all(type(count) is int and count >= 0 for count in counts):
        fresh, read, written, output = counts
        usage = Usage(fresh + read + written, output, read, written)
    return Answer(text, "length" if is_cut else "stop", refusal, usage, str(reply.model or ""))
