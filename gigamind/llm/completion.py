"""Send one request through litellm over our transport, without retries.

Errors are classified by what the transport saw, because litellm gives status 500 to a broken connection, a refused port
and a page of HTML alike.  litellm does not document three facts, which tests check: the argument
`transport` of `AsyncHTTPHandler`, which class of client a provider accepts, and that a request runs in the task that
asks.
"""

import asyncio
import json
import os
import re
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

from gigamind.errors import InputError, LlmCode, LlmError
from gigamind.i18n import _
from gigamind.llm.client import Answer, ParameterRefusedError, Request, Usage
from gigamind.llm.faults import (
    code_of,
    error_of_status,
    lost,
    missing_provider,
    scrub,
    unset_key,
)
from gigamind.llm.loading import load_litellm
from gigamind.llm.settings import ModelSettings
from gigamind.llm.transport import Exchange, Transport, exchange
from gigamind.redaction import keep_secret, keep_secret_of

_GRACE_S = 30.0  # our transport's own limit comes first; litellm loads parts of itself at its first requests
_PREPARING_S = 0.1  # normally a few milliseconds
_NO_PROVIDER = "LLM Provider NOT provided"  # text of litellm
_SDK = {"openai", "azure", "custom_openai", "lm_studio", "llamafile"}  # called by OpenAI's client
_ADDRESSES = {  # variables that name a server, as litellm documents them
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "azure": ("AZURE_API_BASE",),
    "hosted_vllm": ("HOSTED_VLLM_API_BASE",),
    "lm_studio": ("LM_STUDIO_API_BASE",),
}
_PATH = "/chat/completions"
# All items of a judge have the same system message, which most servers cache.  Anthropic does if it is marked; these
# tokens cost a quarter more in the first request, and a tenth in later ones.
_CACHED = {"cache_control_injection_points": [{"location": "message", "role": "system"}]}
_LIMIT, _NEWER_LIMIT = "max_tokens", "max_completion_tokens"
_MOST_TEXT = 10_000  # characters of an error message that are looked at


def accepted(settings: ModelSettings) -> dict[str, int | float]:
    """Return the parameters that litellm documents for the model; raise LlmError for an unknown provider.

    Its list includes some that the model then rejects; these are learnt from the error.
    """
    litellm = load_litellm()
    model, provider, _key = _resolved(settings)
    wanted = {"temperature": settings.temperature, "seed": settings.seed}
    supported = litellm.get_supported_openai_params(model=model, custom_llm_provider=provider)
    if provider in {"openai", "azure"} and "top_p" not in supported:
        del wanted["temperature"]  # without `top_p`, only its default is accepted
    named = {name: value for name, value in wanted.items() if value is not None}
    kept = {name: named[name] for name in named if not supported or name in supported}
    return {_LIMIT: settings.max_tokens, **kept}


def _resolved(settings: ModelSettings) -> tuple[str, str, str | None]:
    """Return name, provider and key of a model as litellm finds them."""
    try:
        name, provider, key, _address = load_litellm().get_llm_provider(
            settings.model, api_base=settings.api_base
        )
    except Exception as error:  # noqa: BLE001  litellm does not know the provider in the name
        reason = scrub(str(error))
        if _NO_PROVIDER in str(error):
            reason = missing_provider(settings.model, settings.api_base)
        raise LlmError(
            "{model}: {reason}", "bad_request", model=settings.model, reason=reason
        ) from None
    return name, provider, key


