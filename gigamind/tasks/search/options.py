"""Options of a search evaluation, for the command line, the flow and the tests (seed 2.1, 2.2)."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field

from gigamind.choices import UnanswerableMode
from gigamind.evaluation.options import (
    ContextOptions,
    EvalOptions,
    ModelRunOptions,
)
from gigamind.llm.redaction import without_secrets
from gigamind.retrieval.settings import (
    DEFAULT_ALPHA,
    DEFAULT_CHUNK_CHARS,
    DEFAULT_EMBEDDER,
    DEFAULT_TITLE_WEIGHT,
    FusionName,
    Mode,
    RetrievalSettings,
)
from gigamind.systems.settings import BUILTIN, DAY_MS, SystemName, SystemOptions, shown_system

_OF_SYSTEMS = ("system", "system_config", "system_name")
OF_ENGINE = (
    *("mode", "fusion", "alpha", "title_weight", "chunk_chars", "graph_rerank", "cold_start"),
    *("embedder", "embedding_api_base", "qdrant_url"),
)
"""Options of gigamind's own engine; null in run.json when another system searched."""

_CONCURRENCY = 4  # default of the seed


@dataclass(frozen=True, slots=True)
class Pace:
    """Warm-up, timeout and concurrency of queries; see the options of the same names."""

    warmup: int
    timeout_ms: int
    max_concurrency: int


class SearchEvalOptions(EvalOptions, ModelRunOptions, ContextOptions):
    """All options of a search evaluation. Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: Literal["search"] = Field("search", description="what is evaluated")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(description="queries, one JSON object per line")
    notes: Path | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  a run file has names
        None, description="the vault: a folder of Markdown notes; optional with another --system"
    )
    system: str = Field(
        "builtin",
        description="system to evaluate: builtin, run:FILE, http(s)://..., command:PROGRAM ...,"
        " or python:MODULE:FUNCTION",
    )
    system_config: str | None = Field(
        None,
        description="request and reply format of an http system: plain, gigamind, qdrant, opensearch, meilisearch,"
        " typesense, or a TOML file (default: plain)",
    )
    system_name: SystemName = None
    warmup: int = Field(10, ge=0, description="queries to run before timing starts")
    timeout_ms: int = Field(
        15_000, ge=1, le=DAY_MS, description="time limit of one query, in milliseconds"
    )
    max_concurrency: int | None = Field(
        None,
        ge=1,
        le=256,
        description="concurrent queries (default: 1 for searches in gigamind's own process, else 4)",
    )
    speed_passes: int = Field(
        8,
        ge=0,
        le=100,
        description="passes over a sample of queries to measure speed for gates; 0 disables them",
    )
    mode: Mode = Field("hybrid", description="retrievers to use")
    topk: int = Field(10, ge=1, le=1_000, description="length of a ranking")
    evidence_notes: int = Field(
        3, ge=1, le=1_000, description="number of top notes whose evidence counts in span metrics"
    )
    min_score: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        None,
        description="Top-1 base score below which a query is judged unanswerable (default: 0.3, or the value of"
        " --judge); from 0 to 1, for another --system on its own scale",
    )
    unanswerable_mode: UnanswerableMode = Field(
        "threshold",
        description="judge of unanswerable queries: threshold (Top-1 score), answer_score, calibrated (all search"
        " signals), or llm (a model reads the notes)",
    )
    fusion: FusionName = Field(
        "weighted",
        description="fusion of hybrid mode: weighted by --alpha, or balanced by how informative each retriever is",
    )
    alpha: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        DEFAULT_ALPHA, description="weight of the semantic score in weighted hybrid mode"
    )
    title_weight: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = Field(
        DEFAULT_TITLE_WEIGHT,
        description="bonus of balanced fusion if a query contains a note's full title, in units of cosine similarity",
    )
    chunk_chars: int = Field(
        DEFAULT_CHUNK_CHARS,
        ge=100,
        le=8_000,
        description="approximate length of indexed chunks; each length builds its own index",
    )
    graph_rerank: bool = Field(default=False, description="rerank by the link graph")
    cold_start: bool = Field(default=False, description="use no cache, to measure a cold start")
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>",
    )
    embedding_api_base: str | None = Field(None, description="address of the litellm provider")
    qdrant_url: str | None = Field(
        None,
        description="address of a Qdrant server (key: $QDRANT_API_KEY); by default the engine runs in-process",
    )

    def for_report(self) -> dict[str, object]:
        """Return the options as run.json shows them, without passwords in addresses."""
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
        """Whether gigamind's own engine searches."""
        return self.system == BUILTIN

    @property
    def named_system(self) -> SystemOptions:
        """The options for opening another system."""
        return SystemOptions(self.system, self.system_config, self.timeout_ms)

    @property
    def pace(self) -> Pace:
        """The options for running queries.

        In one process, concurrent queries only wait for each other: four at a time finish no sooner, and each would
        seem to take four times as long.
        """
        alone = self.is_builtin and not self.qdrant_url and not self.retrieval.bills
        concurrency = self.max_concurrency or (1 if alone else _CONCURRENCY)
        return Pace(self.warmup, self.timeout_ms, concurrency)

    @property
    def retrieval(self) -> RetrievalSettings:
        """The options of retrieval."""
        names = (field.name for field in fields(RetrievalSettings))
        return RetrievalSettings(**{name: getattr(self, name) for name in names})
