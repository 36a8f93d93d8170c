"""How a model is called: the options of every command that calls one, and the settings of one model."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gigamind.choices import StoreMode
from gigamind.errors import InputError
from gigamind.i18n import _

Mode = Literal["json_schema", "tools", "md_json"]  # of instructor
DEFAULT_TIMEOUT_S = 60.0
DEFAULT_IN_FLIGHT = 16

_CUSTOM_JUDGE = _("max_tokens in your own judge file (--judge)")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model and its limits."""

    model: str  # litellm name: `openai/...`, `anthropic/...`, `gemini/...`, `ollama_chat/...`
    api_base: str | None = None  # address of another server with the provider's protocol
    key_variable: str | None = None  # None for the provider's own
    mode: Mode = "json_schema"  # `md_json` for servers without `response_format`
    temperature: float | None = 0.0  # None, or if rejected by the model: the server's default
    seed: int | None = 42  # likewise
    max_tokens: int = 768  # of an answer; doubled once when an answer is truncated
    raised_by: str = "--max-tokens"  # the option or setting that raises `max_tokens`
    timeout_s: float = DEFAULT_TIMEOUT_S  # of one attempt; longer for a slow self-hosted server
    timeout_fixed: bool = True
    attempts: int = 5  # on transport errors, including the first
    max_wait_s: float = 60.0  # longest `Retry-After`; with a longer one the request fails
    backoff_s: float = 0.5  # approximate wait before the second attempt; doubled each time
    reasks: int = 1  # how often an invalid answer is sent back to the model
    role: str = ""  # in the ledger: "answer", "unanswerable", ...
    max_in_flight: int = DEFAULT_IN_FLIGHT  # reduced on 429 and time-outs
    in_flight_fixed: bool = True  # not reduced to the measured capacity
    requests_per_minute: int | None = None  # None for no limit
    tokens_per_minute: int | None = None  # of prompt and answer; None for no limit
    deterministic: bool = False  # temperature 0 regardless of the judge file

    def spoken(
        self, temperature: float | None, max_tokens: int, raised_by: str = _CUSTOM_JUDGE
    ) -> "ModelSettings":
        """Return the settings with the parameters of a judge file or a command."""
        return replace(
            self,
            temperature=0.0 if self.deterministic else temperature,
            max_tokens=max_tokens,
            raised_by=raised_by,
        )


class Determinism(BaseModel, defer_build=True):
    """Whether two runs over the same input must give the same result (spec 000, 5)."""

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
        description="the provider's limit of requests per minute for this model, if known; gigamind does not exceed it",
    )
    tokens_per_minute: int | None = Field(
        None,
        ge=1,
        description="the provider's limit of tokens per minute for this model, if known; gigamind does not exceed it",
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
        description="cost limit in USD; gigamind sends no request whose estimated maximum cost exceeds what is left",
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
