"""Options of a release gate, shared by the evaluations and `gigamind compare` (seed 2.1)."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from gigamind.evals.option_errors import validated
from gigamind.reports.release.policy import Phase


class ReleaseOptions(BaseModel):
    """How a comparison is judged and where its verdict goes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phase: Phase = Field("mvp", description="which thresholds of the gates apply")
    gates: Path | None = Field(
        None, description="gates.toml; the one that comes with gigamind without it"
    )
    judge_card: Path | None = Field(
        None, description="card of the judge, or its folder: see `gigamind judge certify`"
    )
    fail_on_regression: bool = Field(
        default=False, description="exit code 4 when a gate fails, 1 when nothing can be said"
    )
    junit: Path | None = Field(None, description="write the gates as JUnit XML to this file")


def read_release_options(values: dict[str, object]) -> ReleaseOptions:
    """The options in `values`, by field name.

    Raises:
        InputError: names every option that cannot be, its value and what it should be.
    """
    return validated(ReleaseOptions, values)
