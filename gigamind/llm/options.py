"""Options of every command that calls a model: which model, how to reach it, and limits of its cost."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.llm.settings import (
    DEFAULT_IN_FLIGHT,
    DEFAULT_TIMEOUT_S,
    Mode,
    ModelSettings,
    StoreMode,
)


class Determinism(BaseModel):
    """Whether two runs over the same input must give the same result (seed 000, 5)."""

    deterministic: bool = Field(
        default=False,
        description=_("repeatable results: temperature 0, stored replies reused, no sampling"),
    )


class ModelOptions(Determinism):
    """Options of a model and its cost limits.  Keys are not among them: they come from the environment."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    model: str | None = Field(
        None, description="model name as in litellm: openai/..., anthropic/..., ollama_chat/..."
    )
    api_base: str | None = Field(None, description="base URL of another server with the same API")
    key_variable: str | None = Field(None, description="environment variable with the API key")
    structured: Mode = Field("json_schema", description="structured-output method")
    model_timeout_s: float | None = Field(
        None,
        ge=0.1,
        allow_inf_nan=False,
        description="time limit per request in seconds (default: 60, or measured with --api-base)",
    )
    max_wait: float = Field(
        60.0,
        ge=0,
        allow_inf_nan=False,
        description="longest wait in seconds that a server may request (Retry-After); with a longer one the item fails",
    )
    max_in_flight: int | None = Field(
        None,
        ge=1,
        le=256,
        description="concurrent requests (default: 16, or measured with --api-base)",
    )
    requests_per_minute: int | None = Field(
        None, ge=1, description="rate limit of the provider, if known"
    )
    tokens_per_minute: int | None = Field(
        None, ge=1, description="rate limit of the provider, if known"
    )
    prices: Path | None = Field(
        None,
        description='TOML file of prices: [models."NAME"] with prompt, completion and cached in USD per million tokens',
    )
    max_cost_usd: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="cost limit in USD; requests that could exceed it are not sent",
    )
    max_calls: int | None = Field(
        None, ge=0, description="limit on the number of requests, failed ones included"
    )
    max_minutes: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="stop sending requests after this many minutes"
    )
    store: Path | None = Field(
        None,
        description="folder of stored model replies, so that no reply is paid for twice (default: in the cache "
        "folder)",
    )
    store_mode: StoreMode = Field(
        "readwrite",
        description="readwrite reuses and stores replies, refresh requests all again, replay sends no requests, off "
        "stores nothing",
    )

    @model_validator(mode="after")
    def _check_store(self) -> Self:
        if self.deterministic and self.store_mode in {"off", "refresh"}:
            message = _(
                "--deterministic: --store-mode {mode} requests new replies, which can differ. Use readwrite or"
                " replay.",
                mode=self.store_mode,
            )
            raise ValueError(message)
        return self

    def settings(self, model: str | None = None) -> ModelSettings:
        """Return the settings of the given model or that of the options; raise InputError if none is named."""
        name = model or self.model
        if name is None:
            raise InputError(_("--model: required, for example --model openai/gpt-4o-mini"))
        return ModelSettings(
            name,
            api_base=self.api_base,
            key_variable=self.key_variable,
            mode=self.structured,
            timeout_s=self.model_timeout_s or DEFAULT_TIMEOUT_S,
            timeout_fixed=self.model_timeout_s is not None,
            max_wait_s=self.max_wait,
            max_in_flight=self.max_in_flight or DEFAULT_IN_FLIGHT,
            in_flight_fixed=self.max_in_flight is not None,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            deterministic=self.deterministic,
        )
