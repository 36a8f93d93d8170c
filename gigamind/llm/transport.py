"""The HTTP transport below litellm and the SDKs: limits of size and time, no redirects, and a record of each request.

httpx documents transports as its extension point.  litellm and the SDKs run a request in the task that asks, so a
context variable connects it with its `Exchange`, from which the ledger learns whether the request left the machine.
"""

import asyncio
import json
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from types import ModuleType
from typing import Any, Literal
from urllib.request import getproxies, proxy_bypass

from gigamind.llm.prices import on_loopback
from gigamind.redaction import keep_secret

Fault = Literal["", "late", "unreached", "proxy", "redirect", "too_large", "encoding", "broken"]
MOST_BYTES = 8 << 20
_MOST_ERROR_BYTES = 4 << 10  # litellm can block for minutes over a long error text
# Must be below the idle time of servers (5 s for uvicorn), so that none closes a connection while it is used.
_IDLE_S = 4.0
_MOST_LINE_BYTES = 64 << 10  # of one event of a stream
_STAGES = {  # events of httpcore's documented `trace` extension
    "connect_tcp.started": "connecting",
    "start_tls.started": "securing",
    "send_request_headers.started": "sent",
    "receive_response_headers.complete": "answered",
}
_ENCODINGS = ("identity", "gzip", "x-gzip", "deflate")
_HIDDEN = (b"content-encoding", b"content-length", b"transfer-encoding")


@dataclass(slots=True)
class Exchange:
    """What happened to one request.

    Attributes:
        timeout_s: Seconds from its start until it ends, whatever the server sends.
        most: Most bytes of a body, also after decompression; None for no limit and no copy in `body`.
        streams: Whether the response may be a stream; any other is read whole before it is passed on.
        requests: HTTP requests that were started, 0 if litellm did not use this transport.
        status: Of the response; None without one.
        address: Scheme and host of the last request.
        body: What was read of the response.
        replay: A body to return instead of sending the request again.
    """

    timeout_s: float
    most: int | None = MOST_BYTES
    streams: bool = False
    deadline: float = 0.0  # in the time of the event loop
    requests: int = 0
    stage: str = ""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    fault: Fault = ""
    reason: str = ""
    address: str = ""
    body: bytearray = field(default_factory=bytearray)
    replay: bytes | None = None

    @property
    def is_stream(self) -> bool:
        """Whether the response is a stream of events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def has_left(self) -> bool:
        """Whether the server may have received the request, and may bill it."""
        return self.stage in {"sent", "answered"}

    async def trace(self, event: str, _details: Mapping[str, Any]) -> None:
        """Record how far the request came."""
        self.stage = _STAGES.get(event.partition(".")[2], self.stage)


exchange: ContextVar[Exchange] = ContextVar("exchange")
"""The request of the current task."""


class Transport:
    """The connections of one model, as a transport of `http`: of httpx, or of httpx2 for an SDK that requires it."""

    def __init__(self, http: ModuleType) -> None:
        self.http: Any = http
        self._body = type("_ModuleBody", (_Body, http.AsyncByteStream), {})
        self._connections: dict[str | None, Any] = {}  # by proxy

    async def handle_async_request(self, request: Any) -> Any:  # noqa: ANN401  of httpx or httpx2
        current, http = exchange.get(), self.http
        if current.replay is not None:
            return http.Response(
                current.status, content=current.replay, headers={"content-type": "application/json"}
            )
        current.requests += 1
        current.deadline = asyncio.get_running_loop().time() + current.timeout_s
        current.address = f"{request.url.scheme}://{request.url.netloc.decode()}"
        current.stage, current.status, current.fault, current.body = "", None, "", bytearray()
        request.extensions = {**request.extensions, "trace": current.trace}
        request.headers["accept-encoding"] = "identity"
        try:
            async with asyncio.timeout_at(current.deadline):
                answer = await self._for(request.url).handle_async_request(request)
        except TimeoutError:
            raise self.failed(request, "late") from None
        except http.ProxyError as error:
            current.stage = "connecting"
            raise self.failed(request, "proxy", error) from None
        except (http.ConnectError, http.ConnectTimeout) as error:
            raise self.failed(request, "unreached", error) from None
        except (http.TransportError, http.InvalidURL) as error:
            raise self.failed(request, "broken", error) from None
        current.status, current.headers = answer.status_code, answer.headers
        if answer.has_redirect_location:
            await answer.aclose()
            raise self.failed(request, "redirect")
        headers = [(k, v) for k, v in answer.headers.raw if k.lower() not in _HIDDEN]
        body = self._body(answer, request, self)
        if current.streams or current.most is None:
            return http.Response(current.status, headers=headers, stream=body)
        try:
            async for _piece in body:
                pass  # kept in `current.body`
        finally:
            await answer.aclose()
        content = bytes(current.body)
        if not _is_json(
            content
        ):  # its beginning is enough: litellm can block for minutes over the rest
            content = content[:_MOST_ERROR_BYTES]
        return http.Response(current.status, headers=headers, content=content)

    async def aclose(self) -> None:
        """Do nothing: litellm's handlers close their transport when they are collected, even if others use it."""

    async def end(self) -> None:
        """Close the connections."""
        for connections in self._connections.values():
            await connections.aclose()
        self._connections.clear()

    def _for(self, url: Any) -> Any:  # noqa: ANN401
        proxy = _proxy_for(str(url), url.scheme, url.netloc.decode())
        if proxy not in self._connections:
            limits = self.http.Limits(max_connections=None, keepalive_expiry=_IDLE_S)
            self._connections[proxy] = self.http.AsyncHTTPTransport(
                verify=self._trust, limits=limits, proxy=proxy, retries=0
            )
        return self._connections[proxy]

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """The authorities of the system and of certifi."""
        import certifi

        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context

    def failed(self, request: Any, fault: Fault, error: object = "") -> Exception:  # noqa: ANN401
        """Record a fault and return the exception for it; on a ConnectError, litellm would send again."""
        current = exchange.get()
        current.fault, current.reason = fault, f"{type(error).__name__} {error}" if error else ""
        kind = self.http.ReadTimeout if fault == "late" else self.http.ReadError
        return kind(fault, request=request)


