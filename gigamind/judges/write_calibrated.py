"""Writes a `calibrated` judge file: TOML that a person can read and a diff can show."""

import json
from collections.abc import Iterator
from pathlib import Path

from gigamind.datasets.write import write_lines
from gigamind.judges.calibrated import CalibratedJudgeFile, Calibration, Collection

_HEAD = (
    "# Tells from what search shows whether the vault answers a query; deterministic, free, no model is asked.",
    "# Written by `gigamind judge fit unanswerable`.  A signal adds weight * (value - mean) / scale to the log-odds of",
    "# an answer; below min_probability a query is unanswerable.  [*.reliability] is cross-validated by note.",
)


def write_judge_file(path: Path, file: CalibratedJudgeFile) -> None:
    """Write `file`, whole or not at all; reading it gives an equal one.

    Raises:
        EvaluationError: the file cannot be written.
    """
    write_lines(path, list(_lines(file)))


def _lines(file: CalibratedJudgeFile) -> Iterator[str]:
    yield from _HEAD
    yield f"kind = {_text(file.kind)}"
    yield from _calibration("keyword", file.keyword)
    if file.cosine:
        yield from _calibration("cosine", file.cosine)
    for collection in file.fitted_on:
        yield from _collection(collection)


def _calibration(name: str, calibration: Calibration) -> Iterator[str]:
    yield from ("", f"[{name}]")
    for field, value in calibration.model_dump(exclude={"signals", "reliability"}).items():
        yield f"{field} = {_value(value)}"
    yield from ("", f"[{name}.signals]")
    for signal, coefficient in calibration.signals.items():
        parts = (f"{field} = {_value(value)}" for field, value in coefficient.model_dump().items())
        yield f"{signal} = {{ {', '.join(parts)} }}"
    yield from ("", f"[{name}.reliability]")
    for field, value in calibration.reliability.model_dump().items():
        yield f"{field} = {_value(value)}"


def _collection(collection: Collection) -> Iterator[str]:
    yield from ("", "[[fitted_on]]")
    for field, value in collection.model_dump().items():
        yield f"{field} = {_value(value)}"


def _value(value: str | float | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_text(part) for part in value)}]"
    return repr(value)  # the shortest digits that read back as the same float


def _text(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but TOML has no bare DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
