"""Out folders of judged runs: a row says what a test is about, and the rest of its line is filled in."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from row_files import write_rows

JUDGE = {"kind": "llm", "file": "judges/j.toml", "fingerprint": "f" * 64, "model": "m"}
RUN = {
    "run_id": "r", "created_at": "2026-11-22T00:00:00+00:00", "status": "complete",
    "dataset": "q.jsonl", "dataset_hash": "d" * 64, "notes": "vault", "notes_hash": "n",
    "notes_hash_mode": "content", "options": {}, "warnings": [],
    "environment": {
        "app_version": "0.1.0", "git_commit": None, "python_version": "3.11",
        "embedding_model": None, "rag_schema_version": "none", "packages": {},
    },
    "hardware": {"cpu": "x", "cores": 2, "memory_gib": 1.0, "system": "Linux", "hash": "h"},
}  # fmt: skip
QUERY = {
    "difficulty": None, "tags": [], "cross_lingual": False, "expected_notes": [],
    "expected_spans": [], "ranking": [], "top_base_score": None, "metrics": {}, "latency_ms": None,
}  # fmt: skip
ANSWER = {
    "answer": "", "tags": [], "notes": [], "outcome": "scored", "code": "", "metrics": {},
    "flipped": None, "latency_ms": 1.0,
}  # fmt: skip
EVALUATION = {
    "correctness": None, "utility": None, "confidence": None, "source_coverage": [],
    "grounding_issues": [], "summary": "", "outcome": "judged", "abstains": False,
    "answerable": True, "reported_answerable": None, "reported_correctness": None,
    "reported_utility": None, "utility_reason": "", "reported_issues": [], "flagged": {},
}  # fmt: skip
CLAIM = {
    "start": 0, "end": 0, "utf16_start": 0, "utf16_end": 0, "cited": [], "told": None, "note": None,
    "doubt": None, "new_numbers": [],
}  # fmt: skip
_LABELS = {"correctness": None, "utility": None, "abstains": None}


def write_judged_run(
    folder: Path,
    rows: Iterable[dict[str, Any]],
    *,
    errors: Iterable[dict[str, Any]] = (),
    **about: Any,
) -> Path:
    """The files of a run of searches, or of the task that `about` names beside what else run.json says."""
    folder.mkdir()
    run = {"task": "search", "judge": JUDGE} | RUN | about
    whole = _whole_answer if run["task"] == "answers" else _whole_query
    (folder / "run.json").write_text(json.dumps(run), "utf-8")
    write_rows(folder / "per_item.jsonl", map(whole, rows))
    write_rows(folder / "errors.jsonl", errors)
    return folder


def write_summary(folder: Path, summary: BaseModel) -> None:
    """summary.json of a run."""
    (folder / "summary.json").write_text(summary.model_dump_json(), "utf-8")


def _whole_query(row: dict[str, Any]) -> dict[str, Any]:
    return QUERY | row


def _whole_answer(row: dict[str, Any]) -> dict[str, Any]:
    judged, labels = row["evaluation"], row["labels"]
    if judged:
        judged = EVALUATION | judged
        judged["claims"] = [CLAIM | claim for claim in judged["claims"]]
    if labels:
        labels = _LABELS | labels
        labels["claims"] = [{"note": None} | claim for claim in labels["claims"]]
    return ANSWER | row | {"evaluation": judged, "labels": labels}
