"""Options of each task, for the command line, flows and tests (spec 2.1 to 2.3). Links call no model."""

import itertools
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gigamind.choices import UnanswerableMode
from gigamind.evaluation.options import CacheOptions, ContextOptions, EvalOptions, ModelRunOptions
from gigamind.i18n import _
from gigamind.loading import names_in
from gigamind.retrieval.settings import (
    DEFAULT_ALPHA,
    DEFAULT_CHUNK_CHARS,
    DEFAULT_EMBEDDER,
    DEFAULT_TITLE_WEIGHT,
    FusionName,
    Mode,
    RetrievalSettings,
)
from gigamind.systems.settings import BUILTIN, SystemName, SystemOptions, shown_system

_EMBEDDER = _(
    "embedding model: use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>"
)
_Embedder = Annotated[str, Field(description=_EMBEDDER)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Weight = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
_Chars = Annotated[int, Field(ge=100, le=8_000)]
_CONCURRENCY = 4  # default in the specification


class _TaskOptions(EvalOptions):
    """Options of a task that gigamind or another system does."""

    of_systems: ClassVar[tuple[str, ...]]  # options of another system; not in run.json without one
    of_engine: ClassVar[tuple[str, ...]] = ()  # of gigamind; null in run.json of another system

    @property
    def named_system(self) -> SystemOptions:
        given = dict[str, Any](self)
        system = BUILTIN if given["system"] is None else given["system"]
        return SystemOptions(system, given.get("system_config"), given.get("timeout_ms", 0))

    @property
    def is_builtin(self) -> bool:
        return self.named_system.system == BUILTIN

    def for_report(self) -> dict[str, object]:
        shown = super().for_report()
        if self.is_builtin:
            return {name: value for name, value in shown.items() if name not in self.of_systems}
        shown["system"] = shown_system(self.named_system.system)
        return shown | dict.fromkeys(self.of_engine)

    def in_any_folder(self) -> Self:
        return super().in_any_folder().model_copy(update=self.named_system.in_any_folder)


_DAY_MS = 86_400_000


class SearchEvalOptions(_TaskOptions, ModelRunOptions, ContextOptions):
    """All options of a search evaluation. Paths are relative to the working directory."""

    of_systems = ("system", "system_config", "system_name")
    of_engine = (
        *("mode", "fusion", "alpha", "title_weight", "chunk_chars", "graph_rerank", "rerank"),
        *("cold_start", "embedder", "embedding_api_base", "qdrant_url"),
    )

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
        description="request and response format of an HTTP system, a preset or a TOML file (default: plain)",
        examples=names_in("systems"),
    )
    system_name: SystemName = None
    warmup: int = Field(10, ge=0, description="warm-up queries before latency is measured")
    timeout_ms: int = Field(
        15_000, ge=1, le=_DAY_MS, description="time limit per query in milliseconds"
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
        description="how often some queries are repeated beside a fixed reference computation, so that gates can"
        " compare speed; 0 turns this off",
    )
    mode: Mode = Field("hybrid", description="search mode: keyword, semantic, or both (hybrid)")
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
        description="judge of unanswerable queries, by the top score (threshold), the best answer score (answer_score),"
        " all signals (calibrated), or a language model (llm)",
    )
    judge_forecast: bool = Field(
        default=False,
        description="forecast the errors of the free judges with headings of the notes (once, 4 to 18 s of CPU per 100"
        " notes). Automatic with 1 to 19 unanswerable queries and at most 200 notes",
    )
    fusion: FusionName = Field(
        "weighted",
        description="how hybrid mode combines keyword and semantic scores: weighted by --alpha, or balanced by how well"
        " each retriever separates its results",
    )
    alpha: _Share = Field(
        DEFAULT_ALPHA, description="weight of the semantic score in weighted fusion, 0 to 1"
    )
    title_weight: _Weight = Field(
        DEFAULT_TITLE_WEIGHT,
        description="with balanced fusion, score added if the query contains a note's whole title, in cosine units",
    )
    chunk_chars: int = Field(
        DEFAULT_CHUNK_CHARS,
        ge=100,
        le=8_000,
        description="approximate length, in characters, of the chunks into which notes are split; each length needs its"
        " own index",
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
    embedder: _Embedder = DEFAULT_EMBEDDER
    embedding_api_base: str | None = Field(
        None, description="base URL of the server for litellm embedding models"
    )
    qdrant_url: str | None = Field(
        None,
        description="URL of a Qdrant server to search with, API key in $QDRANT_API_KEY (default: search in the gigamind"
        " process)",
    )

    @property
    def concurrency(self) -> int:
        """The number of concurrent queries; 1 if they would only wait for each other."""
        alone = self.is_builtin and not self.qdrant_url and not self.retrieval.bills
        return self.max_concurrency or (1 if alone else _CONCURRENCY)

    @property
    def retrieval(self) -> RetrievalSettings:
        names = (field.name for field in fields(RetrievalSettings))
        return RetrievalSettings(**{name: getattr(self, name) for name in names})


class AnswerEvalOptions(_TaskOptions, ModelRunOptions, ContextOptions):
    """All options of an answer evaluation. Paths are relative to the working directory."""

    of_systems = ("system", "system_config", "system_name", "timeout_ms", "max_concurrency")

    task: Literal["answers"] = Field("answers", description="task to evaluate")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(
        description="dataset, one JSON object per line: answers; or queries with --answer-model; or questions or"
        " queries with --system"
    )
    notes: Path | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  rows may hold their notes
        None,
        description="vault with the context notes; not needed if the dataset rows or the system provide their text",
    )
    system: str | None = Field(
        None,
        description="answering system: run:FILE, http(s)://..., command:PROGRAM ... or python:MODULE:FUNCTION (default:"
        " the answers in the dataset)",
    )
    system_config: str | None = Field(
        None,
        description="request and response format of an HTTP system, a preset or a TOML file (default: plain)",
        examples=names_in("systems/answers"),
    )
    system_name: SystemName = None
    timeout_ms: int = Field(
        120_000, ge=1, le=_DAY_MS, description="time limit per answer of the system in milliseconds"
    )
    max_concurrency: int = Field(
        4,
        ge=1,
        le=256,
        description="maximum number of questions to send to the system at the same time",
    )
    repeats: int = Field(
        1,
        ge=1,
        le=100,
        description="answers of the system or --answer-model to each question; 2 or more measure how much they vary",
    )
    answer_model: str | None = Field(
        None,
        description="model that first answers the queries from the retrieved notes; its answers are then evaluated",
    )
    answer_api_base: str | None = Field(
        None, description="base URL of the answering model's server (default: --api-base)"
    )
    answer_max_tokens: int = Field(
        1_024, ge=64, le=64_000, description="maximum tokens in each answer of the --answer-model"
    )
    mode: Mode = Field(
        "hybrid",
        description="with --answer-model, search mode: keyword, semantic, or both (hybrid)",
    )
    fusion: FusionName = Field(
        "weighted",
        description="with --answer-model, how hybrid mode combines keyword and semantic scores: weighted or balanced",
    )
    embedder: _Embedder = DEFAULT_EMBEDDER
    checklist: bool = Field(
        default=False,
        description="also check each answer against the quality checklist; one more request per answer",
    )
    feature: str = Field(
        "search_qa", description="with --checklist, name of the feature whose checklist is used"
    )
    checklist_judge: Path | None = Field(
        None,
        description="with --checklist, checklist file to use instead of the default; see judges/README.md",
    )

    def for_report(self) -> dict[str, object]:
        shown = super().for_report()
        if self.repeats == 1:
            del shown["repeats"]
        return shown

    @property
    def retrieval(self) -> RetrievalSettings:
        return self.searched_by(self.mode, self.fusion, self.embedder, self.cache)

    def for_answering(self) -> ModelRunOptions:
        """Return the options of the model that answers; its requests are not repeated."""
        shared = {name: getattr(self, name) for name in ModelRunOptions.model_fields}
        own = {"model": self.answer_model, "api_base": self.answer_api_base or self.api_base}
        return ModelRunOptions.model_validate(shared | own | {"fresh_fraction": 0.0})


