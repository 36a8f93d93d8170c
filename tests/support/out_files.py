"""What the files of an out folder say."""

import json
from pathlib import Path
from typing import Any


def rows_of(out: Path, name: str = "per_item.jsonl") -> list[Any]:
    """The rows of a file."""
    return [json.loads(line) for line in (out / name).read_text("utf-8").splitlines()]


def items_of(out: Path, key: str = "id") -> dict[str, Any]:
    """The rows of per_item.jsonl by their id."""
    return {row[key]: row for row in rows_of(out)}


def run_of(out: Path) -> Any:
    """run.json."""
    return json.loads((out / "run.json").read_text("utf-8"))


def summary_of(out: Path) -> Any:
    """summary.json."""
    return json.loads((out / "summary.json").read_text("utf-8"))


def warned(out: Path) -> list[Any]:
    """The values of each warning of a run."""
    return [message.get("values", {}) for message in run_of(out)["warning_messages"]]
