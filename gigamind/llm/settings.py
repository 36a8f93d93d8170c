"""How a model is called: its name, its parameters and its limits."""

from dataclasses import dataclass, replace
from typing import Literal

from gigamind.i18n import _

Mode = Literal["json_schema", "md_json"]
StoreMode = Literal["off", "readwrite", "refresh", "replay"]  # see `store.Store`
DEFAULT_TIMEOUT_S = 60.0
DEFAULT_IN_FLIGHT = 16

_CUSTOM_JUDGE = _("a custom judge file (--judge)")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model and its limits.

    Attributes:
        model: litellm name: `openai/...`, `anthropic/...`, `gemini/...`, `ollama_chat/...`, `hosted_vllm/...`.
        api_base: Address of another server with the provider's protocol.
        key_variable: Environment variable with the key; None for the provider's own.
        mode: `md_json` for servers without `response_format`.
        temperature: None for the server's default, which also applies if the model rejects the parameter.
        seed: The same.
        max_tokens: Limit of an answer; doubled once when an answer is truncated.
        raised_by: The option or setting that raises `max_tokens`.
        timeout_s: Time limit of one attempt; extended for a slow self-hosted server unless `timeout_fixed`.
        attempts: Attempts of one request on transport errors, including the first.
        max_wait_s: Longest wait that a server may request (`Retry-After`); with a longer one the request fails.
        backoff_s: Approximate wait before the second attempt; doubled each time.
        reasks: How often an invalid answer is sent back to the model.
        role: Purpose of the requests, as named in the ledger: "answer", "unanswerable", ...
        max_in_flight: Concurrent requests; reduced on 429 and time-outs, and, unless `in_flight_fixed`, to the measured
            capacity of a self-hosted server.
        requests_per_minute: None for no limit.
        tokens_per_minute: Tokens of prompt and answer together; None for no limit.
        deterministic: Use temperature 0 regardless of the judge file.
    """

    model: str
    api_base: str | None = None
    key_variable: str | None = None
    mode: Mode = "json_schema"
    temperature: float | None = 0.0
    seed: int | None = 42
    max_tokens: int = 768
    raised_by: str = "--max-tokens"
    timeout_s: float = DEFAULT_TIMEOUT_S
    timeout_fixed: bool = True
    attempts: int = 5
    max_wait_s: float = 60.0
    backoff_s: float = 0.5
    reasks: int = 1
    role: str = ""
    max_in_flight: int = DEFAULT_IN_FLIGHT
    in_flight_fixed: bool = True
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    deterministic: bool = False

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
