"""The axes of a grid of search settings, and the settings that they span around the one that is."""

import itertools
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Literal, TypeVar, cast

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
    """Values that were given one by one, or several with commas between them."""
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
    """What a grid spans; an axis that is not given has the values that its description says."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    metric: str | None = Field(
        None, description="metric to optimise: ndcg_at_10, mrr, hit_at_1, ... (default: ndcg_at_10)"
    )
    modes: Several[Mode] = Field(
        (), description="keyword, semantic, hybrid; comma-separated or repeated (default: all)"
    )
    fusions: Several[FusionName] = Field((), description="weighted, balanced (default: both)")
    alphas: Several[_Share] = Field(
        (), description="weights of the semantic score (default: 0.1,0.2, ... 0.9)"
    )
    graph_reranks: Several[Literal["off", "on"]] = Field((), description="off, on (default: both)")
    title_weights: Several[_Weight] = Field(
        (), description="title weights in balanced fusion (default: --title-weight)"
    )
    chunk_sizes: Several[_Chars] = Field(
        (), description="chunk lengths, each with its own index (default: --chunk-chars)"
    )
    embedders: Several[str] = Field(
        (), description="embedding models, each with its own index (default: --embedder)"
    )

    def around(self, as_is: RetrievalSettings) -> list[RetrievalSettings]:
        """Every setting once, as-is first, then those that change least of it."""
        as_is = _plain(as_is, as_is)
        spanned = itertools.product(
            self.modes or ("keyword", "semantic", "hybrid"),
            self.fusions or ("weighted", "balanced"),
            self.alphas or [tenths / 10 for tenths in range(1, 10)],
            self.graph_reranks or ("off", "on"),
            self.title_weights or (as_is.title_weight,),
            self.chunk_sizes or (as_is.chunk_chars,),
            self.embedders or (as_is.embedder,),
        )
        settings = dict.fromkeys(
            _plain(
                replace(
                    as_is,
                    mode=mode,
                    fusion=fusion,
                    alpha=alpha,
                    graph_rerank=moved == "on",
                    title_weight=weight,
                    chunk_chars=chars,
                    embedder=embedder,
                ),
                as_is,
            )
            for mode, fusion, alpha, moved, weight, chars, embedder in spanned
        )
        return sorted({as_is: None} | settings, key=lambda setting: _changes(setting, as_is))


def _plain(settings: RetrievalSettings, as_is: RetrievalSettings) -> RetrievalSettings:
    """With options at their default that have no part under the others: equal settings are then equal."""
    if settings.mode == "keyword":
        settings = replace(settings, embedder=as_is.embedder)
    if settings.mode != "hybrid":
        settings = replace(settings, fusion="weighted")
    if settings.mode != "hybrid" or settings.balanced:
        settings = replace(settings, alpha=DEFAULT_ALPHA)
    return settings if settings.balanced else replace(settings, title_weight=DEFAULT_TITLE_WEIGHT)


def _changes(settings: RetrievalSettings, as_is: RetrievalSettings) -> int:
    names = (field.name for field in fields(RetrievalSettings))
    return sum(getattr(settings, name) != getattr(as_is, name) for name in names)
