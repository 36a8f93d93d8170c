"""Send a request through litellm, to providers without OpenAI's protocol; it does not retry.

Only documented names of litellm are used.  Its handlers of some providers repeat a request if a connection breaks
before the first word of the answer.  Such an attempt has one row and looks like one that was sent once.
"""

import asyncio
import os
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from gigamind.errors import LlmCode, LlmError
from gigamind.i18n import _
from gigamind.llm.client import Answer, ParameterRefusedError, Request
from gigamind.llm.faults import (
    error_of_status,
    is_reached,
    lost,
    missing_provider,
    refused_parameter,
    scrub,
    unreached,
    unset_key,
)
from gigamind.llm.loading import load_litellm
from gigamind.llm.prefix import with_marked_prefix
from gigamind.llm.redaction import keep_secret, keep_secret_of
from gigamind.llm.settings import ModelSettings
from gigamind.llm.usage import Usage

_GRACE_S = 2.0  # litellm's own time-out comes first and closes the connection cleanly
_PREPARING_S = 0.1  # normally a few milliseconds
# litellm reports an invalid body as status 500; only the text shows it.
_NOT_A_COMPLETION = (
    "Expecting",
    "Unterminated",
    "nvalid response",
    "Empty or i",
    "Invalid \\escape",
)
_NO_PROVIDER = "LLM Provider NOT provided"  # text of litellm
_UNREACHED = ("Connection error", "Cannot connect to host")
_Loop = asyncio.AbstractEventLoop
# All models share one connection pool of litellm, so closing it for one closes it for all.
_users: WeakKeyDictionary[_Loop, WeakSet["LitellmClient"]] = WeakKeyDictionary()