class Completions:
    """One model by its litellm name; raises LlmError if there is no key, no address, or no such provider."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._litellm = load_litellm()
        _name, self._provider, self._default_key = _resolved(settings)
        self._address = self._find_address()
        keep_secret(self._address)
        keep_secret_of(settings.key_variable)
        self._keyless = self._check_key()
        self._left_out: set[str] = set()
        self._limit = _LIMIT
        self._streams = False  # whether the server sends only streams
        self._makers = [self._handler, self._sdk_client]  # of clients, the likely one first
        if self._provider in _SDK:
            self._makers.reverse()
        self._transport: Any = None
        self._clients: dict[Callable[[], Any], Any] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, request: Request) -> Answer:
        """Send one request; LlmError without an answer, ParameterRefusedError if a parameter is left out next."""
        timeout_s = request.timeout_s or self._settings.timeout_s
        sent = {
            self._limit if name == _LIMIT else name: value
            for name, value in request.parameters.items()
            if name not in self._left_out
        }
        current = Exchange(timeout_s)
        exchange.set(current)
        try:
            async with asyncio.timeout(timeout_s + _GRACE_S):
                try:
                    return answer_of(await self._complete(request, sent, current), current)
                except Exception:
                    if current.status != HTTPStatus.OK or current.fault or not current.payloads:
                        raise
                    # litellm cannot read a usage of 1e308, for example.
                    return answer_of(reply_in(current.payloads[0]), current)
        except LlmError:
            raise
        except Exception as error:  # noqa: BLE001  litellm's exceptions have no common base class
            # The exception chain can contain the key.
            raise self._explained(error, current, sent) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._transport:
            await self._transport.end()
        self._clients = {}

    async def _complete(
        self, request: Request, sent: Mapping[str, int | float], current: Exchange
    ) -> Any:  # noqa: ANN401  litellm's reply is untyped
        current.streams = streams = self._streams or request.on_text is not None
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        reply = await self._call(
            self._litellm.acompletion,
            current,
            messages=[dict(message) for message in request.messages],
            **(request.form or {}),
            **(_CACHED if self._provider == "anthropic" else {}),
            **sent,
            **(streamed if streams else {}),
        )
        return await self._collected(reply, request) if streams else reply

    async def embed(self, texts: Sequence[str]) -> Any:  # noqa: ANN401  litellm's reply is untyped
        """Return the rows of one response with embeddings; raise LlmError if none came."""
        current = Exchange(self._settings.timeout_s, most=None)
        exchange.set(current)
        try:
            reply = await self._call(
                self._litellm.aembedding, current, input=list(texts), encoding_format="float"
            )
        except Exception as error:  # noqa: BLE001  litellm's exceptions have no common base class
            raise error_of_exchange(error, current, self._settings.model) from None
        return reply.data

    async def _call(
        self,
        function: Callable[..., Coroutine[Any, Any, Any]],
        current: Exchange,
        **request: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        reason: object = ""
        for make in self._makers:  # a provider accepts one class of client
            try:
                call = function(
                    model=self._settings.model,
                    **request,
                    client=self._client_of(make),
                    api_base=self._address,
                    api_key=self._key(),
                    timeout=current.timeout_s,
                    num_retries=0,
                    max_retries=0,
                )
                reply = await _to_its_end(call)
            except Exception as error:
                if current.requests:
                    self._makers = [make]
                elif not self._is_final(error):
                    reason = error
                    continue
                raise
            if current.requests or current.most is None:
                self._makers = [make]
                return reply
            break
        raise LlmError(
            "{model}: gigamind cannot use this provider. litellm sends its requests without gigamind's limits of size"
            " and time, so their cost is unknown ({reason})",
            "bad_request",
            may_cost=True,
            model=self._settings.model,
            reason=scrub(str(reason)),
        )

    async def _collected(self, reply: Any, request: Request) -> Any:  # noqa: ANN401
        chunks: list[Any] = []
        async for chunk in reply:
            chunks.append(chunk)
            text = chunk.choices[0].delta.content if chunk.choices else None
            if text and request.on_text:
                await request.on_text(text)
        whole = self._litellm.stream_chunk_builder(chunks, messages=list(request.messages))
        ended = any(chunk.choices and chunk.choices[0].finish_reason for chunk in chunks)
        is_whole = exchange.get().headers.get("content-type", "").startswith("application/json")
        if whole is None or not ended or is_whole:  # a server that does not stream is read again
            raise ValueError(_("the answer broke off"))
        return whole

    def _is_final(self, error: Exception) -> bool:
        """Return whether an error before any request is about the request, not about the class of the client."""
        known = self._litellm.exceptions
        about = (known.BadRequestError, known.AuthenticationError, known.NotFoundError, ImportError)
        return isinstance(error, about) or "No module named" in str(error)

    def _client_of(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Return a client for this event loop; connections of a finished loop cannot be used."""
        import httpx

        loop = asyncio.get_running_loop()
        if self._transport is None or self._loop is not loop:
            self._loop, self._transport, self._clients = loop, Transport(httpx), {}
        if make not in self._clients:
            self._clients[make] = make()
        return self._clients[make]

    def _sdk_client(self) -> Any:  # noqa: ANN401
        import httpx
        from openai import AsyncAzureOpenAI, AsyncOpenAI

        connections: Any = httpx.AsyncClient(transport=self._transport, follow_redirects=False)
        shared: dict[str, Any] = {"http_client": connections, "max_retries": 0}
        if self._provider == "azure":
            version = os.environ.get("AZURE_API_VERSION") or self._litellm.AZURE_DEFAULT_API_VERSION
            key = self._key() or os.environ.get("AZURE_API_KEY")
            address = str(self._address)
            return AsyncAzureOpenAI(
                api_key=key, azure_endpoint=address, api_version=version, **shared
            )
        key = self._key() or self._default_key or os.environ.get("OPENAI_API_KEY") or "none"
        return AsyncOpenAI(api_key=key, base_url=self._address, **shared)

    def _handler(self) -> Any:  # noqa: ANN401
        from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

        return AsyncHTTPHandler(transport=self._transport, follow_redirects=False)

    def _find_address(self) -> str | None:
        """Return the address of the server without the path of a method; None for the provider's own."""
        variables = _ADDRESSES.get(self._provider, ())
        named = (self._settings.api_base, *(os.environ.get(name) for name in variables))
        address = next(filter(None, named), None)
        if address is None and variables and self._provider != "openai":
            raise LlmError(
                "{model}: pass the server's address with --api-base, or set the environment variable {variable}",
                "bad_request",
                model=self._settings.model,
                variable=variables[0],
            )
        if address and urlsplit(address).scheme not in {"http", "https"}:
            raise LlmError(
                "{model}: {address} is not a valid server address. Write the address as http://HOST:PORT/v1.",
                "bad_request",
                model=self._settings.model,
                address=scrub(address),
            )
        return address.rstrip("/").removesuffix(_PATH) if address else None

    def _key(self) -> str | None:
        if self._settings.key_variable:
            return os.environ.get(self._settings.key_variable, "").strip()
        # A self-hosted server needs no key, but litellm's clients do.
        return "none" if self._keyless else None

    def _check_key(self) -> bool:
        """Return whether the model is called without a key; raise InputError if it needs one."""
        settings = self._settings
        environment = self._litellm.validate_environment(settings.model)
        is_known = environment["keys_in_environment"]
        missing: list[str] = [] if is_known else environment["missing_keys"]
        own = settings.key_variable
        needed = [own] if own else [name for name in missing if name.endswith("_KEY")]
        needed = [name for name in needed if not os.environ.get(name)]
        if needed and (own or not self._address):
            raise InputError(unset_key(settings.model, " or ".join(needed)))
        return bool(self._address and missing)

    def _explained(
        self, error: Exception, current: Exchange, sent: Mapping[str, int | float]
    ) -> LlmError:
        """Return our error for an exception of litellm; learn which parameter the model rejects."""
        explained = error_of_exchange(error, current, self._settings.model)
        if current.status == HTTPStatus.OK and current.is_stream and not current.streams:
            self._streams = True
            return ParameterRefusedError(explained, "stream")
        text = explained.args[0] if current.status else str(error)
        parameter = _refused_parameter(str(text), sent) if explained.code == "bad_request" else None
        if parameter is None:
            return explained
        if parameter in {_LIMIT, _NEWER_LIMIT}:
            self._limit = _NEWER_LIMIT if parameter == _LIMIT else _LIMIT
        else:
            self._left_out.add(parameter)
        return ParameterRefusedError(explained, parameter)


