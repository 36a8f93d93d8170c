"""What a certification is told: the options of `gigamind judge certify`, and of its flow."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gigamind.wording import AUTO, LanguageChoice


class CertifyOptions(BaseModel):
    """What a certification is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs: Annotated[tuple[Path, ...], Field(min_length=1)] = Field(
        description="out folders of finished runs: the one that is certified, then its repetitions"
    )
    labels: Path | None = Field(
        None,
        description="JSON lines of people's labels; for a search run, by default the dataset's own",
    )
    attacks: Path | None = Field(
        None, description="JSON report of `gigamind judge attack` on the same judge"
    )
    tests: Path | None = Field(
        None, description="JSON report of `gigamind judge test` on the same judge"
    )
    out: Path | None = Field(
        None, description="new folder for the card; eval/cards/<time> without it"
    )
    lang: LanguageChoice = Field("auto", description=f"language of the card; {AUTO}")
    seed: int = Field(42, description="of the bootstrap intervals")
