"""Moves the baseline to a run whose gates did not fail, for `gigamind baseline promote` and the flow alike."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import InputError
from gigamind.evaluation.release import read_verdict
from gigamind.release.snapshot import promote, read_snapshot
from gigamind.tasks import KINDS

_RUN_FILE = "run.json"


class PromoteOptions(BaseModel):
    """Which run becomes the baseline, and where."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Path = Field(description="out folder of a run, or a folder of runs: the last one counts")
    folder: Path = Field(description="folder of baselines, as --compare names it")


def promote_run(options: PromoteOptions) -> Path:
    """Make the run the baseline of its task; the file it stands in.

    Raises:
        InputError: a gate failed, or there is no such run, or it cannot be a baseline.
    """
    run = _last_run(options.run)
    refuse_failed(run, options.folder)
    return promote(read_snapshot(run, KINDS), options.folder)


def refuse_failed(run: Path, folder: Path) -> None:
    """See to it that no gate of a run failed, where it was held against a baseline.

    Args:
        run: its out folder, or the snapshot.json in it.
        folder: of baselines.

    Raises:
        InputError: a gate failed, or its verdict cannot be read.
    """
    verdict = read_verdict(run if run.is_dir() else run.parent)
    if verdict and verdict.gate.verdict == "failed":
        raise InputError(
            f"{run}: a gate failed, so it is no baseline: {verdict.gate.reasons[0]}; where it is to be one all the"
            f" same, use gigamind baseline promote {run} --folder {folder} --force"
        )


def _last_run(path: Path) -> Path:
    """The out folder of the run; of several in a folder, the one that was written last."""
    if (path / _RUN_FILE).is_file():
        return path
    written = {file.stat().st_mtime_ns: file.parent for file in path.glob(f"*/{_RUN_FILE}")}
    return written[max(written)] if written else path
