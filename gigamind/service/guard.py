"""Checks before any route: access, rate limits and security headers."""

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gigamind.i18n import Language, Text, _, translator
from gigamind.llm.client import is_loopback
from gigamind.service.options import PAGE_LANGUAGES

MAX_BYTES = 2_000_000
_MINUTE_S = 60.0
_MAX_ADDRESSES = 10_000
_OPEN = ("/healthz", "/readyz")
_SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Pace:
    """Rate limit per minute and address; only recent addresses are remembered."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / _MINUTE_S
        self._most = float(per_minute)
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """Return the seconds until the address may ask; 0 allows and counts the question."""
        now = self._now()
        left, then = self._left.pop(address, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._left[address] = (left - 1 if allowed else left, now)
        while len(self._left) > _MAX_ADDRESSES:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


class Guard:
    """Middleware that refuses unknown clients, other sites, long bodies and too many questions."""

    def __init__(self, app: ASGIApp, host: str, token: str | None, asks_per_minute: int) -> None:
        self._app, self._host, self._token = app, host, token
        self._pace = Pace(asks_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_SECURITY)
            await send(message)

        refusal = self._refusal(scope)
        if refusal:
            await refusal(scope, receive, secured)
            return
        await self._app(scope, _limited(receive), secured)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers, path = Headers(scope=scope), scope["path"]
        host = _host(headers.get("host", ""))
        if is_loopback(self._host) and not is_loopback(host):
            reason = _(
                "The service runs for this machine only. Use localhost or 127.0.0.1 as the host name in its address."
            )
            return refused(headers, 421, reason)
        if path in _OPEN:
            return None
        origin = headers.get("origin")
        if scope["method"] not in {"GET", "HEAD"} and origin and _differs(origin, headers):
            return refused(
                headers, 403, _("The service rejects requests from pages of other websites.")
            )
        if (path.startswith("/api/") or path == "/metrics") and not self._knows(headers):
            reason = _(
                "Send the token of the service in this HTTP header: Authorization: Bearer ..."
            )
            return refused(headers, 401, reason)
        return self._too_much(scope, headers)

    def _too_much(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BYTES:
            return refused(
                headers, 413, _("The request is longer than {limit:,} bytes.", limit=MAX_BYTES)
            )
        if scope["path"].startswith("/api/ai/") and scope["method"] == "POST":
            wait = self._pace.wait_s(scope["client"][0] if scope.get("client") else "")
            if wait:
                after = {"Retry-After": str(math.ceil(wait))}
                return refused(headers, 429, _("Too many questions. Try again later."), after)
        return None

    def _knows(self, headers: Headers) -> bool:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        return self._token is None or hmac.compare_digest(given.encode(), self._token.encode())


def _host(header: str) -> str:
    """Return the name in a `Host` header; "" for none or an invalid one such as "["."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _differs(origin: str, headers: Headers) -> bool:
    try:
        return urlsplit(origin).netloc != headers.get("host", "")
    except ValueError:  # not an address
        return True


def _limited(receive: Receive) -> Receive:
    """Return `receive` that ends a body without a length when it gets too long."""
    count = 0

    async def counted() -> Message:
        nonlocal count
        message = await receive()
        count += len(message.get("body", b""))
        if count > MAX_BYTES:
            return {"type": "http.disconnect"}
        return message

    return counted


def preferred_language(headers: Headers) -> Language:
    """Return the language of `Accept-Language` with the highest weight; English if none is known."""
    weights: dict[Language, float] = {}
    for choice in headers.get("accept-language", "").split(","):
        name, _separator, weight = choice.partition(";")
        primary = name.strip().lower().partition("-")[0]
        for language in PAGE_LANGUAGES:
            if language == primary:
                weights[language] = max(_weight(weight), weights.get(language, 0.0))
    return max(weights, key=lambda language: weights[language]) if weights else "en"


def _weight(parameter: str) -> float:
    """Return the value of `q=0.5`; 1 without one, 0 if it is not a number."""
    try:
        return float(parameter.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0.0


def refused(
    request: Headers, status: int, reason: Text, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return a refusal in the language of the request; `detail` is a sentence for people."""
    detail = translator(preferred_language(request))(reason)
    return JSONResponse({"detail": detail}, status, headers)
