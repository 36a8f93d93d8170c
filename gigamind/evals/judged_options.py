"""Options of evaluations that a model judges: which judge, and what becomes of a run that is stopped."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from gigamind.evals.run_options import EvalOptions
from gigamind.llm.options import ModelOptions


class JudgedOptions(EvalOptions, ModelOptions):
    """What an evaluation is told whose judge may ask a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: Path | None = Field(None, description="another judge file; see judges/README.md")
    judge_lang: Literal["auto", "ko", "en"] = Field(
        "auto", description="language of the judge's prompt; auto: that of the item"
    )
    fresh_fraction: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.0, description="share of the items that the model judges a second time, to see what flips"
    )
    resume: Path | None = Field(
        None, description="continue the run that was to write this out folder and was stopped"
    )
    allow_partial: bool = Field(
        default=False, description="exit code 0 even if the budget left items unjudged"
    )
