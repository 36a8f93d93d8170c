"""Options of a search evaluation: one model for the command line, the flow and the tests (seed 2.1, 2.2)."""

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
"""Options that only gigamind's own engine has; null in run.json where another system searched."""

_CONCURRENCY = 4  # of the seed


@dataclass(frozen=True, slots=True)
class Pace:
    """How queries are run; see the options of the same names."""

    warmup: int
    timeout_ms: int
    max_concurrency: int


class SearchEvalOptions(EvalOptions, ModelRunOptions, ContextOptions):
    """Everything a search evaluation is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: Literal["search"] = Field("search", description="what is evaluated")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(description="queries, one JSON object a line")
    notes: Path | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  a run file has names
        None, description="the vault: a folder of Markdown notes; another --system needs none"
    )
    system: str = Field(
        "builtin",
        description="what searches: builtin, run:FILE, http(s)://..., command:PROGRAM ... or python:MODULE:FUNCTION",
    )
    system_config: str | None = Field(
        None,
        description="how an http system is asked and read: plain, gigamind, qdrant, opensearch, meilisearch, typesense,"
        " or a TOML file; plain without it",
    )
    system_name: SystemName = None
    warmup: int = Field(10, ge=0, description="queries run before the clock starts")
    timeout_ms: int = Field(
        15_000, ge=1, le=DAY_MS, description="time limit of one query, in milliseconds"
    )
    max_concurrency: int | None = Field(
        None,
        ge=1,
        le=256,
        description="queries at a time; without it one where gigamind searches in its own process, and 4 elsewhere",
    )
    speed_passes: int = Field(
        8,
        ge=0,
        le=100,
        description="passes over some queries, beside a fixed load, by which gates hold speed; 0: none",
    )
    mode: Mode = Field("hybrid", description="which legs search")
    topk: int = Field(10, ge=1, le=1_000, description="length of a ranking")
    evidence_notes: int = Field(
        3, ge=1, le=1_000, description="the evidence of so many first notes counts in span metrics"
    )
    min_score: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        None,
        description="a Top-1 with a base score below this means: unanswerable; 0.3 without it, or what --judge says;"
        " from 0 to 1, of another --system on its own scale",
    )
    unanswerable_mode: UnanswerableMode = Field(
        "threshold",
        description="which judge decides what is unanswerable: one score, another one, all signals, or a model",
    )
    fusion: FusionName = Field(
        "weighted",
        description="how hybrid mode joins its legs: by --alpha, or balanced, as much as each leg tells",
    )
    alpha: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        DEFAULT_ALPHA, description="share of the semantic score in weighted hybrid mode"
    )
    title_weight: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = Field(
        DEFAULT_TITLE_WEIGHT,
        description="what balanced fusion adds where a query holds a note's whole title, in points of cosine",
    )
    chunk_chars: int = Field(
        DEFAULT_CHUNK_CHARS,
        ge=100,
        le=8_000,
        description="about how long the pieces of notes are that are indexed; another length is another index",
    )
    graph_rerank: bool = Field(default=False, description="let the link graph change the order")
    cold_start: bool = Field(default=False, description="use no cache, and measure the whole start")
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>",
    )
    embedding_api_base: str | None = Field(None, description="address of the litellm provider")
    qdrant_url: str | None = Field(
        None,
        description="a Qdrant server (key: $QDRANT_API_KEY); without it the engine runs in-process",
    )

    def for_report(self) -> dict[str, object]:
        """The options as run.json shows them: JSON values, without a password in an address."""
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
        """The part that opening another search is told."""
        return SystemOptions(self.system, self.system_config, self.timeout_ms)

    @property
    def pace(self) -> Pace:
        """The part that running is told.

        In one process queries only wait for each other: four at a time end no sooner, and each would be told to have
        taken four times as long.
        """
        alone = self.is_builtin and not self.qdrant_url and not self.retrieval.bills
        concurrency = self.max_concurrency or (1 if alone else _CONCURRENCY)
        return Pace(self.warmup, self.timeout_ms, concurrency)

    @property
    def retrieval(self) -> RetrievalSettings:
        """The part that retrieval is told."""
        names = (field.name for field in fields(RetrievalSettings))
        return RetrievalSettings(**{name: getattr(self, name) for name in names})