class LinkEvalOptions(_TaskOptions, CacheOptions):
    """All options of a link evaluation. Paths are relative to the working directory."""

    of_systems = ("system", "allow_partial")
    of_engine = ("semantic", "embedder", "context_chars")

    task: Literal["links"] = Field("links", description="task to evaluate")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(description="expected links, one JSON object per line")
    notes: Path = Field(
        description="copy of the vault without the expected links, written by generate-links"
    )
    system: str | None = Field(
        None,
        description="system that suggests links: run:FILE reads another tool's suggestions from a file (default:"
        " gigamind)",
    )
    allow_partial: bool = Field(
        default=False,
        description="exit with code 0 even if notes are missing from the run file of --system",
    )
    topk: int = Field(5, ge=1, le=1_000, description="maximum number of suggestions per note")
    min_confidence: _Share = Field(
        0.0, description="leave out suggestions whose confidence (0 to 1) is below this value"
    )
    context_chars: int = Field(
        400,
        ge=1,
        description="number of characters around an anchor (the words to link) that are compared with a note",
    )
    semantic: bool = Field(
        default=True,
        description="also suggest links for phrases that refer to a note without using its name",
    )
    embedder: _Embedder = DEFAULT_EMBEDDER
    exclude_linked: bool = Field(
        default=False,
        description="do not suggest a target that the note already links to at another place",
    )