_UNSUPPORTED = re.compile(
    r"unsupported|(not|n't) support|only the default|only .{0,20}is supported", re.IGNORECASE
)
_CANNOT_CONNECT = _("cannot connect to the server")


def _refused_parameter(text: str, names: Collection[str]) -> str | None:
    """Return the sent parameter that a server says it does not support; None if the text is about something else."""
    if not _UNSUPPORTED.search(text):
        return None
    return next((name for name in names if re.search(rf"\b{name}\b", text)), None)


def _unreached(
    model: str, address: str, why: str = _CANNOT_CONNECT, code: LlmCode = "server_error"
) -> LlmError:
    """Return the error for a request that reached no server, so nothing was generated."""
    return LlmError(
        "{model}: {reason}. Check that a server is running at {address}.",
        code,
        model=model,
        reason=scrub(why),
        address=address,
    )


def error_of_exchange(error: Exception, current: Exchange, model: str) -> LlmError:  # noqa: PLR0911  one per fault
    """Return our error for an exception of litellm or an SDK, from what the transport saw."""
    address, status, timeout_s = current.address, current.status, current.timeout_s
    match "late" if isinstance(error, TimeoutError) else current.fault:
        case "late" if current.requests and not current.has_left:
            reason = _(
                "the server accepted no connection within {seconds:.3g} s", seconds=timeout_s
            )
            return _unreached(model, address, reason, "timeout")
        case "late":
            reason = _("the server did not answer within {seconds:.3g} s", seconds=timeout_s)
            return lost(model, reason, "timeout")
        case "unreached" if "SSL" in current.reason or "CERT" in current.reason:
            reason = _(
                "no secure (TLS) connection to the server is possible: {reason}",
                reason=current.reason,
            )
            return _unreached(model, address, reason)
        case "unreached":
            return _unreached(model, address)
        case "proxy":
            reason = _("the proxy refused the connection: {reason}", reason=current.reason)
            return _unreached(model, address, reason)
        case "redirect":
            # Redirects are not followed: key and notes go only to the given address.
            text = _(
                "the server redirects to {address}, but gigamind does not follow redirects",
                address=current.headers.get("location", ""),
            )
            return error_of_status(model, status or 0, text)
        case "too_large" | "encoding":
            reason = _("the server's response is too large or has an unknown encoding")
            return lost(model, reason, "malformed_response")
        case "broken":
            reason = _("the connection to the server broke: {reason}", reason=current.reason)
            return lost(model, reason, may_cost=current.has_left)
        case _other:
            return _error_of_response(error, current, model)


