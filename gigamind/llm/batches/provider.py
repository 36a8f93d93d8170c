"""The interface of a provider of batch files, and the HTTP that all of them share.

A batch is a list of requests, each with a `custom_id` of ours; results come in any order, each with that id.  Polling
and reading a batch cost nothing and are retried.  Creating one may cost and is never retried.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlsplit

from gigamind.errors import LlmCode, LlmError
from gigamind.i18n import _
from gigamind.llm.client import Answer, Request
from gigamind.llm.faults import scrub, unset_key, with_retries
from gigamind.llm.settings import ModelSettings
from gigamind.redaction import keep_secret, keep_secret_of

if TYPE_CHECKING:
    import aiohttp

Json = dict[str, Any]
_CONNECT_S, _READ_S = 30.0, 300.0  # the response to an upload of 256 MB takes time
_BLOCK = 2**16
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one batch."""

    requests: int
    bytes: int


RequestOutcome = Answer | LlmError
"""Result of a request in a batch."""


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
    """Batches of one model at its provider.

    Args:
        model: Model name without the provider.

    Raises:
        LlmError: The key is not in the environment.
    """

    name: ClassVar[str]
    key_variable: ClassVar[str]  # default environment variable of the key
    address: ClassVar[str]  # default address, after `address_variables`
    address_variables: ClassVar[tuple[str, ...]]
    limits: ClassVar[Limits]
    is_tagged: ClassVar[bool] = False  # whether `find` returns only our batches, by tag
    _path: ClassVar[str]  # of its batches, relative to its address
    _cursor: ClassVar[str] = "after"  # parameter with the last id of the previous page

    def __init__(self, settings: ModelSettings, model: str) -> None:
        self._settings = settings
        self._model = model
        addresses = (settings.api_base, *map(os.environ.get, self.address_variables))
        address = next(filter(None, addresses), self.address)
        keep_secret(address)
        keep_secret_of(settings.key_variable)
        self._is_itself = address == self.address
        self._wire = Wire(self._root_of(address), self._headers, settings)
        key_variable = settings.key_variable or self.key_variable
        wants_key = self._is_itself or settings.key_variable
        if wants_key and not os.environ.get(key_variable):
            message = unset_key(settings.model, key_variable)
            raise LlmError(message, "auth_failed")

    @property
    def _key(self) -> str:
        return os.environ.get(self._settings.key_variable or self.key_variable) or "none"

    def _error(self, kind: str, message: str, status: int | None = None) -> LlmError:
        code = code_of(status, kind, message)
        return LlmError(
            _("{model}: {reason}", model=self._settings.model, reason=scrub(message)), code, status
        )

    def _without_result(self, batch_id: str) -> LlmError:
        message = _(
            "{model}: the batch {batch} has no result for this request",
            model=self._settings.model,
            batch=batch_id,
        )
        return LlmError(message, "malformed_response", may_cost=True)

    def _root_of(self, address: str) -> str:
        return address

    @abstractmethod
    def _headers(self) -> dict[str, str]: ...

    @abstractmethod
    def _state(self, row: Json) -> State: ...

    @abstractmethod
    def line(self, custom_id: str, request: Request) -> bytes:
        """Return a request as a line of a batch."""

    @abstractmethod
    async def upload(self, tag: str, lines: Sequence[bytes]) -> str:
        """Upload these lines and return the id of the file, "" if none is needed; raise LlmError if that failed."""

    @abstractmethod
    async def create(self, tag: str, file_id: str, lines: Sequence[bytes]) -> State:
        """Start the batch of a file; an LlmError with `may_cost` means that it may have been started."""

    @abstractmethod
    async def find(self, tag: str, since: float, count: int) -> list[State]:
        """Return listed batches that can have this tag: `count` requests, created after `since` (epoch seconds)."""

    @abstractmethod
    async def discard(self, file_id: str) -> None:
        """Delete a file that no batch uses."""

    @abstractmethod
    async def download(self, state: State, path: Path) -> None:
        """Write its results to a file of lines, completely or not at all."""

    @abstractmethod
    def read(self, line: Json) -> tuple[str, RequestOutcome]:
        """Return the id and the result of a request from a line of results."""

    async def look(self, batch_id: str) -> State:
        """Return the current state of a batch."""
        return self._state(await self._wire.get(f"{self._path}/{batch_id}"))

    async def cancel(self, batch_id: str) -> State:
        """Stop a batch; finished requests are charged and can be read."""
        return self._state(await self._wire.send("POST", f"{self._path}/{batch_id}/cancel"))

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def _listed(self) -> AsyncGenerator[Json]:
        after: dict[str, str] = {}
        while True:
            page = await self._wire.get(self._path, limit=_PAGE, **after)
            for row in page["data"]:
                yield row
            if not page.get("has_more") or not page["data"]:
                return
            after = {self._cursor: page["data"][-1]["id"]}