_Value = TypeVar("_Value")


def _split(given: object) -> object:
    values = cast("Sequence[object]", (given,) if isinstance(given, str) else given)
    parts = (value.split(",") if isinstance(value, str) else (value,) for value in values)
    return tuple(
        part.strip() if isinstance(part, str) else part for pieces in parts for part in pieces
    )


_Several = Annotated[tuple[_Value, ...], BeforeValidator(_split)]


AnyOptions = SearchEvalOptions | LinkEvalOptions | AnswerEvalOptions


class GridOptions(BaseModel):
    """The axes of a grid. The description of each axis has its default values."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    metric: str | None = Field(
        None,
        description="metric by which the settings are compared: ndcg_at_10, mrr, hit_at_1, ... (default: ndcg_at_10)",
    )
    modes: _Several[Mode] = Field(
        (),
        description="search modes to compare: keyword, semantic, hybrid; comma-separated or repeated (default: all)",
    )
    fusions: _Several[FusionName] = Field(
        (),
        description="fusion methods to compare in hybrid mode: weighted, balanced (default: both)",
    )
    alphas: _Several[_Share] = Field(
        (),
        description="weights of the semantic score to compare in weighted fusion, 0 to 1 (default: 0.1,0.2, ... 0.9)",
    )
    graph_reranks: _Several[Literal["off", "on"]] = Field(
        (), description="reranking with the link graph: compare off, on, or both (default: both)"
    )
    reranks: _Several[str] = Field(
        (),
        description="rerankers to compare: off, fastembed:<model or folder> (default: the value of --rerank)",
    )
    title_weights: _Several[_Weight] = Field(
        (),
        description="title weights to compare in balanced fusion (default: the value of --title-weight)",
    )
    chunk_sizes: _Several[_Chars] = Field(
        (),
        description="chunk lengths in characters to compare; each needs its own index (default: the value of"
        " --chunk-chars)",
    )
    embedders: _Several[str] = Field(
        (),
        description="embedding models to compare; each needs its own index (default: the value of --embedder)",
    )

    def around(self, current: RetrievalSettings) -> list[RetrievalSettings]:
        """Return every setting once: the current one first, then those that differ least from it."""
        current = _normalised(current, current)
        axes: dict[str, Sequence[object]] = {
            "mode": self.modes or ("keyword", "semantic", "hybrid"),
            "fusion": self.fusions or ("weighted", "balanced"),
            "alpha": self.alphas or [tenths / 10 for tenths in range(1, 10)],
            "graph_rerank": [rerank == "on" for rerank in self.graph_reranks or ("off", "on")],
            "rerank": [None if name == "off" else name for name in self.reranks]
            or (current.rerank,),
            "title_weight": self.title_weights or (current.title_weight,),
            "chunk_chars": self.chunk_sizes or (current.chunk_chars,),
            "embedder": self.embedders or (current.embedder,),
        }
        spanned = (
            dict[str, Any](zip(axes, values, strict=True))
            for values in itertools.product(*axes.values())
        )
        settings = dict.fromkeys(_normalised(replace(current, **own), current) for own in spanned)
        return sorted({current: None} | settings, key=lambda setting: _changes(setting, current))


def _normalised(settings: RetrievalSettings, current: RetrievalSettings) -> RetrievalSettings:
    """Reset options that have no effect under the others, so that equivalent settings are equal."""
    if settings.mode == "keyword":
        settings = replace(settings, embedder=current.embedder)
    if settings.mode != "hybrid":
        settings = replace(settings, fusion="weighted")
    if settings.mode != "hybrid" or settings.balanced:
        settings = replace(settings, alpha=DEFAULT_ALPHA)
    return settings if settings.balanced else replace(settings, title_weight=DEFAULT_TITLE_WEIGHT)


def _changes(settings: RetrievalSettings, current: RetrievalSettings) -> int:
    names = (field.name for field in fields(RetrievalSettings))
    return sum(getattr(settings, name) != getattr(current, name) for name in names)
