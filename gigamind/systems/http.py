"""An endpoint over HTTP, asked and read as its preset says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Generic, cast
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt

from gigamind.errors import InputError, SystemFailedError
from gigamind.llm.redaction import keep_secret, keep_secret_value, one_line, redacted
from gigamind.retrieval.embedders import load_embedder
from gigamind.systems.dialect import Dialect, Told
from gigamind.systems.preset import Endpoint
from gigamind.systems.protocol import Query
from gigamind.systems.settings import shown_system

if TYPE_CHECKING:
    from gigamind.retrieval.embed import Embedder

_SHOWN = 200  # characters of a reply that cannot be read
_LONGEST_WAIT_S = 10.0
_BUSY = 429
_SERVER_ERROR = 500
_OTHER_METHOD = {HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}


@dataclass(frozen=True, slots=True)
class _Again:
    """A reply after which it is worth asking again; `hint` is how to mend it, `after_s` as the server asks."""

    why: str
    hint: str = ""
    after_s: float | None = None


class HttpSystem(Generic[Told]):
    """See the module; implements `System`.

    Raises:
        InputError: the address or a header cannot be used, or the preset's embedder is not known.
        EmbeddingError: that cannot be loaded.
    """

    def __init__(self, address: str, preset: Endpoint[Told], dialect: Dialect[Told]) -> None:
        self._preset, self._dialect = preset, dialect
        self._asked = f"{preset.method} {shown_system(address)}"  # in messages
        keep_secret(address)
        for value in preset.sent_headers().values():
            keep_secret_value(value)
        self._embedder: Embedder | None = (
            load_embedder(preset.embedder) if preset.embedder else None
        )
        sent = {"Accept": "application/json"}
        if preset.body:
            sent["Content-Type"] = "application/json"
        try:
            bare, auth = _without_userinfo(address)
            self._url = httpx.URL(bare)
            self._client = httpx.Client(
                auth=auth,
                headers=sent | preset.sent_headers(),
                timeout=preset.timeout_s,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=256),
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise InputError(
                f"--system: cannot be asked ({redacted(str(error))}); write http://HOST:PORT/PATH, and headers in ASCII"
            ) from error

    def ask(self, query: Query) -> Told:
        values = self._dialect.asked(query)
        if self._embedder:
            values["vector"] = self._embedder.embed_query(query.text).tolist()
        params, body = self._preset.request(values)
        retrying = Retrying(
            retry=retry_if_result(lambda reply: isinstance(reply, _Again)),
            stop=stop_after_attempt(1 + self._preset.retries),
            wait=_wait,
            retry_error_callback=_last,
        )
        tries: list[None] = []

        def send() -> httpx.Response | _Again:
            tries.append(None)
            return self._send(params, body)

        reply = retrying(send)
        if isinstance(reply, _Again):
            raise self._failed(f"{reply.why}, {len(tries)} times{reply.hint}")
        response = self._read(reply)
        if len(tries) == 1:
            return response
        return replace(response, oddities={**response.oddities, "asked_again": len(tries) - 1})

    def close(self) -> None:
        self._client.close()

    def _send(self, params: Mapping[str, str], body: bytes) -> httpx.Response | _Again:
        try:
            reply = self._client.request(
                self._preset.method, self._url.copy_merge_params(params), content=body or None
            )
        except httpx.TimeoutException as error:
            limit = f"{self._preset.timeout_s:g} s (timeout_s of --system-config)"
            raise self._failed(f"no answer within {limit}") from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            return _Again(
                f"the connection failed ({_shown(str(error) or type(error).__name__)})",
                hint="; is its server running? Start it, or mend --system",
            )
        except httpx.HTTPError as error:
            raise self._failed(f"cannot be asked: {_shown(str(error))}") from error
        status = reply.status_code
        if status == _BUSY or (status >= _SERVER_ERROR and status not in _OTHER_METHOD):
            return _Again(
                f"it answered with status {status}{_quoted(reply)}",
                after_s=_seconds(reply.headers.get("Retry-After", "")),
            )
        return reply

    def _read(self, reply: httpx.Response) -> Told:
        if not reply.is_success:
            raise self._failed(
                f"it answered with status {reply.status_code}{self._hint(reply)}{_quoted(reply)}"
            )
        if not reply.content.strip():
            raise self._failed(f"it answered with status {reply.status_code} and nothing else")
        try:
            payload = cast("object", json.loads(reply.content))
        except (ValueError, RecursionError):
            kind = reply.headers.get("Content-Type", "something").partition(";")[0]
            hint = " (is --system the address of its API?)" if kind == "text/html" else ""
            raise self._failed(f"it answered {kind}, not JSON{hint}{_quoted(reply)}") from None
        try:
            return self._preset.read(payload)
        except ValueError as error:
            raise self._failed(_shown(str(error))) from None

    def _failed(self, why: str) -> SystemFailedError:
        return SystemFailedError(f"{self._asked}: {why}")

    def _hint(self, reply: httpx.Response) -> str:
        if reply.is_redirect:
            return " (give the address that it leads to)"
        if reply.status_code == HTTPStatus.NOT_FOUND:
            return " (mend the path in --system)"
        if reply.status_code in _OTHER_METHOD:
            method = "GET" if self._preset.method == "POST" else "POST"
            return f' (it takes no {self._preset.method}: try method = "{method}" in a file of --system-config)'
        unset = self._preset.unset if reply.status_code in {401, 403} else []
        return f" (${unset[0]} is not set)" if unset else ""


def _without_userinfo(address: str) -> tuple[str, tuple[str, str] | None]:
    """The address, and what stands before its `@`: a client logs addresses.

    Raises:
        ValueError: it has no host, or is no address.
    """
    parts = urlsplit(address)
    if not parts.hostname:
        raise ValueError("the address has no host")
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if parts.username is None:
        return bare, None
    return bare, (unquote(parts.username), unquote(parts.password or ""))


def _wait(state: RetryCallState) -> float:
    """As the server asks, else 0.2 s, 0.4 s, ..."""
    asked = state.outcome.result().after_s if state.outcome else None
    wait = 0.1 * 2**state.attempt_number if asked is None else asked
    return min(_LONGEST_WAIT_S, wait)


def _last(state: RetryCallState) -> _Again | None:
    return state.outcome.result() if state.outcome else None


def _seconds(header: str) -> float | None:
    return float(header) if header.isdecimal() else None


def _quoted(reply: httpx.Response) -> str:
    said = _shown(reply.text)
    return f": {said}" if said else ""


def _shown(text: str) -> str:
    """The beginning of a text on one line, without secrets."""
    return one_line(text, _SHOWN)
