"""Query an HTTP endpoint as its preset describes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt

from gigamind.errors import InputError, SystemFailedError, text_of
from gigamind.i18n import Message, Text, _, joined
from gigamind.redaction import keep_secret, keep_secret_value, redacted, single_line
from gigamind.retrieval.embedders import load_embedder
from gigamind.systems.dialect import Dialect, Endpoint, Response
from gigamind.systems.protocol import Query, System
from gigamind.systems.settings import shown_system

if TYPE_CHECKING:
    from gigamind.retrieval.embed import Embedder

_SHOWN = 200  # characters of a reply that cannot be read
_LONGEST_WAIT_S = 60.0
_BUSY = 429
_SERVER_ERROR = 500
_OTHER_METHOD = {HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}


@dataclass(frozen=True, slots=True)
class _Again:
    """A failure worth a retry; `hint` says how to fix it, `after_s` is the delay that the server requests."""

    reason: Message
    hint: Message | None = None
    after_s: float | None = None


class HttpSystem(System[Response]):
    """A system behind an HTTP endpoint.

    Raises:
        InputError: the address or a header is invalid, or the preset's embedder is unknown.
        EmbeddingError: the embedder cannot be loaded.
    """

    def __init__(
        self, address: str, preset: Endpoint[Response], dialect: Dialect[Response]
    ) -> None:
        self._preset, self._dialect, self.concurrency = preset, dialect, preset.concurrency
        self._request_line = f"{preset.method} {shown_system(address)}"  # for messages
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
            reason = text_of(error)
            raise InputError(
                "--system: invalid address or header ({reason}). "
                "Write http://HOST:PORT/PATH, and headers in ASCII.",
                reason=reason if isinstance(reason, Message) else redacted(reason),
            ) from error

    def ask(self, query: Query) -> Response:
        values = {"id": query.id, **self._dialect.arguments(query.text)}
        if self._embedder:
            values["vector"] = self._embedder.embed_query(query.text).tolist()
        params, body = self._preset.request(values)
        retrying = Retrying(
            retry=retry_if_result(lambda reply: isinstance(reply, _Again)),
            stop=stop_after_attempt(1 + self._preset.retries),
            wait=_wait,
            retry_error_callback=lambda state: state.outcome and state.outcome.result(),
        )
        reply = retrying(self._send, params, body)
        tries = retrying.statistics["attempt_number"]
        if isinstance(reply, _Again):
            failed = _("{reason} (attempts: {count})", reason=reply.reason, count=tries)
            raise self._failed(failed, reply.hint)
        response = self._read(reply)
        if tries == 1:
            return response
        return replace(response, oddities={**response.oddities, "asked_again": tries - 1})

    def close(self) -> None:
        self._client.close()

    def _send(self, params: Mapping[str, str], body: bytes) -> httpx.Response | _Again:
        try:
            reply = self._client.request(
                self._preset.method, self._url.copy_merge_params(params), content=body or None
            )
        except httpx.TimeoutException as error:
            raise self._failed(
                _(
                    "no response within {seconds:g} seconds (the limit is timeout_s in the --system-config file)",
                    seconds=self._preset.timeout_s,
                )
            ) from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            shown = _shown(str(error) or type(error).__name__)
            return _Again(
                _("the connection failed ({reason})", reason=shown),
                hint=_("start the server, or correct the address in --system"),
            )
        except httpx.HTTPError as error:
            raise self._failed(
                _("the request failed: {reason}", reason=_shown(str(error)))
            ) from error
        status = reply.status_code
        if status == _BUSY or (status >= _SERVER_ERROR and status not in _OTHER_METHOD):
            wait = reply.headers.get("Retry-After", "")
            after_s = float(wait) if wait.isdecimal() else None
            if after_s and after_s > _LONGEST_WAIT_S:
                hint = _(
                    "the server requests a wait of {seconds:g} s: evaluate later", seconds=after_s
                )
                raise self._failed(_status(reply), hint)
            return _Again(_status(reply), after_s=after_s)
        return reply

    def _read(self, reply: httpx.Response) -> Response:
        if not reply.is_success:
            raise self._failed(_status(reply), self._hint(reply))
        if not reply.content.strip():
            raise self._failed(_("empty response with status {status}", status=reply.status_code))
        try:
            payload = cast("object", json.loads(reply.content))
        except (ValueError, RecursionError):
            kind = reply.headers.get("Content-Type", "?").partition(";")[0]
            shown = _shown(reply.text)
            raise self._failed(
                _(
                    "the response is HTML, not JSON. Check that --system is the address of the system's API. {text}",
                    text=shown,
                )
                if kind == "text/html"
                else _("the response is {kind}, not JSON: {text}", kind=kind, text=shown)
            ) from None
        try:
            return self._preset.read(payload)
        except ValueError as error:
            raise self._failed(text_of(error)) from None

    def _failed(self, reason: Text, hint: Message | None = None) -> SystemFailedError:
        text = joined([reason, hint], separator="; ") if hint else reason
        return SystemFailedError("{request}: {reason}", request=self._request_line, reason=text)

    def _hint(self, reply: httpx.Response) -> Message | None:
        if reply.is_redirect:
            return _("the server redirects; set --system to the new address")
        if reply.status_code == HTTPStatus.NOT_FOUND:
            return _("correct the path in --system")
        if reply.status_code in _OTHER_METHOD:
            return _(
                'the server does not accept {method}; set method = "{other}" in the --system-config file',
                method=self._preset.method,
                other="GET" if self._preset.method == "POST" else "POST",
            )
        unset = self._preset.unset if reply.status_code in {401, 403} else []
        return (
            _("the environment variable ${variable} is not set", variable=unset[0])
            if unset
            else None
        )


def _without_userinfo(address: str) -> tuple[str, tuple[str, str] | None]:
    """Split user and password off an address, because HTTP clients log addresses."""
    parts = urlsplit(address)
    if not parts.hostname:
        raise ValueError(_("the address has no host"))
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if parts.username is None:
        return bare, None
    return bare, (unquote(parts.username), unquote(parts.password or ""))


def _wait(state: RetryCallState) -> float:
    requested = state.outcome.result().after_s if state.outcome else None
    wait = 0.1 * 2**state.attempt_number if requested is None else requested
    return min(_LONGEST_WAIT_S, wait)


def _status(reply: httpx.Response) -> Message:
    status, shown = reply.status_code, _shown(reply.text)
    if not shown:
        return _("response with status {status}", status=status)
    return _("response with status {status}: {text}", status=status, text=shown)


def _shown(text: str) -> str:
    """Return the beginning of a text on one line, without secrets."""
    return single_line(text, _SHOWN)
