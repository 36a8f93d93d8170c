"""Sends a request through litellm: one HTTP attempt, no retries.  The key is added here, at the very bottom."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from gigamind.errors import LlmError
from gigamind.llm.client import Answer, Request, Usage
from gigamind.llm.faults import error_from
from gigamind.llm.loading import alone, choose_handler, load_litellm
from gigamind.llm.prefix import with_marked_prefix
from gigamind.llm.settings import ModelSettings

_GRACE_S = 2.0  # litellm's own time-out comes first: it closes the connection cleanly
_PREPARING_S = 0.1  # of a request, a few milliseconds as a rule
_ACCOUNT = {  # of several names the last one set counts
    "OpenAI-Organization": ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION"),
    "OpenAI-Project": ("OPENAI_PROJECT_ID",),
}
_Loop = asyncio.AbstractEventLoop
# litellm's connections are one pool: closed for one model, they would be closed for all.
_users: WeakKeyDictionary[_Loop, WeakSet["LitellmClient"]] = WeakKeyDictionary()


class LitellmClient:
    """One model by its litellm name."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._litellm = load_litellm()
        missing = self._check_key()
        self._keyless = bool(settings.api_base and missing)
        _, provider = _model_and_provider(settings)
        self._headers = account_headers(provider)
        choose_handler(provider)

    async def send(self, request: Request) -> Answer:
        settings = self._settings
        _users_here().add(self)
        try:
            with alone():
                async with asyncio.timeout(settings.timeout_s + _GRACE_S):
                    reply = await _to_its_end(self._complete(request))
        except Exception as error:  # noqa: BLE001  litellm's classes have no common root of their own
            raise error_from(
                error, settings.model, settings.api_base
            ) from None  # the chain may hold the key
        return _answer(reply)

    async def _complete(self, request: Request) -> Any:  # noqa: ANN401  litellm's reply is untyped
        settings = self._settings
        return await self._litellm.acompletion(
            model=settings.model,
            messages=with_marked_prefix(request.messages, settings.model),
            response_format=request.response_format,
            **request.parameters,
            api_base=settings.api_base,
            api_key=self._key(),
            extra_headers=self._headers,
            timeout=settings.timeout_s,
            num_retries=0,
            max_retries=0,
        )

    async def close(self) -> None:
        """Close the connections, once no other open model uses them."""
        users = _users_here()
        users.discard(self)
        if users:
            return
        await self._litellm.close_litellm_async_clients()
        self._litellm.in_memory_llm_clients_cache.flush_cache()  # else closed ones are taken again

    def _key(self) -> str | None:
        """The key as it is now; None lets litellm take the provider's own from the environment."""
        if self._settings.key_variable:
            return os.environ.get(self._settings.key_variable)
        # A server of one's own wants no key, but the OpenAI client does.
        return "none" if self._keyless else None

    def _check_key(self) -> list[str]:
        """The variables that litellm misses.

        Raises:
            LlmError: with code `auth_failed`, before anything is sent: without a key, the OpenAI client fails as if the
                server had, with status 500.
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
            names = " or ".join(needed)
            raise LlmError(f"{settings.model}: set {names} in the environment", "auth_failed")
        return missing


async def _to_its_end(call: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401  litellm's reply is untyped
    """What a call of litellm gives; cancelled, it ends when litellm can be cancelled.

    litellm prepares a request in a thread and awaits it afterwards: cancelled in between it leaves a coroutine that
    nobody awaits, and Python complains on the user's screen.
    """
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_PREPARING_S)
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # else Python complains that nobody has asked for it
        raise


def _users_here() -> WeakSet[LitellmClient]:
    return _users.setdefault(asyncio.get_running_loop(), WeakSet())


def accepted(settings: ModelSettings) -> dict[str, int | float]:
    """The parameters that are sent: those of the settings that the model takes.

    gpt-5 and the o-series refuse a temperature, Anthropic knows no seed.
    """
    model, provider = _model_and_provider(settings)
    wanted = {"temperature": settings.temperature, "seed": settings.seed}
    taken = {
        name: value
        for name, value in wanted.items()
        if value is not None and _takes(model, provider, name, value)
    }
    return {"max_tokens": settings.max_tokens, **taken}


def _model_and_provider(settings: ModelSettings) -> tuple[str, str]:
    try:
        names = load_litellm().get_llm_provider(settings.model, api_base=settings.api_base)
    except Exception as error:  # noqa: BLE001  a name without a provider that litellm knows
        raise error_from(error, settings.model, settings.api_base) from None
    return names[0], names[1]


def account_headers(provider: str) -> dict[str, str] | None:
    """Which account of OpenAI pays, where the key has several: OpenAI's client says it, litellm's handler does not."""
    if provider != "openai":
        return None
    headers = {
        header: os.environ[name]
        for header, names in _ACCOUNT.items()
        for name in names
        if os.environ.get(name)
    }
    return headers or None


def _takes(model: str, provider: str, name: str, value: float) -> bool:
    """Whether litellm would send a parameter.  Its list of supported ones names one for o3 that it then refuses."""
    litellm = load_litellm()
    try:
        litellm.utils.get_optional_params(
            model=model, custom_llm_provider=provider, **{name: value}
        )
    except litellm.exceptions.UnsupportedParamsError:
        return False
    return True


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
        return None  # litellm turns a missing usage into zeros, which would cost nothing
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    written = getattr(details, "cache_creation_tokens", None) or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached, written)
