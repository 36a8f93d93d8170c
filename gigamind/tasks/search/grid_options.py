"""The axes of a grid of search settings, and the settings that they span around the current one."""

import itertools
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gigamind.retrieval.settings import (
    DEFAULT_ALPHA,
    DEFAULT_TITLE_WEIGHT,
    FusionName,
    Mode,
    RetrievalSettings,
)

Value = TypeVar("Value")


def _split(given: object) -> object:
    values = cast("Sequence[object]", (given,) if isinstance(given, str) else given)
    parts = (value.split(",") if isinstance(value, str) else (value,) for value in values)
    return tuple(
        part.strip() if isinstance(part, str) else part for pieces in parts for part in pieces
    )


Several = Annotated[tuple[Value, ...], BeforeValidator(_split)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Weight = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
_Chars = Annotated[int, Field(ge=100, le=8_000)]


class GridOptions(BaseModel):
    """The axes of a grid. The description of each axis has its default values."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    metric: str | None = Field(
        None,
        description="metric by which the settings are compared: ndcg_at_10, mrr, hit_at_1, ... (default: ndcg_at_10)",
    )
    modes: Several[Mode] = Field(
        (),
        description="search modes to compare: keyword, semantic, hybrid; comma-separated or repeated (default: all)",
    )
    fusions: Several[FusionName] = Field(
        (),
        description="fusion methods to compare in hybrid mode: weighted, balanced (default: both)",
    )
    alphas: Several[_Share] = Field(
        (),
        description="weights of the semantic score to compare in weighted fusion, 0 to 1 (default: 0.1,0.2, ... 0.9)",
    )
    graph_reranks: Several[Literal["off", "on"]] = Field(
        (), description="reranking with the link graph: compare off, on, or both (default: both)"
    )
    reranks: Several[str] = Field(
        (),
        description="rerankers to compare: off, fastembed:<model or folder> (default: the value of --rerank)",
    )
    title_weights: Several[_Weight] = Field(
        (),
        description="title weights to compare in balanced fusion (default: the value of --title-weight)",
    )
    chunk_sizes: Several[_Chars] = Field(
        (),
        description="chunk lengths in characters to compare; each needs its own index (default: the value of"
        " --chunk-chars)",
    )
    embedders: Several[str] = Field(
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
