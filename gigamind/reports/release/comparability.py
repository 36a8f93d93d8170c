"""Whether two runs may be compared at all, and what about them may not (seed 6.2 and 7)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from gigamind.errors import InputError
from gigamind.reports.release.checks import checks_of, why_not_compared
from gigamind.reports.release.model import EvalSnapshot
from gigamind.reports.release.tasks import TASKS

Snapshot = EvalSnapshot[Any, Any]
Severity = Literal["refuse", "no-speed", "no-checks", "warn"]


class Mismatch(BaseModel):
    """One thing in which two runs differ beside what is measured.

    Attributes:
        severity: "refuse": no verdict on anything; "no-speed": all but speed may be compared; "no-checks": all but
            the checks by a checklist; "warn": all may, with this in mind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    severity: Severity
    meaning: str


def mismatches(baseline: Snapshot, current: Snapshot) -> tuple[Mismatch, ...]:
    """Everything in which the two differ, the gravest first.

    Raises:
        InputError: the tasks differ, or the embedding models: their scores have nothing in common.
    """
    check_task(baseline, current.task)
    _check_models(baseline, current)
    return tuple(
        Mismatch(what=what, severity=severity, meaning=meaning)
        for what, differs, severity, meaning in _checks(baseline, current)
        if differs
    )


def checklists(baseline: Snapshot, current: Snapshot) -> tuple[str, str]:
    """Fingerprints of the checklists of both; "" for a run without checks."""
    task = TASKS[current.task]
    return task.checklist(baseline), task.checklist(current)


def _checks(baseline: Snapshot, current: Snapshot) -> tuple[tuple[str, bool, Severity, str], ...]:
    """What may differ, whether it does, how grave that is, and what it means."""
    task = TASKS[current.task]
    changed = _changed(baseline, current)
    marks = checklists(baseline, current)
    return (
        (
            "dataset",
            baseline.dataset_hash != current.dataset_hash,
            "refuse",
            f"The datasets differ: a difference may come from the {task.subject}. A new baseline is needed.",
        ),
        (
            "judge",
            baseline.judge_fingerprint != current.judge_fingerprint,
            "refuse",
            "The verdicts were given by different judges or thresholds. A new baseline is needed.",
        ),
        (
            "checklist",
            checks_of(marks) == "not-compared",
            "no-checks",
            why_not_compared(marks),
        ),
        (
            f"{task.setting} settings",
            bool(changed),
            "warn",
            f"{task.setting.capitalize()} was set differently ({changed}): that may be what is measured here.",
        ),
        (
            "notes",
            baseline.notes_hash != current.notes_hash
            or baseline.notes_hash_mode != current.notes_hash_mode,
            "warn",
            f"The notes changed: a difference may come from them and not from {task.maker}.",
        ),
        (
            "hardware",
            baseline.hardware.hash != current.hardware.hash,
            "no-speed",
            "The hardware differs: quality is compared, speed is not.",
        ),
        (
            "index schema",
            baseline.environment.rag_schema_version != current.environment.rag_schema_version,
            "warn",
            "The index is built in another way (chunks, tokens or scores).",
        ),
    )


def _check_models(baseline: Snapshot, current: Snapshot) -> None:
    models = baseline.environment.embedding_model, current.environment.embedding_model
    if models[0] != models[1]:
        raise InputError(
            f"the runs cannot be compared: the baseline used the embedding model {models[0]}, the current run"
            f" {models[1]}; make a new baseline with the new model"
        )


def check_task(baseline: Snapshot, task: str) -> None:
    """See to it that a baseline is of this task.

    Raises:
        InputError: it is of another one.
    """
    if baseline.task != task:
        raise InputError(
            f"the runs cannot be compared: the baseline {baseline.run_id} is of the task {baseline.task}, the current"
            f" run of {task}; give a baseline of {task}"
        )


def _changed(baseline: Snapshot, current: Snapshot) -> str:
    """The settings that differ, with both values; "" where none does."""
    both = (
        (name, baseline.config.get(name), current.config.get(name))
        for name in TASKS[current.task].settings
    )
    return ", ".join(f"{name} {old} -> {new}" for name, old, new in both if old != new)
