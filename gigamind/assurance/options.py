"""The options of `gigamind judge certify` and of its flow."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gigamind.wording import AUTO, LanguageChoice


class CertifyOptions(BaseModel):
    """The options of a certification.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs: Annotated[tuple[Path, ...], Field(min_length=1)] = Field(
        description="output folders of finished runs: the certified run, then its repetitions"
    )
    labels: Path | None = Field(
        None,
        description="JSON lines of human labels; for a search run, by default the labels of the dataset",
    )
    attacks: Path | None = Field(
        None, description="JSON report of `gigamind judge attack` on the same judge"
    )
    tests: Path | None = Field(
        None, description="JSON report of `gigamind judge test` on the same judge"
    )
    out: Path | None = Field(
        None, description="new folder for the judge report; default eval/cards/<time>"
    )
    lang: LanguageChoice = Field("auto", description=f"language of the judge report; {AUTO}")
    seed: int = Field(42, description="seed of the bootstrap intervals")
