"""Send a request to a server with OpenAI's protocol: one HTTP attempt, without another library in between.

aiohttp needs a tenth of the CPU time of OpenAI's client or httpx.  The key is added here, at the lowest level.  A
broken connection is not retried here, and a cancelled one is closed, so that the server stops too.
"""

import asyncio
import base64
import json
import os
import re
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from gigamind.errors import LlmError
from gigamind.i18n import _
from gigamind.llm.client import Answer, ParameterRefusedError, Request
from gigamind.llm.faults import (
    error_of_status,
    lost,
    refused_parameter,
    unreached,
    unset_key,
    without_password,
)
from gigamind.llm.prices import on_loopback
from gigamind.llm.redaction import keep_secret, keep_secret_of
from gigamind.llm.settings import ModelSettings
from gigamind.llm.usage import Usage
from gigamind.version import __version__

if TYPE_CHECKING:
    import aiohttp

_PATH = "/chat/completions"
# Must be below the idle time of servers (5 s for uvicorn), so that none closes a connection while it is used.
_IDLE_S = 4.0
_ACCOUNT = {  # of several names, the last one that is set counts
    "OpenAI-Organization": ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION"),
    "OpenAI-Project": ("OPENAI_PROJECT_ID",),
}
_REASONING = re.compile(r"(o[1-9]|gpt-[5-9](?!.*chat))")  # models that reject a temperature
_LIMIT, _NEWER_LIMIT = "max_tokens", "max_completion_tokens"
_LIE = -1  # an impossible number of tokens


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider with OpenAI's protocol only, and the variables that litellm documents for it."""

    key: str
    addresses: tuple[str, ...]
    address: str | None = None  # None if the user must give it


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "OPENAI_API_KEY", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"
    ),
    "hosted_vllm": Provider("HOSTED_VLLM_API_KEY", ("HOSTED_VLLM_API_BASE",)),
    "lm_studio": Provider("LM_STUDIO_API_KEY", ("LM_STUDIO_API_BASE",)),
    "llamafile": Provider("LLAMAFILE_API_KEY", ("LLAMAFILE_API_BASE",), "http://127.0.0.1:8080/v1"),
}
_OTHER_PROTOCOL = ("responses/",)  # `openai/responses/...` uses another protocol of OpenAI


def speaks_openai(model: str) -> bool:
    """Return whether a model is called here, by its name, instead of through litellm."""
    provider, _slash, name = model.partition("/")
    return provider in PROVIDERS and bool(name) and not name.startswith(_OTHER_PROTOCOL)


def wanted(settings: ModelSettings) -> dict[str, int | float]:
    """Return the parameters of the settings that the model accepts, by its name."""
    parameters: dict[str, int | float] = {"max_tokens": settings.max_tokens}
    reasons = _REASONING.match(settings.model.rpartition("/")[2])
    if settings.temperature is not None and not reasons:
        parameters["temperature"] = settings.temperature
    if settings.seed is not None:
        parameters["seed"] = settings.seed
    return parameters


