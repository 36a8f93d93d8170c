"""What each page of this machine has: checks before any route, errors for people, and messages in each language.

The checks are access, rate limits and security headers.
"""

import hmac
import json
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Event

from gigamind.errors import EvaluationError, GigamindError, IndexingError
from gigamind.i18n import Language, Message, Text, _, script_messages, translator
from gigamind.llm.client import is_loopback
from gigamind.loading import demand_of
from gigamind.reports.labels import LABELS
from gigamind.service.options import PAGE_LANGUAGES

_MAX_BYTES = 2_000_000
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


def guard(
    app: FastAPI, host: str, *, token: str | None = None, asks_per_minute: int = 100_000
) -> None:
    """Add to an app what each page of this machine has: the guard, errors for people, and messages in each language."""
    app.add_middleware(_Guard, host=host, token=token, asks_per_minute=asks_per_minute)  # pyright: ignore[reportArgumentType]  starlette's protocol has no keywords
    app.add_exception_handler(GigamindError, _failed)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    _add_locales(app)


async def _failed(request: Request, error: Exception) -> Response:
    """Return our error as a response: 400 if the request is wrong, 502 if search, a model or a disk failed."""
    if not isinstance(error, GigamindError):
        raise error
    failed = isinstance(error, EvaluationError | IndexingError)
    return _refusal_of(request.headers, 502 if failed else 400, error.message)


_STATUSES = {
    404: _("The service has nothing at this address."),
    405: _("This address does not accept this HTTP method."),
}


async def _refused(request: Request, error: Exception) -> Response:
    """Return the refusal of a route, or of an unknown path or method."""
    if not isinstance(error, HTTPException):
        raise error
    status, detail = error.status_code, error.detail
    reason = detail if isinstance(detail, Message) else _STATUSES.get(status, detail)
    return _refusal_of(request.headers, status, reason, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    """Return the problems of a request, in ASCII and without its values, some of which cannot be encoded."""
    errors = cast("RequestValidationError", error).errors()
    say = translator(_preferred_language(request.headers))
    detail = [
        {"type": problem["type"], "loc": problem["loc"], "msg": say(demand_of(problem))}
        for problem in errors
    ]
    return Response(json.dumps({"detail": detail}), 422, media_type="application/json")


def _add_locales(app: FastAPI) -> None:
    @app.get("/locales", tags=["operations"])
    async def languages() -> list[str]:  # pyright: ignore[reportUnusedFunction]
        """List the languages of the page."""
        return list(PAGE_LANGUAGES)

    @app.get(
        "/locales/{language}.json", tags=["operations"], responses={404: {"description": "unknown"}}
    )
    async def messages(language: str) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Return the messages of the page in a language, and the labels of verdicts; English has labels only."""
        if language not in PAGE_LANGUAGES:
            raise HTTPException(404)
        say = translator(language)
        labels = {f"label {name}": say(label) for name, label in LABELS.items()}
        return script_messages(language) | labels


class _Pace:
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


class _Guard:
    """Middleware that refuses unknown clients, other sites, long bodies and too many questions."""

    def __init__(self, app: ASGIApp, host: str, token: str | None, asks_per_minute: int) -> None:
        self._app, self._host, self._token = app, host, token
        self._pace = _Pace(asks_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def secured(message: Event) -> None:
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
            return _refusal_of(headers, 421, reason)
        if path in _OPEN:
            return None
        origin = headers.get("origin")
        if scope["method"] not in {"GET", "HEAD"} and origin and _differs(origin, headers):
            return _refusal_of(
                headers, 403, _("The service rejects requests from pages of other websites.")
            )
        if (path.startswith("/api/") or path == "/metrics") and not self._knows(headers):
            reason = _(
                "Send the token of the service in this HTTP header: Authorization: Bearer ..."
            )
            return _refusal_of(headers, 401, reason)
        return self._too_much(scope, headers)

    def _too_much(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > _MAX_BYTES:
            return _refusal_of(
                headers, 413, _("The request is longer than {limit:,} bytes.", limit=_MAX_BYTES)
            )
        if scope["path"].startswith("/api/ai/") and scope["method"] == "POST":
            wait = self._pace.wait_s(scope["client"][0] if scope.get("client") else "")
            if wait:
                after = {"Retry-After": str(math.ceil(wait))}
                return _refusal_of(headers, 429, _("Too many questions. Try again later."), after)
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

    async def counted() -> Event:
        nonlocal count
        message = await receive()
        count += len(message.get("body", b""))
        if count > _MAX_BYTES:
            return {"type": "http.disconnect"}
        return message

    return counted


def _preferred_language(headers: Headers) -> Language:
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


def _refusal_of(
    request: Headers, status: int, reason: Text, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return a refusal in the language of the request; `detail` is a sentence for people."""
    detail = translator(_preferred_language(request))(reason)
    return JSONResponse({"detail": detail}, status, headers)
