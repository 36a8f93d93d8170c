"""Moves the baseline to a run whose gates did not fail, for `gigamind baseline promote` and the flow alike."""

from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import InputError
from gigamind.evaluation.finish import no_result
from gigamind.evaluation.release import read_verdict
from gigamind.release.gates import at_worst
from gigamind.release.policy import read_policy
from gigamind.release.snapshot import promote, read_run, read_snapshot
from gigamind.tasks import KINDS, TASKS

_RUN_FILE = "run.json"


class Promoted(NamedTuple):
    """A new baseline.

    Attributes:
        worst: gated metrics that it has at the worst there is, so that no verdict can come of them.
    """

    file: Path
    worst: list[str]


class PromoteOptions(BaseModel):
    """Which run becomes the baseline, and where."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Path = Field(
        description="output folder of a run, or a folder of runs whose latest one is used; the run must be complete"
    )
    folder: Path = Field(description="folder of baselines, as in --compare")


def promote_run(options: PromoteOptions) -> Promoted:
    """Make the run the baseline of its task.

    Raises:
        InputError: a gate failed, or there is no such run, or it cannot be a baseline; or it is the last of a folder,
            named by nobody, and no whole result.
    """
    named = (options.run / _RUN_FILE).is_file()
    run = options.run if named else _last_run(options.run)
    refuse_failed(run, options.folder)
    if not named and (run / _RUN_FILE).is_file():
        _refuse_part(run)
    return promote_checked(run, options.folder)


def promote_checked(run: Path, folder: Path) -> Promoted:
    """Make a run the baseline of its task, whatever its gates said.

    Raises:
        InputError: there is no such run, or it cannot be a baseline.
    """
    snapshot = read_snapshot(run, KINDS)
    return Promoted(promote(snapshot, folder), at_worst(snapshot, read_policy(None)))


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


def _refuse_part(run: Path) -> None:
    """See to it that a run which nobody named is a whole result: a trial moves no baseline by being the last one.

    Raises:
        InputError: it is none.
    """
    if why := _part_of(run):
        raise InputError(
            f"{run}: the last run is no baseline by itself: {why}; to promote it all the same, or another one, name"
            " its folder in the option run"
        )


def _part_of(run: Path) -> str | None:
    """Why a run is no whole result; None where it is one."""
    record = read_run(run, KINDS)
    options, verdict = record.run.options, read_verdict(run)
    if record.run.status != "complete":
        return "it was interrupted"
    if options.get("sample") is not None:
        return f"it is of a sample ({options['sample']})"
    if verdict is None and options.get("compare"):
        return "it ended without a verdict"
    if verdict and verdict.gate.verdict == "not-comparable":
        return f"it ended without a verdict ({verdict.gate.reasons[0].rstrip('.')})"
    if options.get("allow_partial"):
        return None
    least = options.get("min_coverage")
    short = no_result(
        TASKS[record.run.task], record, least if isinstance(least, float) else 0.0, run
    )
    return str(short) if short else None


def _last_run(path: Path) -> Path:
    """The out folder of the run in a folder that was written last; the folder itself where there is none."""
    written = {file.stat().st_mtime_ns: file.parent for file in path.glob(f"*/{_RUN_FILE}")}
    return written[max(written)] if written else path
