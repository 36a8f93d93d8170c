"""Moves the baseline to a run whose gates did not fail: what `gigamind baseline promote` does, with that one check."""

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import InputError
from gigamind.evaluation.release import ReleaseVerdict
from gigamind.release.snapshot import promote, read_snapshot
from gigamind.tasks import KINDS

_RUN_FILE, _VERDICT_FILE = "run.json", "compare.json"


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
    if (run / _VERDICT_FILE).is_file():
        gate = _verdict(run / _VERDICT_FILE).gate
        if gate.verdict == "failed":
            raise InputError(
                f"{run}: a gate failed, so it is no baseline: {gate.reasons[0]}; where it is to be one all the same,"
                f" use gigamind baseline promote {run} --folder {options.folder}"
            )
    return promote(read_snapshot(run, KINDS), options.folder)


def _last_run(path: Path) -> Path:
    """The out folder of the run; of several in a folder, the one that was written last."""
    if (path / _RUN_FILE).is_file():
        return path
    written = {file.stat().st_mtime_ns: file.parent for file in path.glob(f"*/{_RUN_FILE}")}
    return written[max(written)] if written else path


def _verdict(file: Path) -> ReleaseVerdict:
    try:
        return ReleaseVerdict.load(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise InputError(
            f"{file}: not as gigamind writes it ({error}); evaluate that run again"
        ) from error
