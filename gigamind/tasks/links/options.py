"""Options of a link evaluation (seed 2.1, 2.3). It calls no model, so it has no warm-up or timeouts."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field

from gigamind.evaluation.options import CacheOptions, EvalOptions
from gigamind.retrieval.settings import DEFAULT_EMBEDDER
from gigamind.systems.settings import SystemOptions, shown_system

OF_OWN = ("semantic", "embedder", "context_chars")
"""Options of gigamind's own suggester; null in run.json when another tool made the suggestions."""
_OF_SYSTEMS = ("system", "allow_partial")


class LinkEvalOptions(EvalOptions, CacheOptions):
    """All options of a link evaluation. Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    task: Literal["links"] = Field("links", description="task to evaluate")  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    dataset: Path = Field(description="expected links, one JSON object per line")
    notes: Path = Field(
        description="copy of the vault without the expected links, written by generate-links"
    )
    system: str | None = Field(
        None,
        description=(
            "system that suggests links: run:FILE reads another tool's suggestions from a file (default:"
            " gigamind)"
        ),
    )
    allow_partial: bool = Field(
        default=False,
        description="exit with code 0 even if notes are missing from the run file of --system",
    )
    topk: int = Field(5, ge=1, le=1_000, description="maximum number of suggestions per note")
    min_confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
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
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="embedding model: use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>",
    )
    exclude_linked: bool = Field(
        default=False,
        description="do not suggest a target that the note already links to at another place",
    )

    def for_report(self) -> dict[str, object]:
        shown = super().for_report()
        if self.system is None:
            return {name: value for name, value in shown.items() if name not in _OF_SYSTEMS}
        return shown | {"system": shown_system(self.system)} | dict.fromkeys(OF_OWN)

    def in_any_folder(self) -> Self:
        placed = SystemOptions(self.system, None, 0).in_any_folder if self.system else {}
        return super().in_any_folder().model_copy(update=placed)