class LitellmClient:
    """One model by its litellm name."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._litellm = load_litellm()
        keep_secret(settings.api_base)
        keep_secret_of(settings.key_variable)
        missing = self._check_key()
        self._keyless = bool(settings.api_base and missing)
        self._left_out: set[str] = set()

    async def send(self, request: Request) -> Answer:
        settings = self._settings
        _users_here().add(self)
        sent = {k: v for k, v in request.parameters.items() if k not in self._left_out}
        try:
            timeout_s = request.timeout_s or settings.timeout_s
            async with asyncio.timeout(timeout_s + _GRACE_S):
                reply = await _to_its_end(self._complete(request, sent))
        except Exception as error:  # noqa: BLE001  litellm's exceptions have no common base class
            # The exception chain can contain the key.
            raise self._explained(error, sent) from None
        return _answer(reply)

    async def _complete(self, request: Request, sent: dict[str, int | float]) -> Any:  # noqa: ANN401  untyped
        settings = self._settings
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        reply = await self._litellm.acompletion(
            model=settings.model,
            messages=with_marked_prefix(request.messages, settings.model),
            response_format=request.response_format,
            **sent,
            api_base=settings.api_base,
            api_key=self._key(),
            timeout=request.timeout_s or settings.timeout_s,
            num_retries=0,
            max_retries=0,
            **(streamed if request.on_text else {}),
        )
        if not request.on_text:
            return reply
        chunks: list[Any] = []
        async for chunk in reply:
            chunks.append(chunk)
            if chunk.choices and (text := chunk.choices[0].delta.content):
                await request.on_text(text)
        return self._litellm.stream_chunk_builder(chunks, messages=list(request.messages))

    async def close(self) -> None:
        """Close the connections when no other open model uses them."""
        users = _users_here()
        users.discard(self)
        if not users:
            await self._litellm.close_litellm_async_clients()

    def _explained(self, error: Exception, sent: dict[str, int | float]) -> LlmError:
        explained = error_from(error, self._settings.model, self._settings.api_base)
        optional = [name for name in sent if name != "max_tokens"]
        refused = refused_parameter(str(error), optional)
        if explained.code != "bad_request" or refused is None:
            return explained
        self._left_out.add(refused)
        return ParameterRefusedError(explained, refused)

    def _key(self) -> str | None:
        if self._settings.key_variable:
            return os.environ.get(self._settings.key_variable)
        # A self-hosted server needs no key, but litellm's clients do.
        return "none" if self._keyless else None

    def _check_key(self) -> list[str]:
        """Return the variables that litellm misses, or raise LlmError `auth_failed` before any request.

        Without a key, some clients of litellm fail with status 500, as if the server had failed.
        """
        settings = self._settings
        environment = self._litellm.validate_environment(settings.model)
        missing: list[str] = (
            [] if environment["keys_in_environment"] else environment["missing_keys"]
        )
        own = settings.key_variable
        needed = [own] if own else [name for name in missing if name.endswith("_KEY")]
        needed = [name for name in needed if not os.environ.get(name)]
        if needed and (own or not settings.api_base):
            raise LlmError(unset_key(settings.model, " or ".join(needed)), "auth_failed")
        return missing


async def _to_its_end(call: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401  litellm's reply is untyped
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


def _users_here() -> WeakSet[LitellmClient]:
    return _users.setdefault(asyncio.get_running_loop(), WeakSet())


def taken(settings: ModelSettings, parameters: dict[str, int | float]) -> dict[str, int | float]:
    """Return the parameters that litellm documents for the model; Anthropic's models accept no seed.

    Its list includes some that the model then rejects; these are learnt from the error.

    Raises:
        LlmError: litellm does not know the provider in the name.
    """
    litellm = load_litellm()
    try:
        model, provider, *_rest = litellm.get_llm_provider(
            settings.model, api_base=settings.api_base
        )
    except Exception as error:  # noqa: BLE001  litellm does not know the provider in the name
        if _NO_PROVIDER in str(error):
            reason = missing_provider(settings.model, settings.api_base)
            message = _("{model}: {reason}", model=settings.model, reason=reason)
            raise LlmError(message, "bad_request") from None
        raise error_from(error, settings.model, settings.api_base) from None
    supported = litellm.get_supported_openai_params(model=model, custom_llm_provider=provider)
    return {
        name: value
        for name, value in parameters.items()
        if name == "max_tokens" or not supported or name in supported
    }


def error_from(exception: Exception, model: str, api_base: str | None = None) -> LlmError:
    """Return our error for anything that litellm raises, scrubbed; `api_base` is the address of the model."""
    text = str(exception)
    if isinstance(exception, ImportError) or "No module named" in text:
        # litellm disguises it as a connection error, which would be retried.
        message = _(
            "{model}: a required Python package cannot be imported: {reason}",
            model=model,
            reason=scrub(text),
        )
        return LlmError(message, "bad_request")
    if isinstance(exception, TimeoutError):
        return lost(model, text or _("the model did not answer within the time limit"), "timeout")
    if api_base and any(words in text for words in _UNREACHED) and not is_reached(exception):
        return unreached(model, api_base)
    return _error_of(exception, model, text)


def _error_of(exception: Exception, model: str, text: str) -> LlmError:
    known = load_litellm().exceptions
    status = getattr(exception, "status_code", None)
    # litellm gives a broken connection the status 500, as if the server had answered; only headers prove an answer.
    headers: dict[str, str] | None = getattr(exception, "litellm_response_headers", None)
    malformed = any(words in text for words in _NOT_A_COMPLETION)
    if status is None or status < HTTPStatus.BAD_REQUEST:
        return lost(model, text, "server_error" if status is None else "malformed_response")
    if malformed and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return lost(model, text, "malformed_response")
    code: LlmCode | None = None
    if isinstance(exception, known.ContextWindowExceededError):
        code = "context_too_long"
    elif isinstance(exception, known.ContentPolicyViolationError):
        code = "content_filtered"
    return error_of_status(
        model,
        status,
        text,
        code=code,
        retry_after=(headers or {}).get("retry-after"),
        answered=headers is not None or not is_reached(exception),
    )


def _answer(reply: Any) -> Answer:  # noqa: ANN401  litellm's reply is untyped
    choice = reply.choices[0] if reply.choices else None
    return Answer(
        text=choice.message.content if choice else None,
        finish=choice.finish_reason if choice else "none",
        refusal=_refusal(choice.message) if choice else None,
        usage=_usage(reply),
        model=reply.model or "",
        fingerprint=getattr(reply, "system_fingerprint", None) or "",
    )


def _refusal(message: Any) -> str | None:  # noqa: ANN401
    fields: dict[str, Any] = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal")


def _usage(reply: Any) -> Usage | None:  # noqa: ANN401
    usage = getattr(reply, "usage", None)
    if not usage or not (usage.prompt_tokens or usage.completion_tokens):
        return None  # litellm reports a missing usage as zeros, which would cost nothing
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    written = getattr(details, "cache_creation_tokens", None) or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached, written)
