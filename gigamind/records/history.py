"""Runs that stand beside one another in a folder, as a schedule leaves them: when each was made, and its figures."""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gigamind.records.schema import RunReport

_LOOKED_AT = 10  # times as many folders as runs that are wanted, for a folder may hold runs of several vaults


@dataclass(frozen=True, slots=True)
class PastRun:
    """One finished run.

    Attributes:
        figures: of all its items, by name with block: "search.mrr"; without those that were not measured.
    """

    run: RunReport
    figures: Mapping[str, float]

    @property
    def source(self) -> tuple[str, str, str]:
        """What is evaluated: runs that differ in it are of different histories."""
        return self.run.task, self.run.dataset, self.run.notes

    @property
    def measure(self) -> tuple[str, str, object]:
        """What it was measured by: dataset, judge and sample; runs that differ in it are not to be compared."""
        judge = self.run.judge.fingerprint if self.run.judge else ""
        return self.run.dataset_hash, judge, self.run.options.get("sample")


def past_runs(out: Path, most: int) -> list[PastRun]:
    """The complete runs beside `out` of what it evaluates, it included; oldest first, the last `most` of them.

    Folders that hold no run, or one that cannot be read, are none.
    """
    own = _read(out)
    if own is None:
        return []
    beside = sorted((path for path in out.resolve().parent.iterdir()), reverse=True)
    last = itertools.islice(_of(own, beside[: most * _LOOKED_AT]), most)
    return sorted(last, key=lambda past: (past.run.created_at, past.run.run_id))


def _of(own: PastRun, folders: list[Path]) -> Iterator[PastRun]:
    for folder in folders:
        found = _read(folder)
        if found and found.source == own.source and found.run.status == "complete":
            yield found


def _read(out: Path) -> PastRun | None:
    try:
        run = RunReport.model_validate_json((out / "run.json").read_bytes())
        summary: dict[str, Any] = json.loads((out / "summary.json").read_bytes())
        overall: dict[str, Any] = summary["overall"]
        measured: dict[str, object] = overall["intervals"]
        values = {key: overall[key.partition(".")[0]][key.partition(".")[2]] for key in measured}
    except (OSError, ValueError, KeyError, ValidationError):
        return None
    figures = {key: value for key, value in values.items() if value is not None}
    return PastRun(run, figures)