class _Body:
    """A response body within the limits of its exchange."""

    def __init__(self, answer: Any, request: Any, transport: Transport) -> None:  # noqa: ANN401
        self._answer, self._request, self._transport = answer, request, transport

    async def __aiter__(self) -> AsyncIterator[bytes]:  # noqa: C901  one case per fault
        current, http, failed = exchange.get(), self._transport.http, self._transport.failed
        encoding = self._answer.headers.get("content-encoding", "identity").lower()
        if encoding not in _ENCODINGS:
            raise failed(self._request, "encoding", encoding)
        unzip = None if encoding == "identity" else zlib.decompressobj(47)  # gzip or zlib
        is_error = self._answer.status_code >= HTTPStatus.BAD_REQUEST
        most = _MOST_ERROR_BYTES if is_error else current.most
        chunks = aiter(self._answer.stream)
        while True:
            room = 0 if most is None else most - len(current.body)
            try:
                async with asyncio.timeout_at(current.deadline):
                    chunk = await anext(chunks)
                if unzip:
                    chunk = unzip.decompress(chunk, 0 if most is None else room + 1)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise failed(self._request, "late") from None
            except (http.TransportError, zlib.error) as error:
                raise failed(self._request, "broken", error) from None
            if most is None:
                yield chunk
                continue
            current.body += chunk[:room]
            begun = len(current.body) - current.body.rfind(b"\n")
            if begun > _MOST_LINE_BYTES and current.streams and current.is_stream:
                raise failed(self._request, "too_large")
            yield chunk[:room]
            if len(chunk) > room:
                if is_error:
                    return  # its beginning is enough
                raise failed(self._request, "too_large")

    async def aclose(self) -> None:
        await self._answer.aclose()


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def _proxy_for(url: str, scheme: str, host: str) -> str | None:
    if on_loopback(url) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    keep_secret(proxy)
    return proxy