def _error_of_response(error: Exception, current: Exchange, model: str) -> LlmError:
    text = str(error)
    if not current.requests:  # litellm raised it before sending, or used connections of its own
        return _error_from(error, model)
    if current.status is None:
        return lost(model, text)
    said = error_text(bytes(current.body))
    if current.status != HTTPStatus.OK:
        text, retry_after = said or f"status {current.status}", current.headers.get("retry-after")
        return error_of_status(model, current.status, text, retry_after=retry_after)
    inner = _error_inside(current)
    if inner:
        return lost(model, said, code_of(inner, said))
    reason = _("the server's response is not a model reply: {reason}", reason=said)
    return lost(model, reason, "malformed_response")


def reply_in(payload: Any) -> Any:  # noqa: ANN401
    """Return litellm's reply with the needed fields of a response of OpenAI's protocol; raises if it has no answer."""
    choice = payload["choices"][0]
    message = {name: choice["message"].get(name) for name in ("content", "tool_calls")}
    refusal = choice["message"].get("refusal")
    message |= {"role": "assistant", "refusal": str(refusal) if refusal else None}
    finish = str(choice.get("finish_reason") or "stop")
    return load_litellm().ModelResponse(
        choices=[{"index": 0, "message": message, "finish_reason": finish}],
        model=str(payload.get("model") or ""),
        system_fingerprint=payload.get("system_fingerprint"),
    )


async def _to_its_end(call: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
    """Await a call of litellm; if cancelled, wait until litellm can be, so that Python prints no warning."""
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_PREPARING_S)
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # otherwise Python warns that it was never retrieved
        raise


