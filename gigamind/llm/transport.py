"""Sends a request through litellm: one HTTP attempt, no retries.  The key is added here, at the very bottom."""

import asyncio
import os
from typing import Any

from gigamind.errors import LlmError
from gigamind.llm.client import Answer, Request, Usage
from gigamind.llm.faults import error_from
from gigamind.llm.loading import load_litellm
from gigamind.llm.settings import ModelSettings

_GRACE_S = 2.0  # litellm's own time-out comes first: it closes the connection cleanly


class LitellmClient:
    """One model by its litellm name."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._litellm = load_litellm()
        self._check_key()

    async def send(self, request: Request) -> Answer:
        settings = self._settings
        try:
            async with asyncio.timeout(settings.timeout_s + _GRACE_S):
                reply = await self._litellm.acompletion(
                    model=settings.model,
                    messages=[dict(message) for message in request.messages],
                    response_format=request.response_format,
                    **request.parameters,
                    api_base=settings.api_base,
                    api_key=self._key(),
                    timeout=settings.timeout_s,
                    num_retries=0,
                    max_retries=0,
                )
        except Exception as error:  # noqa: BLE001  litellm's classes have no common root of their own
            raise error_from(error, settings.model) from None  # the chain may hold the key
        return _answer(reply)

    async def close(self) -> None:
        await self._litellm.close_litellm_async_clients()

    def _key(self) -> str | None:
        """The key; None lets litellm take the provider's own from the environment."""
        if self._settings.key_variable:
            return os.environ.get(self._settings.key_variable)
        if self._settings.api_base and self._missing():
            return "none"  # a server of one's own wants no key, but the OpenAI client does
        return None

    def _missing(self) -> list[str]:
        found = self._litellm.validate_environment(self._settings.model)
        return [] if found["keys_in_environment"] else found["missing_keys"]

    def _check_key(self) -> None:
        """Refuse to start without a key: the OpenAI client fails as if the server had, with status 500.

        Raises:
            LlmError: with code `auth_failed`.
        """
        named = self._settings.key_variable
        if named and not os.environ.get(named):
            raise LlmError(f"{self._settings.model}: set {named} in the environment", "auth_failed")
        missing = [name for name in self._missing() if name.endswith("_KEY")]
        if missing and not named and not self._settings.api_base:
            names = " or ".join(missing)
            raise LlmError(f"{self._settings.model}: set {names} in the environment", "auth_failed")


def accepted(settings: ModelSettings) -> dict[str, int | float]:
    """The parameters that are sent: those of the settings that the model takes.

    gpt-5 and the o-series refuse a temperature, Anthropic knows no seed.
    """
    litellm = load_litellm()
    try:
        model, provider, *_ = litellm.get_llm_provider(settings.model, api_base=settings.api_base)
    except Exception as error:  # noqa: BLE001  a name without a provider that litellm knows
        raise error_from(error, settings.model) from None
    wanted = {"temperature": settings.temperature, "seed": settings.seed}
    taken = {
        name: value
        for name, value in wanted.items()
        if value is not None and _takes(model, provider, name, value)
    }
    return {"max_tokens": settings.max_tokens, **taken}


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
    if not usage or not usage.prompt_tokens:
        return None  # litellm turns a missing usage into zeros, which would cost nothing
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    return Usage(usage.prompt_tokens, usage.completion_tokens or 0, cached)
