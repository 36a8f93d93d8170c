"""What a provider of batch files is, and HTTP as all of them are spoken to.

A batch is a list of requests, each with a `custom_id` of ours; its results come in any order, each with that id.
Looking at a batch and reading it cost nothing and are tried again; creating one may cost, and never is.
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
from gigamind.llm.client import Answer, Request
from gigamind.llm.faults import scrub, unset_key, with_retries
from gigamind.llm.redaction import keep_secret, keep_secret_of
from gigamind.llm.settings import ModelSettings

if TYPE_CHECKING:
    import aiohttp

Json = dict[str, Any]
_CONNECT_S, _READ_S = 30.0, 300.0  # the answer to 256 MB of requests may take its time
_BLOCK = 2**16
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one batch."""

    requests: int
    bytes: int


RequestOutcome = Answer | LlmError
"""How a request of a batch ended."""


@dataclass(frozen=True, slots=True)
class State:
    """What a provider tells of a batch.

    Attributes:
        status: in the provider's word.
        ended: nothing more will happen to it.
        done, total: requests.
        results: paths to what came of it, as far as something did.
        problem: why requests without a result have none.
    """

    batch_id: str
    status: str
    ended: bool
    done: int
    total: int
    results: tuple[str, ...]
    problem: LlmError


class Provider(ABC):
    """Batches of one model, and its provider's.

    Attributes:
        name: for people.
        key_variable: the environment variable that holds the key, unless the settings name another.
        address: where it is, unless the settings or one of `address_variables` name another.
        limits: of one batch.
        is_tagged: its batches carry our tag, so that `find` finds none but that one.

    Args:
        model: without the name of the provider.

    Raises:
        LlmError: its key is not in the environment.
    """

    name: ClassVar[str]
    key_variable: ClassVar[str]
    address: ClassVar[str]
    address_variables: ClassVar[tuple[str, ...]]
    limits: ClassVar[Limits]
    is_tagged: ClassVar[bool] = False
    _path: ClassVar[str]  # of its batches, behind its address
    _cursor: ClassVar[str] = "after"  # the parameter that names the last one of a page

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
        """As it is now; a server of one's own may want none."""
        return os.environ.get(self._settings.key_variable or self.key_variable) or "none"

    def _error(self, kind: str, message: str, status: int | None = None) -> LlmError:
        """What is said of a request."""
        code = code_of(status, kind, message)
        return LlmError(f"{self._settings.model}: {scrub(message)}", code, status)

    def _without_result(self, batch_id: str) -> LlmError:
        """Of a request that its batch was done with, and says nothing of: it may have been generated."""
        message = f"{self._settings.model}: {batch_id}: it has no result of this request"
        return LlmError(message, "malformed_response", may_cost=True)

    def _root_of(self, address: str) -> str:
        """What `path` goes behind."""
        return address

    @abstractmethod
    def _headers(self) -> dict[str, str]: ...

    @abstractmethod
    def _state(self, row: Json) -> State: ...

    @abstractmethod
    def line(self, custom_id: str, request: Request) -> bytes:
        """A request as it stands in a batch."""

    @abstractmethod
    async def upload(self, tag: str, lines: Sequence[bytes]) -> str:
        """The id of the file of these lines; "" where a batch is created with its lines.

        Raises:
            LlmError: it was not taken.
        """

    @abstractmethod
    async def create(self, tag: str, file_id: str, lines: Sequence[bytes]) -> State:
        """Start the batch of that file.

        Raises:
            LlmError: `may_cost` says that it may have been started all the same.
        """

    @abstractmethod
    async def find(self, tag: str, since: float, count: int) -> list[State]:
        """Batches that may be that of this tag, by what the provider lists of them.

        Args:
            since: when it was asked for, in seconds since the epoch.
            count: of its requests.
        """

    @abstractmethod
    async def discard(self, file_id: str) -> None:
        """Remove a file that no batch was made of."""

    @abstractmethod
    async def download(self, state: State, path: Path) -> None:
        """Write its results to a file, as lines; whole, or not at all."""

    @abstractmethod
    def read(self, line: Json) -> tuple[str, RequestOutcome]:
        """The id and the end of a request, from a line of results."""

    async def look(self, batch_id: str) -> State:
        """The batch as it stands now."""
        return self._state(await self._wire.get(f"{self._path}/{batch_id}"))

    async def cancel(self, batch_id: str) -> State:
        """Stop it; what was done of it is paid, and can be read."""
        return self._state(await self._wire.send("POST", f"{self._path}/{batch_id}/cancel"))

    async def close(self) -> None:
        """Close its connections."""
        await self._wire.close()

    async def _listed(self) -> AsyncGenerator[Json]:
        """All batches that the account has, the newest first."""
        after: dict[str, str] = {}
        while True:
            page = await self._wire.get(self._path, limit=_PAGE, **after)
            for row in page["data"]:
                yield row
            if not page.get("has_more") or not page["data"]:
                return
            after = {self._cursor: page["data"][-1]["id"]}