def _error_from(exception: Exception, model: str) -> LlmError:
    """Return our error for what litellm raises without using our transport."""
    text = str(exception)
    if isinstance(exception, ImportError) or "No module named" in text:
        # litellm disguises it as a connection error, which would be retried.
        return LlmError(
            "{model}: a required Python package cannot be imported: {reason}",
            "bad_request",
            model=model,
            reason=scrub(text),
        )
    status = getattr(exception, "status_code", None)
    if status is None or status < HTTPStatus.BAD_REQUEST:
        return lost(model, text)
    answered = status < HTTPStatus.INTERNAL_SERVER_ERROR
    return error_of_status(model, status, text, answered=answered)


def error_text(body: bytes) -> str:
    """Return the message of an error response."""
    text = body.decode("utf-8", "replace")
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return text[:_MOST_TEXT]
    error = _field(payload, "error") or payload
    message = str(_field(error, "message") or _field(error, "detail") or text)[:_MOST_TEXT]
    code = _field(error, "code")
    return f"{message} ({code})" if isinstance(code, str) and code else message


def _error_inside(current: Exchange) -> int | None:
    """Return the status of an error object in a response with status 200; None if there is none."""
    for payload in current.payloads:
        if error := _field(payload, "error"):
            codes = [_field(error, name) for name in ("code", "status", "type")]
            if any("rate_limit" in str(code) for code in codes):
                return HTTPStatus.TOO_MANY_REQUESTS
            statuses = (code for code in codes if isinstance(code, int) and 400 <= code < 600)  # noqa: PLR2004
            return next(statuses, HTTPStatus.INTERNAL_SERVER_ERROR)
    return None


def answer_of(reply: Any, current: Exchange) -> Answer:  # noqa: ANN401  litellm's reply is untyped
    """Return the answer in a reply of litellm, with the usage that its response reports."""
    choice = reply.choices[0] if reply.choices else None
    message = choice.message if choice else None
    calls = getattr(message, "tool_calls", None)
    fields: dict[str, Any] = getattr(message, "provider_specific_fields", None) or {}
    refusal = getattr(message, "refusal", None) or fields.get("refusal")
    return Answer(
        text=calls[0].function.arguments if calls else getattr(message, "content", None),
        finish=choice.finish_reason or "stop" if choice else "none",
        refusal=str(refusal) if refusal else None,
        usage=_usage(reply, current),
        model=str(reply.model or ""),
        fingerprint=str(getattr(reply, "system_fingerprint", None) or ""),
    )


_USAGE_NAMES = ("usage", "usageMetadata", "eval_count")  # of OpenAI and Anthropic, Gemini, Ollama


def _usage(reply: Any, current: Exchange) -> Usage | None:  # noqa: ANN401
    """Return the reported tokens; None if the response has none, which litellm turns into zeros or an estimate."""
    payloads = current.payloads
    for payload in payloads:
        exact = _usage_of(_field(payload, "usage"))
        if exact is not None:
            return exact
    usage = getattr(reply, "usage", None)
    reported = not current.requests or any(
        _field(payload, name) is not None for payload in payloads for name in _USAGE_NAMES
    )
    return _usage_of(usage.model_dump()) if reported and usage is not None else None


def _usage_of(usage: object) -> Usage | None:
    """Return the tokens that are reported in OpenAI's form; None without them.

    Tokens of reasoning that are only part of `total_tokens` count as completion.
    """
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    prompt, completion, total = (_count(_field(usage, name)) for name in names)
    if not prompt and not completion:
        return None
    details = _field(usage, "prompt_tokens_details")
    names = ("cached_tokens", "cache_creation_tokens")
    cached, written = (_count(_field(details, name)) for name in names)
    return Usage(prompt, max(completion, total - prompt), cached, written)


def _count(count: object) -> int:
    """Return a number of tokens; 0 if it is missing, -1 for anything else."""
    if count is None:
        return 0
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else -1


def _field(payload: object, name: str) -> Any:  # noqa: ANN401  what a server sent
    return cast("dict[str, Any]", payload).get(name) if isinstance(payload, dict) else None
