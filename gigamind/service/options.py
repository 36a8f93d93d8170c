"""What the service is told when it starts."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from gigamind.choices import PromptLanguage
from gigamind.evaluation.options import CacheOptions, ContextOptions
from gigamind.llm.options import ModelOptions
from gigamind.retrieval.settings import (
    DEFAULT_EMBEDDER,
    FusionName,
    Mode,
    RetrievalSettings,
)

LIKE_THE_ANSWER = "the model that answers"


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class ServiceOptions(ModelOptions, ContextOptions, CacheOptions):
    """Everything that the service is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    notes: Path = Field(description="the vault: a folder of Markdown notes")
    model: str | None = Field(..., description="the model that answers, as litellm names it")  # pyright: ignore[reportGeneralTypeIssues, reportIncompatibleVariableOverride]  required here
    judge_model: str | None = Field(
        None, description=f"the model that evaluates answers; {LIKE_THE_ANSWER} without it"
    )
    host: str = Field(
        "127.0.0.1", description="address to listen on; any but loopback wants a --token"
    )
    port: int = Field(8000, ge=0, le=65_535, description="0: any that is free")
    token: Annotated[str, Field(min_length=16)] | None = Field(
        None,
        description="what a caller must send as a Bearer token; better by $GIGAMIND_SERVICE_TOKEN",
    )
    second_look: bool = Field(
        default=False,
        description="let doubtful claims be looked at once more: another request an answer",
    )
    evaluate_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        1.0, description="share of the answers that are evaluated, drawn by question and answer"
    )
    daily_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="no evaluation is begun once those of the day have cost so much"
    )
    judge: Path | None = Field(None, description="another judge file of kind search_qa")
    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto: that of the question"
    )
    mode: Mode = Field("hybrid", description="which legs search")
    fusion: FusionName = Field("weighted", description="how hybrid mode joins its legs")
    embedder: str = Field(DEFAULT_EMBEDDER, description="see `gigamind eval search --help`")
    answer_tokens: int = Field(1_024, ge=64, le=64_000, description="of one answer, at most")
    feedback: Path | None = Field(
        None, description="folder that gets what askers say of answers; off without it"
    )
    asks_per_minute: int = Field(60, ge=1, le=100_000, description="questions of one address")
    max_streams: int = Field(
        256, ge=1, le=256, description="answers at a time; more get status 503"
    )

    @model_validator(mode="after")
    def _check_open_door(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"--host {self.host}: others could ask at your cost; give a --token of 16 characters or more"
            )
        return self

    @property
    def retrieval(self) -> RetrievalSettings:
        """How notes are found."""
        return self.searched_by(self.mode, self.fusion, self.embedder, self.cache)