class Wire:
    """HTTP to one provider.

    Args:
        headers: with the key as it is now.
    """

    def __init__(
        self, base: str, headers: Callable[[], Mapping[str, str]], settings: ModelSettings
    ) -> None:
        self._base = base.rstrip("/")
        self._headers = headers
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str, **query: str | int) -> Json:
        """What stands at a path; asked for again where the transport fails."""

        async def attempt() -> Json:
            async with self._answer("GET", path, params=query) as answer:
                return await answer.json()

        return await with_retries(attempt, self._settings)

    async def send(self, method: str, path: str, **body: Any) -> Json:  # noqa: ANN401  as aiohttp takes it
        """What is answered to something that is sent, once."""
        async with self._answer(method, path, **body) as answer:
            return await answer.json()

    async def download(self, paths: Sequence[str], file: Path) -> None:
        """Write what stands at these paths to a file, one behind the other; whole, or not at all."""
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
            # No redirect is followed: the key and the notes go to the address that was given.
            request = self._session.request(
                method, url, headers=headers, allow_redirects=False, **more
            )
            async with request as given:
                if given.status >= HTTPStatus.MULTIPLE_CHOICES:
                    raise self._refusal(given, await given.text())
                yield given
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise self._broken(error) from None  # the chain may hold the key

    def _refusal(self, answer: "aiohttp.ClientResponse", text: str) -> LlmError:
        status = answer.status
        try:
            error = json.loads(text)["error"]
            kind, message = str(error.get("code") or error.get("type") or ""), str(error["message"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            kind, message = "", text
        wait = answer.headers.get("Retry-After", "")
        return LlmError(
            f"{self._settings.model}: {scrub(message)}",
            code_of(status, kind, message),
            status,
            float(wait) if wait.isdecimal() else None,
            may_cost=status >= HTTPStatus.INTERNAL_SERVER_ERROR,
        )

    def _broken(self, error: Exception) -> LlmError:
        """Of a connection that failed; only where none was made, nothing can have arrived."""
        import aiohttp

        what = scrub(f"{type(error).__name__}: {error}")
        code: LlmCode = "timeout" if isinstance(error, TimeoutError) else "server_error"
        unreached = isinstance(error, aiohttp.ClientConnectorError)
        return LlmError(f"{self._settings.model}: {what}", code, may_cost=not unreached)


def table(value: Any) -> Json:  # noqa: ANN401  JSON values
    """An object of JSON; an empty one where a server has put something else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def own_path(address: str) -> str:
    """The path of an address that a provider names: the key goes to the provider that was named, and nowhere else."""
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


_CODES: dict[str, LlmCode] = {
    "insufficient_quota": "quota_exhausted",
    "billing_hard_limit_reached": "quota_exhausted",
    "billing_error": "quota_exhausted",
    "rate_limit_error": "rate_limited",
    "token_limit_exceeded": "rate_limited",  # more tokens wait in batches than the account may have
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
    """Our code for an error, by its status, where it has one, the provider's name for it, and its words."""
    if "prompt is too long" in text:  # Anthropic has no name for it
        return "context_too_long"
    named = _CODES.get(kind)
    if named and named != "bad_request":
        return named
    if status in _STATUSES:
        return _STATUSES[status]
    if status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error"
    return named or ("server_error" if status is None else "bad_request")
