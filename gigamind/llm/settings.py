"""How a model is called: its name, its parameters and its limits."""

from dataclasses import dataclass, replace
from typing import Literal

from gigamind.i18n import _

Mode = Literal["json_schema", "tools", "md_json"]  # of instructor
StoreMode = Literal["off", "readwrite", "refresh", "replay"]  # see `store.Store`
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
