"""Options of the service."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from gigamind.choices import PromptLanguage
from gigamind.evaluation.options import CacheOptions, ContextOptions
from gigamind.i18n import LANGUAGES, _
from gigamind.llm.client import is_loopback
from gigamind.llm.settings import ModelOptions
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, FusionName, Mode, RetrievalSettings

PAGE_LANGUAGES = (*sorted(LANGUAGES[1:], key="ko".__ne__), LANGUAGES[0])
"""Languages of the page in their order of preference: translations, Korean first, before English."""


class ServiceOptions(ModelOptions, ContextOptions, CacheOptions):
    """Options of the service.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    notes: Path = Field(description="the vault (folder of Markdown notes)")
    model: str | None = Field(
        ...,
        description="model that writes the answers, named as in litellm, for example openai/gpt-4o-mini",
    )  # pyright: ignore[reportGeneralTypeIssues, reportIncompatibleVariableOverride]  required here
    judge_model: str | None = Field(
        None, description="model that evaluates the answers (default: the --model that writes them)"
    )
    host: str = Field(
        "127.0.0.1",
        description="address at which the service accepts requests; addresses that other machines can reach require"
        " --token",
    )
    port: int = Field(
        8000, ge=0, le=65_535, description="port of the service; 0 selects any free port"
    )
    token: Annotated[str, Field(min_length=16)] | None = Field(
        None,
        description="secret that clients must send as bearer token; safer in the environment variable"
        " GIGAMIND_SERVICE_TOKEN",
    )
    second_look: bool = Field(
        default=False,
        description="let the judge check doubtful claims of an answer a second time; this usually adds one request per"
        " answer",
    )
    evaluate_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        1.0,
        description="share of answers to evaluate, from 0 (none) to 1 (all), selected by a hash of question and answer",
    )
    daily_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None,
        description="cost limit in USD per day for evaluations; above it, answers are not evaluated",
    )
    judge: Path | None = Field(
        None, description="judge file of the kind search_qa that replaces the included judge"
    )
    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto uses the question's language"
    )
    mode: Mode = Field("hybrid", description="search mode: keyword, semantic, or both (hybrid)")
    fusion: FusionName = Field(
        "weighted", description="how hybrid mode combines keyword and semantic search results"
    )
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="embedding model for semantic search; `gigamind eval search --help` explains the names",
    )
    answer_tokens: int = Field(
        1_024, ge=64, le=64_000, description="maximum length of an answer in tokens"
    )
    feedback: Path | None = Field(
        None,
        description="folder that stores users' ratings of answers and their saved questions (default: none are stored)",
    )
    asks_per_minute: int = Field(
        60,
        ge=1,
        le=100_000,
        description="maximum number of questions per minute from one client address",
    )
    max_streams: int = Field(
        256,
        ge=1,
        le=256,
        description="maximum number of answers at the same time; further questions get HTTP status 503",
    )

    @model_validator(mode="after")
    def _check_public_host(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            message = _(
                "--host {host}: other machines could use the service at your cost."
                " Add a --token of at least 16 characters.",
                host=self.host,
            )
            raise ValueError(message)
        return self

    @property
    def retrieval(self) -> RetrievalSettings:
        return self.searched_by(self.mode, self.fusion, self.embedder, self.cache)
