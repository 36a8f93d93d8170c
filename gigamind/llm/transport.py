"""The HTTP transport below litellm and the SDKs: limits of size and time, no redirects, and a record of each request.

httpx documents transports as its extension point.  The connections are of aiohttp, which needs a third of the CPU of
httpx's own.  litellm and the SDKs run a request in the task that asks, so a context variable connects it with its
`Exchange`.  From that, the ledger learns whether the request left the machine.
"""

import asyncio
import json
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from types import ModuleType
from typing import Any, Literal
from urllib.request import getproxies, proxy_bypass

from gigamind.llm.client import on_loopback
from gigamind.redaction import keep_secret

_Fault = Literal["", "late", "unreached", "proxy", "redirect", "too_large", "encoding", "broken"]
MOST_BYTES = 8 << 20
_MOST_ERROR_BYTES = 4 << 10  # litellm can block for minutes over a long error text
# Must be below the idle time of servers (5 s for uvicorn), so that none closes a connection while it is used.
_IDLE_S = 4.0
_MOST_LINE_BYTES = 64 << 10  # of one event of a stream
_ENCODINGS = ("identity", "gzip", "x-gzip", "deflate")
_HIDDEN = (b"content-encoding", b"content-length", b"transfer-encoding")


@dataclass(slots=True)
class Exchange:
    """What happened to one request."""

    timeout_s: float  # from its start until it ends, whatever the server sends
    most: int | None = (
        MOST_BYTES  # of a body, decompressed; None for no limit and no copy in `body`
    )
    streams: bool = False  # whether the response may be a stream; any other is read whole
    deadline: float = 0.0  # in the time of the event loop
    requests: int = 0  # that were started; 0 if litellm did not use this transport
    has_left: bool = False  # whether the server may have received the request, and may bill it
    status: int | None = None  # None without a response
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    fault: _Fault = ""
    reason: str = ""
    address: str = ""  # scheme and host of the last request
    body: bytearray = field(default_factory=bytearray)  # what was read of the response
    payload: Any = None  # the JSON value of the body, if it was read whole

    @property
    def payloads(self) -> list[Any]:
        """The JSON values of the body, whole or as server-sent events, the last one first."""
        if self.payload is not None:
            return [self.payload]
        lines = [line[5:] for line in self.body.splitlines() if line.startswith(b"data:")]
        found: list[Any] = []
        for text in reversed(lines or [self.body]):
            with suppress(ValueError, RecursionError):
                found.append(json.loads(text))
        return found

    @property
    def is_stream(self) -> bool:
        """Whether the response is a stream of events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")


exchange: ContextVar[Exchange] = ContextVar("exchange")
"""The request of the current task."""


class Transport:
    """The connections of one model, as a transport of `http`: of httpx, or of httpx2 for an SDK that requires it."""

    def __init__(self, http: ModuleType) -> None:
        self.http: Any = http
        self._body = type("_ModuleBody", (_Body, http.AsyncByteStream), {})

    async def handle_async_request(self, request: Any) -> Any:  # noqa: ANN401  of httpx or httpx2
        current, http = exchange.get(), self.http
        current.requests += 1
        current.deadline = asyncio.get_running_loop().time() + current.timeout_s
        current.address = f"{request.url.scheme}://{request.url.netloc.decode()}"
        current.has_left, current.status, current.fault = False, None, ""
        current.body, current.payload = bytearray(), None
        answer = await self._send(request, current)
        headers = [(k, v) for k, v in answer.raw_headers if k.lower() not in _HIDDEN]
        body = self._body(answer, request, self)
        response = http.Response(answer.status, headers=headers, stream=body)
        current.status, current.headers = answer.status, response.headers
        if response.has_redirect_location:
            answer.close()
            raise self.failed(request, "redirect")
        if current.streams or current.most is None:
            return response
        try:
            async for _piece in body:
                pass  # kept in `current.body`
        finally:
            answer.close()
        content = bytes(current.body)
        try:
            current.payload = json.loads(content)
        except (ValueError, RecursionError):
            content = content[:_MOST_ERROR_BYTES]  # litellm can block for minutes over the rest
        return http.Response(current.status, headers=headers, content=content)

    async def _send(self, request: Any, current: Exchange) -> Any:  # noqa: ANN401
        """Return aiohttp's response to a request of httpx, before its body."""
        import aiohttp

        request.headers["accept-encoding"] = "identity"
        headers = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in request.headers.raw]
        try:
            async with asyncio.timeout_at(current.deadline):
                return await self._session.request(
                    request.method,
                    str(request.url.copy_with(username="", password="")),
                    data=await request.aread(),
                    headers=headers,
                    proxy=_proxy_for(str(request.url), request.url.scheme, request.url.host),
                    allow_redirects=False,
                    trace_request_ctx=current,
                )
        except TimeoutError:
            raise self.failed(request, "late") from None
        except (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError) as error:
            current.has_left = False
            raise self.failed(request, "proxy", error) from None
        except aiohttp.ClientConnectorError as error:
            raise self.failed(request, "unreached", error) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.failed(request, "broken", error) from None

    async def aclose(self) -> None:
        """Do nothing: litellm's handlers close their transport when they are collected, even if others use it."""

    async def end(self) -> None:
        """Close the connections."""
        if session := self.__dict__.pop("_session", None):
            await session.close()

    @cached_property
    def _session(self) -> Any:  # noqa: ANN401  aiohttp is loaded late
        import aiohttp
        import certifi

        async def leaves(_session: object, context: Any, _headers: object) -> None:  # noqa: ANN401
            context.trace_request_ctx.has_left = True

        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(leaves)
        trusted = ssl.create_default_context()
        trusted.load_verify_locations(certifi.where())  # besides the authorities of the system
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_S, ssl=trusted),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Content-Type"),
            trace_configs=[trace],
        )

    def failed(self, request: Any, fault: _Fault, error: object = "") -> Exception:  # noqa: ANN401
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
        import aiohttp

        current, failed = exchange.get(), self._transport.failed
        encoding = self._answer.headers.get("content-encoding", "identity").lower()
        if encoding not in _ENCODINGS:
            raise failed(self._request, "encoding", encoding)
        unzip = None if encoding == "identity" else zlib.decompressobj(47)  # gzip or zlib
        is_error = self._answer.status >= HTTPStatus.BAD_REQUEST
        most = _MOST_ERROR_BYTES if is_error else current.most
        chunks = aiter(self._answer.content.iter_any())
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
            except (aiohttp.ClientError, OSError, zlib.error) as error:
                raise failed(self._request, "broken", error) from None
            if most is None:
                yield chunk
                continue
            current.body += chunk[:room]
            if (
                current.streams and current.is_stream
            ):  # a long line can block its reader for minutes
                begun = len(current.body) - current.body.rfind(b"\n")
                if begun > _MOST_LINE_BYTES:
                    raise failed(self._request, "too_large")
            yield chunk[:room]
            if len(chunk) > room:
                if is_error:
                    return  # its beginning is enough
                raise failed(self._request, "too_large")

    async def aclose(self) -> None:
        self._answer.close()


def _proxy_for(url: str, scheme: str, host: str) -> str | None:
    if on_loopback(url) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    keep_secret(proxy)
    return proxy