class Wire:
    """HTTP to one provider; `headers` returns the headers with the current key."""

    def __init__(
        self, base: str, headers: Callable[[], Mapping[str, str]], settings: ModelSettings
    ) -> None:
        self._base = base.rstrip("/")
        self._headers = headers
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str, **query: str | int) -> Json:
        """Return the JSON at a path; retried on transport errors."""

        async def attempt() -> Json:
            async with self._answer("GET", path, params=query) as answer:
                return await answer.json()

        return await with_retries(attempt, self._settings)

    async def send(self, method: str, path: str, **body: Any) -> Json:  # noqa: ANN401  as aiohttp takes it
        """Send a request once and return the JSON response."""
        async with self._answer(method, path, **body) as answer:
            return await answer.json()

    async def download(self, paths: Sequence[str], file: Path) -> None:
        """Write the content of these paths to a file, one after the other, completely or not at all."""
        unfinished = file.with_name(f"{file.name}.part")

        async def attempt() -> None:
            with unfinished.open("wb") as part:
                for path in paths:
                    async with self._answer("GET", path) as answer:
                        async for block in answer.content.iter_chunked(_BLOCK):
                            part.write(block)

        await with_retries(attempt, self._settings)
        unfinished.replace(file)

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()
            self._session = None

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        **more: Any,  # noqa: ANN401  as aiohttp takes it
    ) -> "AsyncGenerator[aiohttp.ClientResponse]":
        import aiohttp

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_READ_S)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=True)
        url = self._base + path
        headers = {**self._headers(), **more.pop("headers", {})}
        try:
            # Redirects are not followed: key and notes go only to the given address.
            request = self._session.request(
                method, url, headers=headers, allow_redirects=False, **more
            )
            async with request as given:
                if given.status >= HTTPStatus.MULTIPLE_CHOICES:
                    raise self._refusal(given, await given.text())
                yield given
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise self._broken(error) from None  # the exception chain can contain the key

    def _refusal(self, answer: "aiohttp.ClientResponse", text: str) -> LlmError:
        status = answer.status
        try:
            error = json.loads(text)["error"]
            kind, message = str(error.get("code") or error.get("type") or ""), str(error["message"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            kind, message = "", text
        wait = answer.headers.get("Retry-After", "")
        return LlmError(
            _("{model}: {reason}", model=self._settings.model, reason=scrub(message)),
            code_of(status, kind, message),
            status,
            float(wait) if wait.isdecimal() else None,
            may_cost=status >= HTTPStatus.INTERNAL_SERVER_ERROR,
        )

    def _broken(self, error: Exception) -> LlmError:
        import aiohttp

        what = scrub(f"{type(error).__name__}: {error}")
        code: LlmCode = "timeout" if isinstance(error, TimeoutError) else "server_error"
        unreached = isinstance(error, aiohttp.ClientConnectorError)
        message = _("{model}: {reason}", model=self._settings.model, reason=what)
        return LlmError(message, code, may_cost=not unreached)


def table(value: Any) -> Json:  # noqa: ANN401  JSON values
    """Return a JSON object; an empty one if the server sent something else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def own_path(address: str) -> str:
    """Return the path of an address from a provider, so that the key goes only to the configured host."""
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


_CODES: dict[str, LlmCode] = {
    "insufficient_quota": "quota_exhausted",
    "billing_hard_limit_reached": "quota_exhausted",
    "billing_error": "quota_exhausted",
    "rate_limit_error": "rate_limited",
    "token_limit_exceeded": "rate_limited",  # too many queued tokens in batches of the account
    "authentication_error": "auth_failed",
    "permission_error": "auth_failed",
    "context_length_exceeded": "context_too_long",
    "request_too_large": "context_too_long",
    "content_policy_violation": "content_filtered",
    "content_filter": "content_filtered",
    "timeout_error": "timeout",
    "batch_expired": "timeout",
    "invalid_request_error": "bad_request",
    "not_found_error": "bad_request",
    "batch_cancelled": "server_error",
}
_STATUSES: dict[int, LlmCode] = {
    401: "auth_failed",
    402: "quota_exhausted",
    403: "auth_failed",
    408: "timeout",
    413: "context_too_long",
    429: "rate_limited",
    504: "timeout",
}


def code_of(status: int | None, kind: str, text: str) -> LlmCode:
    """Return our code for an error, from its status (if any), the provider's name for it, and its text."""
    if "prompt is too long" in text:  # Anthropic has no name for this error
        return "context_too_long"
    named = _CODES.get(kind)
    if named and named != "bad_request":
        return named
    if status in _STATUSES:
        return _STATUSES[status]
    if status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error"
    return named or ("server_error" if status is None else "bad_request")
