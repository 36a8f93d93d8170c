"""Who may ask, how much, and what a browser is told of the page: before any route is reached.

Why a request is refused is told in the language that its sender asked for.
"""

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gigamind.messages import message_in
from gigamind.service.options import ServiceOptions, is_loopback
from gigamind.wording import Language

MOST_BYTES = 2_000_000
_MINUTE_S = 60.0
_MOST_ADDRESSES = 10_000
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
    """So many questions a minute of one address; the addresses of late are known, the others begin anew."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / _MINUTE_S
        self._most = float(per_minute)
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """Seconds until the address may ask; 0 lets it, and counts."""
        now = self._now()
        left, then = self._left.pop(address, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._left[address] = (left - 1 if allowed else left, now)
        while len(self._left) > _MOST_ADDRESSES:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


class Guard:
    """Middleware: refuses strangers, other sites, bodies that are too long, and too many questions."""

    def __init__(self, app: ASGIApp, options: ServiceOptions) -> None:
        self._app = app
        self._options = options
        self._pace = Pace(options.asks_per_minute)

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
        if is_loopback(self._options.host) and not is_loopback(host):
            return refused(headers, 421, "this service answers to the name of this machine alone")
        if path in _OPEN:
            return None
        origin = headers.get("origin")
        if scope["method"] not in {"GET", "HEAD"} and origin and _differs(origin, headers):
            return refused(headers, 403, "pages of other sites may not ask")
        if (path.startswith("/api/") or path == "/metrics") and not self._knows(headers):
            return refused(headers, 401, "send the token of the service: Authorization: Bearer ...")
        return self._too_much(scope, headers)

    def _too_much(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return refused(headers, 413, f"the request is longer than {MOST_BYTES:,} bytes")
        if scope["path"].startswith("/api/ai/") and scope["method"] == "POST":
            wait = self._pace.wait_s(scope["client"][0] if scope.get("client") else "")
            if wait:
                after = {"Retry-After": str(math.ceil(wait))}
                return refused(headers, 429, "too many questions", after)
        return None

    def _knows(self, headers: Headers) -> bool:
        token = self._options.token
        if token is None:
            return True
        given = headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), token.encode())


def _host(header: str) -> str:
    """The name in a `Host`; "" where there is none, or an address that is none, such as "["."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _differs(origin: str, headers: Headers) -> bool:
    try:
        return urlsplit(origin).netloc != headers.get("host", "")
    except ValueError:  # no address
        return True


def _limited(receive: Receive) -> Receive:
    """The same, ended where a body without a length grows too long."""
    count = 0

    async def counted() -> Message:
        nonlocal count
        message = await receive()
        count += len(message.get("body", b""))
        if count > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message

    return counted


_LANGUAGES: Mapping[str, Language] = {"ko": "ko", "en": "en"}


def language_asked(headers: Headers) -> Language:
    """The one of `Accept-Language` that is ours and liked best; English where none is."""
    liked: dict[Language, float] = {}
    for choice in headers.get("accept-language", "").split(","):
        name, _, weight = choice.partition(";")
        language = _LANGUAGES.get(name.strip().lower().partition("-")[0])
        if language:
            liked[language] = max(_weight(weight), liked.get(language, 0.0))
    if not liked:
        return "en"
    return max(liked, key=lambda lang: liked[lang])


def _weight(parameter: str) -> float:
    """The value of `q=0.5`; 1 without one, 0 where it is no number."""
    try:
        return float(parameter.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0.0


def refused(
    asked: Headers, status: int, why: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The answer to a request whose headers are `asked`: `detail` is a sentence for people."""
    return JSONResponse({"detail": message_in(language_asked(asked), why)}, status, headers)
