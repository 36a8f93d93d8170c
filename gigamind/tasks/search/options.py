"""Options of a search evaluation, for the command line, the flow and the tests (seed 2.1, 2.2)."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field

from gigamind.choices import UnanswerableMode
from gigamind.evaluation.options import ContextOptions, EvalOptions, ModelRunOptions
from gigamind.redaction import without_secrets
from gigamind.retrieval import settings
from gigamind.systems.settings import BUILTIN, DAY_MS, SystemName, SystemOptions, shown_system

_OF_SYSTEMS = ("system", "system_config", "system_name")
OF_ENGINE = (
    *(
        "mode",
        "fusion",
        "alpha",
        "title_weight",
        "chunk_chars",
        "graph_rerank",
        "rerank",
        "cold_start",
    ),
    *("embedder", "embedding_api_base", "qdrant_url"),
)
"""Options of gigamind's own engine; null in run.json when another system searched."""

_CONCURRENCY = 4  # default of the seed


class SearchEvalOptions(EvalOptions, ModelRunOptions, ContextOptions):
    """All options of a search evaluation. Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: Literal["search"] = Field("search", description="task to evaluate")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(description="queries, one JSON object per line")
    notes: Path | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  a run file has names
        None, description="the vault (folder of Markdown notes); optional with another --system"
    )
    system: str = Field(
        "builtin",
        description="search system: builtin, run:FILE, http(s)://..., command:PROGRAM ... or python:MODULE:FUNCTION",
    )
    system_config: str | None = Field(
        None,
        description="request and response format of an HTTP system: plain, gigamind, qdrant, opensearch, meilisearch, "
        "typesense or a TOML file (default: plain)",
    )
    system_name: SystemName = None
    warmup: int = Field(10, ge=0, description="warm-up queries before latency is measured")
    timeout_ms: int = Field(
        15_000, ge=1, le=DAY_MS, description="time limit per query in milliseconds"
    )
    max_concurrency: int | None = Field(
        None,
        ge=1,
        le=256,
        description="concurrent queries (default: 1 for search in the gigamind process, otherwise 4)",
    )
    speed_passes: int = Field(
        8,
        ge=0,
        le=100,
        description=(
            "how often some queries are repeated beside a fixed reference computation, so that gates can compare"
            " speed; 0 turns this off"
        ),
    )
    mode: settings.Mode = Field(
        "hybrid", description="search mode: keyword, semantic, or both (hybrid)"
    )
    topk: int = Field(
        10, ge=1, le=1_000, description="maximum number of notes in the ranking of each query"
    )
    evidence_notes: int = Field(
        3,
        ge=1,
        le=1_000,
        description="number of top notes whose evidence counts in span precision and span recall",
    )
    min_score: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        None,
        description="treat a query as unanswerable if the top note's base score is below this (default: 0.3, or the "
        "value in --judge); 0 to 1, or the scale of another --system",
    )
    unanswerable_mode: UnanswerableMode = Field(
        "threshold",
        description=(
            "judge of unanswerable queries, by the top score (threshold), the best answer score (answer_score),"
            " all signals (calibrated), or a language model (llm)"
        ),
    )
    judge_forecast: bool = Field(
        default=False,
        description=(
            "forecast the errors of the free judges with headings of the notes (once, 4 to 18 s of CPU per 100 notes)."
            " Automatic with 1 to 19 unanswerable queries and at most 200 notes"
        ),
    )
    fusion: settings.FusionName = Field(
        "weighted",
        description=(
            "how hybrid mode combines keyword and semantic scores: weighted by --alpha, or balanced by how well"
            " each retriever separates its results"
        ),
    )
    alpha: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        settings.DEFAULT_ALPHA,
        description="weight of the semantic score in weighted fusion, 0 to 1",
    )
    title_weight: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = Field(
        settings.DEFAULT_TITLE_WEIGHT,
        description="with balanced fusion, score added if the query contains a note's whole title, in cosine units",
    )
    chunk_chars: int = Field(
        settings.DEFAULT_CHUNK_CHARS,
        ge=100,
        le=8_000,
        description=(
            "approximate length, in characters, of the chunks into which notes are split; each length needs its"
            " own index"
        ),
    )
    graph_rerank: bool = Field(
        default=False, description="rerank the results with the links between notes"
    )
    rerank: str | None = Field(
        None,
        description="cross-encoder that sorts the --topk notes again: fastembed:<model or folder>; its score is the"
        " score of --min-score",
    )
    cold_start: bool = Field(
        default=False, description="ignore caches, so that the time of a full start-up is measured"
    )
    embedder: str = Field(
        settings.DEFAULT_EMBEDDER,
        description="embedding model: use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>",
    )
    embedding_api_base: str | None = Field(
        None, description="base URL of the server for litellm embedding models"
    )
    qdrant_url: str | None = Field(
        None,
        description=(
            "URL of a Qdrant server to search with, API key in $QDRANT_API_KEY (default: search in the gigamind"
            " process)"
        ),
    )

    def for_report(self) -> dict[str, object]:
        shown = super().for_report()
        for name in ("api_base", "embedding_api_base", "qdrant_url"):
            if isinstance(address := shown[name], str):
                shown[name] = without_secrets(address)
        if self.is_builtin:
            return {name: value for name, value in shown.items() if name not in _OF_SYSTEMS}
        shown["system"] = shown_system(self.system)
        return shown | dict.fromkeys(OF_ENGINE)

    def in_any_folder(self) -> Self:
        return super().in_any_folder().model_copy(update=self.named_system.in_any_folder)

    @property
    def is_builtin(self) -> bool:
        return self.system == BUILTIN

    @property
    def named_system(self) -> SystemOptions:
        return SystemOptions(self.system, self.system_config, self.timeout_ms)

    @property
    def concurrency(self) -> int:
        """The number of concurrent queries; 1 if they would only wait for each other."""
        alone = self.is_builtin and not self.qdrant_url and not self.retrieval.bills
        return self.max_concurrency or (1 if alone else _CONCURRENCY)

    @property
    def retrieval(self) -> settings.RetrievalSettings:
        names = (field.name for field in fields(settings.RetrievalSettings))
        return settings.RetrievalSettings(**{name: getattr(self, name) for name in names})
