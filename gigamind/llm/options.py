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
        description=_(
            "make results repeatable: temperature 0, stored replies are reused, no random sample of items"
        ),
    )


class ModelOptions(Determinism):
    """Options of a model and its cost limits.  Keys are not among them: they come from the environment."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    model: str | None = Field(
        None, description="model name as in litellm: openai/..., anthropic/..., ollama_chat/..."
    )
    api_base: str | None = Field(
        None,
        description="base URL of the model server, if it is not the provider's own, for example http://localhost:8000/v1",
    )
    key_variable: str | None = Field(
        None, description="name of the environment variable that contains the API key"
    )
    structured: Mode = Field(
        "json_schema",
        description=(
            "how gigamind gets JSON replies from the model: json_schema uses the server's structured output, tools a"
            " tool call, md_json only the prompt"
        ),
    )
    model_timeout_s: float | None = Field(
        None,
        ge=0.1,
        allow_inf_nan=False,
        description=(
            "time limit per request in seconds (default: 60; with --api-base, more if the measured server"
            " is slow)"
        ),
    )
    max_wait: float = Field(
        60.0,
        ge=0,
        allow_inf_nan=False,
        description=(
            "longest wait in seconds that gigamind accepts from a server (Retry-After); if the server requests"
            " more, the item fails"
        ),
    )
    max_in_flight: int | None = Field(
        None,
        ge=1,
        le=256,
        description=(
            "maximum number of requests at the same time (default: 16; with --api-base, fewer if the measured"
            " server is slow)"
        ),
    )
    requests_per_minute: int | None = Field(
        None,
        ge=1,
        description="the provider's limit per minute for this model, if you know it; gigamind does not exceed it",
    )
    tokens_per_minute: int | None = Field(
        None,
        ge=1,
        description="the provider's limit per minute for this model, if you know it; gigamind does not exceed it",
    )
    prices: Path | None = Field(
        None,
        description=(
            'TOML file with model prices: in the table [models."NAME"], prompt, completion and cached in USD per'
            " million tokens"
        ),
    )
    max_cost_usd: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="cost limit in USD; gigamind sends no request that could exceed the limit",
    )
    max_calls: int | None = Field(
        None, ge=0, description="maximum number of requests to the model; failed requests count too"
    )
    max_minutes: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="stop sending requests to the model after this many minutes",
    )
    store: Path | None = Field(
        None,
        description=(
            "folder that stores model replies for reuse, so that you pay for each only once (default: in the cache"
            " folder)"
        ),
    )
    store_mode: StoreMode = Field(
        "readwrite",
        description=(
            "readwrite reuses stored replies and stores new ones; refresh requests and stores all again; replay"
            " only reuses, without any request; off neither stores nor reuses"
        ),
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
