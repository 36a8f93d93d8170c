"""How a model is called: its name, its parameters, and how much of it at once."""

from dataclasses import dataclass, replace
from typing import Literal

Mode = Literal["json_schema", "md_json"]
StoreMode = Literal["off", "readwrite", "refresh", "replay"]  # see `store.Store`
DEFAULT_TIMEOUT_S = 60.0
DEFAULT_IN_FLIGHT = 16


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model and its limits.

    Attributes:
        model: as litellm names it: `openai/...`, `anthropic/...`, `gemini/...`, `ollama_chat/...`, `hosted_vllm/...`.
        api_base: address of another server that speaks the provider's protocol.
        key_variable: the environment variable with the key; None for the provider's own.
        mode: `md_json` for servers that know no `response_format`.
        temperature: None leaves the server's own; so does a model that refuses it.
        seed: the same.
        max_tokens: of an answer; doubled once when an answer is cut off.
        raised_by: what a person raises them by.
        timeout_s: of one attempt; unless `timeout_fixed`, longer ones where a server of one's own is slow.
        attempts: of one request, as long as the transport fails, the first included.
        max_wait_s: as long a server may ask to wait (`Retry-After`); asked for longer, the request fails.
        backoff_s: wait before the second attempt, about; doubled each time.
        reasks: how often an answer that fails validation is sent back to the model.
        role: what the model is asked for, as the account names it: "answer", "unanswerable", ...
        max_in_flight: requests at the same time; fewer while the server answers 429 or not at all; unless
            `in_flight_fixed`, no more than a server of one's own was seen to compute.
        requests_per_minute: None for any number.
        tokens_per_minute: prompt and answer together; None for any number.
        deterministic: temperature 0, whatever a judge file asks for.
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
        self,
        temperature: float | None,
        max_tokens: int,
        raised_by: str = "a judge file of your own (--judge)",
    ) -> "ModelSettings":
        """The same, with the parameters that a judge file or a command asks for."""
        return replace(
            self,
            temperature=0.0 if self.deterministic else temperature,
            max_tokens=max_tokens,
            raised_by=raised_by,
        )
