"""Whether two runs may be compared at all, and what about them may not (seed 6.2 and 7)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gigamind.errors import InputError
from gigamind.reports.release.snapshot import EvalSnapshot

Severity = Literal["refuse", "no-speed", "warn"]


class Mismatch(BaseModel):
    """One thing in which two runs differ beside what is measured.

    Attributes:
        severity: "refuse": no verdict on anything; "no-speed": quality may be compared, speed may not; "warn": both
            may, with this in mind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    severity: Severity
    meaning: str


def mismatches(baseline: EvalSnapshot, current: EvalSnapshot) -> tuple[Mismatch, ...]:
    """Everything in which the two differ, the gravest first.

    Raises:
        InputError: the embedding models differ: their scores have nothing in common.
    """
    models = baseline.environment.embedding_model, current.environment.embedding_model
    if models[0] != models[1]:
        raise InputError(
            f"the runs cannot be compared: the baseline used the embedding model {models[0]}, the current run"
            f" {models[1]}; make a new baseline with the new model"
        )
    checks: tuple[tuple[str, bool, Severity, str], ...] = (
        (
            "dataset",
            baseline.dataset_hash != current.dataset_hash,
            "refuse",
            "The datasets differ: a difference may come from the questions. A new baseline is needed.",
        ),
        (
            "judge",
            baseline.judge_fingerprint != current.judge_fingerprint,
            "refuse",
            "The verdicts were given by different judges or thresholds. A new baseline is needed.",
        ),
        (
            "retrieval settings",
            _retrieval(baseline) != _retrieval(current),
            "warn",
            f"Retrieval was set differently ({_changed(baseline, current)}): that may be what is measured here.",
        ),
        (
            "notes",
            baseline.notes_hash != current.notes_hash
            or baseline.notes_hash_mode != current.notes_hash_mode,
            "warn",
            "The notes changed: a difference may come from them and not from the search.",
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
    return tuple(
        Mismatch(what=what, severity=severity, meaning=meaning)
        for what, differs, severity, meaning in checks
        if differs
    )


_SETTINGS = ("mode", "alpha", "topk", "graph_rerank")


def _retrieval(snapshot: EvalSnapshot) -> dict[str, object]:
    return {name: snapshot.config.get(name) for name in _SETTINGS}


def _changed(baseline: EvalSnapshot, current: EvalSnapshot) -> str:
    before, after = _retrieval(baseline), _retrieval(current)
    return ", ".join(f"{n} {before[n]} -> {after[n]}" for n in _SETTINGS if before[n] != after[n])
