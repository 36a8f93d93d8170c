"""The options of `gigamind judge certify` and its flow, and of `gigamind label`."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from gigamind.i18n import LanguageChoice


class CertifyOptions(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """The options of a certification.  Paths are relative to the working directory."""

    runs: Annotated[tuple[Path, ...], Field(min_length=1)] = Field(
        description=(
            "output folders of finished runs: first the run whose judge you certify, then repetitions of that run"
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
    out: Path | None = Field(
        None, description="new folder for the judge report (default: eval/cards/<time>)"
    )
    lang: LanguageChoice = Field(
        "auto", description="language of the judge report; auto follows LC_ALL, LC_MESSAGES or LANG"
    )
    seed: int = Field(42, description="random seed for bootstrap confidence intervals")


class LabelOptions(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """The options of a labelling session.  Paths are relative to the working directory."""

    run: Path = Field(description="output folder of a finished run")
    baseline: Path | None = Field(
        None,
        description="output folder of an earlier run over the same dataset; each item is labelled in both runs, and the"
        " figure is their difference",
    )
    labels: Path = Field(
        Path("labels.jsonl"),
        description="file of labels; it is continued if it exists. Each key press is saved at once",
    )
    annotator: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None, description="your name in the file of labels (default: the name of your account)"
    )
    count: int = Field(
        60,
        ge=2,
        description="number of answers, queries or links to label, fixed when labelling starts",
    )
    random: bool = Field(
        default=False, description="draw at random, instead of more where the judge is often wrong"
    )
    floor: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None = Field(
        None,
        description="smallest acceptable value of the figure; the page says whether it is reached at five planned"
        " numbers of labels",
    )
    add: Path | None = Field(
        None,
        description="file of labels, saved from an offline page, to add to --labels; then exit",
    )
    offline: Path | None = Field(
        None, description="write one HTML file to label without a server to this path; then exit"
    )
    port: int = Field(
        8765, ge=0, le=65_535, description="port of the page; 0 selects any free port"
    )
    lang: LanguageChoice = Field(
        "auto", description="language of the page; auto follows LC_ALL, LC_MESSAGES or LANG"
    )
    seed: int = Field(42, description="random seed for drawing items")
