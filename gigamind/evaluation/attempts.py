"""Earlier attempts at the gate with the same candidate, and waivers: a named person accepts a failed gate until a date.

Runs have the same candidate if they share the dataset, notes, judge, settings and version of gigamind. A waiver is the
file waiver.json in the folder of a failed run. It applies to every run of the same candidate in that folder's parent.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import ValidationError

from gigamind.errors import EvaluationError, InputError, reason_of
from gigamind.evaluation.release import ReleaseVerdict, read_verdict
from gigamind.i18n import _
from gigamind.records.history import PastRun, conditions
from gigamind.records.schema import RunReport
from gigamind.release.waiver import Attempt, Waiver

WAIVER_FILE = "waiver.json"


def candidate_of(run: RunReport) -> str:
    """Return a hash of what a run evaluated and how; equal for repeated attempts."""
    settings = conditions(run.options, run.environment, run.judge, run.notes_hash)
    text = json.dumps([run.task, run.dataset_hash, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def with_history(
    verdict: ReleaseVerdict, run: RunReport, out: Path, past: Sequence[PastRun]
) -> ReleaseVerdict:
    """Return a verdict with the earlier attempts of its candidate and its waiver, from the runs beside `out`.

    Raises:
        InputError: a waiver or verdict of an earlier run cannot be read.
    """
    candidate, home = candidate_of(run), out.resolve().parent
    own = [home / entry.folder for entry in past if candidate_of(entry.run) == candidate]
    attempts: list[Attempt] = []
    waiver = _read_waiver(out)
    for folder in own:
        earlier = read_verdict(folder) if folder.name != out.resolve().name else None
        if (
            earlier is None
            or earlier.comparison.baseline.run_id != verdict.comparison.baseline.run_id
        ):
            continue
        metrics = tuple(rule.metric for rule in earlier.gate.failed)
        attempts.append(Attempt(earlier.comparison.current.run_id, earlier.gate.verdict, metrics))
        waiver = waiver or _read_waiver(folder)
    applies = waiver if waiver and waiver.covers(verdict.gate, datetime.now(UTC).date()) else None
    return ReleaseVerdict(verdict.comparison, verdict.gate, applies, tuple(attempts))


def _read_waiver(out: Path) -> Waiver | None:
    file = out / WAIVER_FILE
    if not file.is_file():
        return None
    try:
        return Waiver.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            _(
                "{file} cannot be used: {reason}. Write it again with `gigamind gate waive`.",
                file=file,
                reason=reason,
            )
        ) from error


def waive(out: Path, *, reason: str, until: date, by: str) -> Waiver:
    """Write a waiver for the failed gates of a run.

    Raises:
        InputError: the run has no failed gate, or the date is over.
        EvaluationError: the file cannot be written.
    """
    verdict = read_verdict(out)
    if verdict is None or not verdict.gate.failed:
        raise InputError(
            _(
                "{folder}: no failed gate. Name the output folder of a run that was compared and failed.",
                folder=out,
            )
        )
    today = datetime.now(UTC).date()
    if until < today:
        raise InputError(
            _("--until {until}: the date is over. Name a later date.", until=until.isoformat())
        )
    waiver = Waiver(
        run_id=verdict.comparison.current.run_id,
        baseline=verdict.comparison.baseline.run_id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        reason=reason,
        until=until,
        by=by,
        metrics=tuple(rule.metric for rule in verdict.gate.failed),
    )
    file = out / WAIVER_FILE
    try:
        file.write_text(waiver.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise EvaluationError(
            _("{file}: cannot be written ({reason})", file=file, reason=reason_of(error))
        ) from error
    return waiver
