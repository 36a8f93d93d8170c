"""The options of `gigamind judge certify` and of its flow."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gigamind.i18n import LanguageChoice


class CertifyOptions(BaseModel):
    """The options of a certification.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs: Annotated[tuple[Path, ...], Field(min_length=1)] = Field(
        description=(
            "output folders of finished runs: first the run whose judge you certify, then repetitions of"
            " that run"
        )
    )
    labels: Path | None = Field(
        None,
        description="JSON Lines file with human labels of the run's items (default for a search run: the labels in the"
        " dataset)",
    )
    attacks: Path | None = Field(
        None, description="JSON report of `gigamind judge attack` on the same judge"
    )
    tests: Path | None = Field(
        None, description="JSON report of `gigamind judge test` on the same judge"
    )
    out: Path | None = Field(
        None, description="new folder for the judge report (default: eval/cards/<time>)"
    )
    lang: LanguageChoice = Field(
        "auto", description="language of the judge report; auto follows LC_ALL, LC_MESSAGES or LANG"
    )
    seed: int = Field(42, description="random seed for bootstrap confidence intervals")
