"""Options that every evaluation has: what it reads, where its results go, what it is compared with (seed 2.1)."""

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from gigamind.evals.option_types import SampleText
from gigamind.evals.release_options import ReleaseOptions
from gigamind.reports.schema import TaskName


class EvalOptions(ReleaseOptions):
    """What every evaluation is told.  Paths are relative to the working directory."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: TaskName = Field(description="what is evaluated")
    dataset: Path = Field(description="one JSON object a line")
    notes: Path = Field(description="the vault: a folder of Markdown notes")
    out: Path | None = Field(None, description="folder for the results; eval/out/<time> without it")
    format: Literal["json", "md", "both"] = Field(
        "both", description="summary.json, or summary.md and report.html, or all"
    )
    lang: Literal["en", "ko"] = Field("en", description="language of report.html")
    figures: Literal["svg", "png"] | None = Field(
        None, description="also write the report's figures as files"
    )
    seed: int = Field(42, ge=0, description="of sampling and of the bootstrap intervals")
    sample: SampleText | None = Field(
        None, description="evaluate only so many items: 50, or a share: 0.2"
    )
    strict: bool = Field(
        default=False, description="stop with exit code 1 at a bad row or an identifier collision"
    )
    dry_run: bool = Field(default=False, description="check the dataset and the notes, then stop")
    notes_hash_mode: Literal["content", "mtime"] = Field(
        "content", description="hash the notes' bytes, or only their names and times"
    )
    notes_hash_exclude: tuple[str, ...] = Field((), description="patterns the hash leaves out, too")
    save_snapshot: bool = Field(
        default=False, description="write snapshot.json, to compare later runs with"
    )
    compare: Path | None = Field(
        None,
        description="hold the run against this baseline: a snapshot.json, an out folder, or a folder of baselines",
    )

    def for_report(self) -> dict[str, object]:
        """The options as run.json shows them: JSON values; the task stands beside them."""
        return self.model_dump(mode="json", exclude={"task"})