class OpenAIClient:
    """One model of a server with OpenAI's protocol.

    Raises:
        LlmError: There is no key, or no address.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        name, _slash, self._model = settings.model.partition("/")
        self._provider = PROVIDERS[name]
        self._address = self._find_address()
        keep_secret(self._address)
        keep_secret_of(settings.key_variable)
        self._check_key()
        self.url, self._user = _without_user(self._address)
        self._proxy = _proxy_for(self.url)
        self._headers = {
            "Content-Type": "application/json",
            "User-Agent": f"gigamind/{__version__}",
            **(account_headers() if name == "openai" else {}),
        }
        self._left_out: set[str] = set()
        self._limit = _NEWER_LIMIT if self._address == PROVIDERS["openai"].address else _LIMIT
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, request: Request) -> Answer:
        import aiohttp

        model = self._settings.model
        timeout_s = request.timeout_s or self._settings.timeout_s
        sent = self._parameters(request)
        try:
            status, headers, body = await self._post(request, sent, timeout_s)
        except TimeoutError:
            reason = _("the server did not answer within {seconds:.3g} s", seconds=timeout_s)
            raise lost(model, reason, "timeout") from None
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
            message = _(
                "{model}: {address} is not a valid server address. Write the address as http://HOST:PORT/v1.",
                model=model,
                address=without_password(self._address),
            )
            raise LlmError(message, "bad_request") from None
        except aiohttp.ClientProxyConnectionError:
            raise unreached(model, self._proxy or "") from None
        except aiohttp.ClientSSLError as error:
            raise unreached(
                model,
                self._address,
                _(
                    "no secure (TLS) connection to the server is possible: {reason}",
                    reason=str(error),
                ),
            ) from None
        except aiohttp.ClientConnectorError:
            raise unreached(model, self._address) from None
        except aiohttp.ClientHttpProxyError as error:
            text = _(
                "the proxy answered {status} {reason}", status=error.status, reason=error.message
            )
            raise error_of_status(model, error.status, text) from None
        except (aiohttp.ClientError, OSError) as error:
            reason = f"{type(error).__name__} {error}"
            raise lost(
                model, _("the connection to the server broke: {reason}", reason=reason)
            ) from None
        if status != HTTPStatus.OK:
            raise self._refusal(status, headers, body, sent)
        return _answer(model, body)

    async def close(self) -> None:
        if self._session:
            await self._session.close()
        self._session = None

    async def _post(
        self, request: Request, sent: Mapping[str, int | float], timeout_s: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body; a streamed answer is converted to an unstreamed one."""
        import aiohttp

        post = self._session_here().post(
            self.url,
            data=self._body(request, sent),
            headers=self._signed(),
            proxy=self._proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=timeout_s),
        )
        async with post as answer:
            streams = request.on_text and answer.content_type == EVENT_STREAM
            body = (
                await put_together(answer.content.iter_any(), request.on_text)
                if streams and request.on_text
                else await answer.read()
            )
            return answer.status, answer.headers, body

    def _session_here(self) -> "aiohttp.ClientSession":
        """Return the connections of this event loop; a finished loop has closed its own."""
        import aiohttp

        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=_IDLE_S, ssl=_trust(self.url)
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _signed(self) -> dict[str, str]:
        if self._user:
            return {**self._headers, "Authorization": self._user}
        key = os.environ.get(self._settings.key_variable or self._provider.key)
        return {**self._headers, "Authorization": f"Bearer {key.strip()}"} if key else self._headers

    def _parameters(self, request: Request) -> dict[str, int | float]:
        return {
            self._limit if name == _LIMIT else name: value
            for name, value in request.parameters.items()
            if name not in self._left_out
        }

    def _body(self, request: Request, parameters: Mapping[str, int | float]) -> bytes:
        body: dict[str, Any] = {"model": self._model, "messages": request.messages, **parameters}
        if request.on_text:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if request.response_format:
            body["response_format"] = request.response_format
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    def _refusal(
        self, status: int, headers: Mapping[str, str], body: bytes, sent: Mapping[str, int | float]
    ) -> LlmError:
        """Return the error for a response, and learn from what it says about a parameter."""
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            # Redirects are not followed: key and notes go only to the given address.
            text = _(
                "the server redirects to {address}, but gigamind does not follow redirects",
                address=headers.get("Location", ""),
            )
        else:
            text = _error_text(body) or f"status {status}"
        retry_after = headers.get("Retry-After")
        error = error_of_status(self._settings.model, status, text, retry_after=retry_after)
        parameter = refused_parameter(text, sent) if error.code == "bad_request" else None
        if parameter == _LIMIT:
            self._limit = _NEWER_LIMIT
        elif parameter == _NEWER_LIMIT:
            self._limit = _LIMIT
        elif parameter:
            self._left_out.add(parameter)
        return ParameterRefusedError(error, parameter) if parameter else error

    def _find_address(self) -> str:
        variables = self._provider.addresses
        addresses = (self._settings.api_base, *(os.environ.get(name) for name in variables))
        address = next((candidate for candidate in addresses if candidate), self._provider.address)
        if address is None:
            raise LlmError(
                _(
                    "{model}: pass the server's address with --api-base, or set the environment variable {variable}",
                    model=self._settings.model,
                    variable=variables[0],
                ),
                "bad_request",
            )
        return address

    def _check_key(self) -> None:
        """Raise LlmError `auth_failed` without a key; a self-hosted server needs one only if it is named."""
        own = self._settings.key_variable
        if not own and self._address != PROVIDERS["openai"].address:
            return
        name = own or self._provider.key
        if not os.environ.get(name):
            raise LlmError(unset_key(self._settings.model, name), "auth_failed")


def _without_user(address: str) -> tuple[str, str | None]:
    parts = urlsplit(address)
    user, _at, place = parts.netloc.rpartition("@")
    path = parts.path.rstrip("/")
    path = path if path.endswith(_PATH) else path + _PATH
    url = urlunsplit((parts.scheme, place, path, parts.query, ""))
    if not user:
        return url, None
    return url, f"Basic {base64.b64encode(unquote(user).encode()).decode()}"


