"""Options of evaluations that may ask a model: by which judge, and what becomes of a run that was stopped."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from gigamind.errors import InputError
from gigamind.judges.spec import PromptLanguage
from gigamind.llm.options import ModelOptions
from gigamind.retrieval.cache import default_cache_folder


class ModelRunOptions(ModelOptions):
    """What every evaluation by a model is told."""

    judge: Path | None = Field(
        None, description="another judge file, of any kind; see judges/README.md"
    )
    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto: that of the item"
    )
    fresh_fraction: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.0, description="share of the items that the model judges a second time, to see what flips"
    )
    resume: Path | None = Field(
        None, description="continue the run that was to write this out folder and was stopped"
    )
    allow_partial: bool = Field(
        default=False,
        description="exit code 0 however many items were left unjudged",
    )
    min_coverage: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        0.8,
        description="share of the items that must have a verdict; with fewer the exit code is 3",
    )
    cache_dir: Path | None = Field(
        None,
        description="folder of vectors, indexes and answers; the user's cache folder without it",
    )

    @property
    def cache(self) -> Path:
        """Folder of what later runs may use again."""
        return self.cache_dir or default_cache_folder()

    @property
    def replies(self) -> Path:
        """Folder of the answers of models."""
        return self.store or self.cache / "replies"

    def written_to(self, out: Path | None) -> Path | None:
        """The out folder that is asked for; None for one named by the time.

        Raises:
            InputError: a resumed run is to be written elsewhere.
        """
        if self.resume and out not in {None, self.resume}:
            raise InputError("--out: a resumed run is written where --resume says; leave it out")
        return self.resume or out
