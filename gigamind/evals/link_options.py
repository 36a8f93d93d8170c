"""Options of a link evaluation (seed 2.1, 2.3).  No model is asked, so there is nothing to warm up or to wait for."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gigamind.evals.option_errors import validated
from gigamind.evals.option_types import SampleText


class LinkEvalOptions(BaseModel):
    """Everything a link evaluation is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: Path = Field(description="expected links, one JSON object a line")
    notes: Path = Field(description="the copy of the vault that generate-links made")
    out: Path | None = Field(None, description="folder for the results; eval/out/<time> without it")
    format: Literal["json", "md", "both"] = Field(
        "both", description="what to write the summary as"
    )
    seed: int = Field(42, ge=0, description="of sampling and of the bootstrap intervals")
    sample: SampleText | None = Field(
        None, description="evaluate only so many notes: 50, or a share: 0.2"
    )
    strict: bool = Field(
        default=False, description="stop with exit code 1 at a bad row or an identifier collision"
    )
    dry_run: bool = Field(default=False, description="check the dataset and the notes, then stop")
    notes_hash_mode: Literal["content", "mtime"] = Field(
        "content", description="hash the notes' bytes, or only their names and times"
    )
    topk: int = Field(5, ge=1, le=1_000, description="suggestions a note")
    min_confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.0, description="leave out suggestions that are less sure"
    )
    context_chars: int = Field(400, ge=0, description="text around an anchor in per_item.jsonl")
    exclude_linked: bool = Field(
        default=False, description="leave out targets that the note links to elsewhere"
    )


def read_link_options(values: dict[str, object]) -> LinkEvalOptions:
    """The options in `values`, by field name.

    Raises:
        InputError: names every option that cannot be, its value and what it must be.
    """
    return validated(LinkEvalOptions, values)