def _proxy_for(url: str) -> str | None:
    parts = urlsplit(url)
    if on_loopback(url) or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    keep_secret(proxy)
    return proxy


def _trust(url: str) -> ssl.SSLContext | bool:
    if not url.startswith("https:"):
        return True
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def account_headers() -> dict[str, str]:
    """Return the headers that name the paying account of OpenAI, for keys with several accounts."""
    return {
        header: os.environ[name]
        for header, names in _ACCOUNT.items()
        for name in names
        if os.environ.get(name)
    }


def _error_text(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = _field(payload, "error") or payload
    message = _field(error, "message") or _field(error, "detail") or text
    code = _field(error, "code")
    return f"{message} ({code})" if isinstance(code, str) and code else str(message)


def _answer(model: str, body: bytes) -> Answer:
    """Return the answer in a body; LlmError `malformed_response` may cost as much as an answer."""
    try:
        return answer_of(json.loads(body))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        reason = _("the server's response is not a model reply: {reason}", reason=_error_text(body))
        raise lost(model, reason, "malformed_response") from None


def answer_of(reply: Any) -> Answer:  # noqa: ANN401  what a server sent
    """Return the answer in a chat completion.

    Raises:
        ValueError, TypeError, AttributeError, LookupError: It is not a chat completion.
    """
    choices: list[Any] = reply["choices"]
    usage = usage_of(reply.get("usage"))
    if not choices:
        return Answer(None, "none", usage=usage)
    message: Any = choices[0]["message"]
    return Answer(
        text=_text(message.get("content")),
        finish=choices[0].get("finish_reason") or "stop",
        refusal=message.get("refusal"),
        usage=usage,
        model=str(reply.get("model") or ""),
        fingerprint=str(reply.get("system_fingerprint") or ""),
    )


def _text(content: Any) -> str | None:  # noqa: ANN401  what a server sent
    if content is None or isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def usage_of(usage: Any) -> Usage | None:  # noqa: ANN401  what a server sent
    """Return the reported tokens; None if the server reports none, which differs from zero."""
    if not usage:
        return None
    prompt = _count(_field(usage, "prompt_tokens"))
    completion = _count(_field(usage, "completion_tokens"))
    if prompt == completion == 0:
        return None
    cached = _field(_field(usage, "prompt_tokens_details"), "cached_tokens")
    return Usage(prompt, completion, _count(cached or 0))


def _count(count: object) -> int:
    if isinstance(count, float) and count.is_integer():
        return int(count)
    return count if isinstance(count, int) and not isinstance(count, bool) else _LIE


def _field(payload: object, name: str) -> Any:  # noqa: ANN401  what a server sent
    return cast("dict[str, Any]", payload).get(name) if isinstance(payload, dict) else None


EVENT_STREAM = "text/event-stream"
_MARK = b"data:"
_END = b"[DONE]"


async def put_together(
    pieces: AsyncIterable[bytes], on_text: Callable[[str], Awaitable[None]]
) -> bytes:
    """Return the body of an answer from server-sent events; another body, or an error event, is returned unchanged.

    A stream that ends without a finish reason is not an answer.
    """
    head: dict[str, Any] = {}
    parts: list[str] = []
    refusal: list[str] = []
    finish: str | None = None
    usage: Any = None
    async for line in _lines(pieces):
        data = line.strip().removeprefix(_MARK).strip()
        if not line.startswith(_MARK) or data == _END:
            continue
        try:
            chunk: dict[str, Any] = json.loads(data)
            choices: list[dict[str, Any]] = chunk.get("choices") or []
            choice = choices[0] if choices else {}
            delta: dict[str, Any] = choice.get("delta") or {}
            texts = [delta.get(name) or "" for name in ("content", "refusal")]
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
            return data
        if "error" in chunk or not all(isinstance(text, str) for text in texts):
            return data
        head = head or {name: chunk.get(name) for name in ("model", "system_fingerprint")}
        usage = chunk.get("usage") or usage
        finish = choice.get("finish_reason") or finish
        text, refused = texts
        refusal.append(refused)
        if text:
            parts.append(text)
            await on_text(text)
    message = {"content": "".join(parts) or None, "refusal": "".join(refusal) or None}
    if finish is None:
        return b'{"error": {"message": "the answer broke off"}}'
    whole = {"message": message, "finish_reason": finish}
    return json.dumps({**head, "choices": [whole], "usage": usage}).encode()


async def _lines(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    async for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for line in ended:
            yield b"".join((*begun, line))
            begun.clear()
        begun.append(rest)
    yield b"".join(begun)
