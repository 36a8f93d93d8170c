"""Feedback on answers, stored as labels and dataset rows for `gigamind judge certify` and `eval`."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gigamind.errors import InputError, reason_of
from gigamind.i18n import _
from gigamind.runs.folders import private_folder
from gigamind.service.answering import Answered

LABELS, ANSWERS, QUERIES = "labels.jsonl", "answers.jsonl", "queries.jsonl"


class Feedback:
    """A folder with labels.jsonl, answers.jsonl and queries.jsonl; rows are appended atomically.

    Raises:
        InputError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        try:
            private_folder(folder)
            (folder / LABELS).open("ab").close()
        except OSError as error:
            reason = reason_of(error)
            raise InputError(
                _(
                    "--feedback {folder}: this folder cannot be written: {reason}",
                    folder=folder,
                    reason=reason,
                )
            ) from error

    def rate(self, answer_id: str, answered: Answered, *, good: bool, claim: int | None) -> None:
        """Store a rating; with the id of a claim, a label of that claim.

        Raises:
            InputError: the answer has no such claim.
        """
        if claim is None:
            self._append(LABELS, {"id": answer_id, "utility": float(good)})
            self._append(ANSWERS, _row(answer_id, answered, {"utility": float(good)}))
            return
        evaluation = answered.judged.evaluation if answered.judged else None
        text = next(
            (c["text"] for c in (evaluation or {}).get("claims", ()) if c["id"] == claim), None
        )
        if text is None:
            raise InputError(_("claim_id {claim}: the answer has no such claim", claim=claim))
        verdict = "supported" if good else "not_found"
        labels = {"claims": [{"text": text, "verdict": verdict}]}
        self._append(ANSWERS, _row(f"{answer_id}-{claim}", answered, labels))

    def keep_question(self, answer_id: str, answered: Answered) -> None:
        """Store the question with its cited notes as a row of a search dataset, for review."""
        evaluation = (answered.judged.evaluation if answered.judged else None) or {}
        cited = [
            use["note_id"]
            for use in evaluation.get("source_coverage", ())
            if use["cited"] and use["note_id"]
        ]
        row = {
            "id": answer_id,
            "query": answered.ask.content,
            "answerable": bool(cited),
            "expected_notes": cited,
            "language": answered.ask.language,
            "source": "service",
        }
        self._append(QUERIES, row)

    def _append(self, name: str, row: dict[str, Any]) -> None:
        stamped = {**row, "created_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
        line = json.dumps(stamped, ensure_ascii=False) + "\n"
        with self._lock, (self._folder / name).open("ab") as file:
            file.write(line.encode("utf-8", "replace"))


def _row(answer_id: str, answered: Answered, labels: dict[str, Any]) -> dict[str, Any]:
    notes = [
        {"title": source.title or "-", "text": source.text} for source in answered.context.sources
    ]
    return {
        "id": answer_id,
        "question": answered.ask.content,
        "answer": answered.text,
        "context_notes": notes,
        "language": answered.ask.language,
        "labels": labels,
        "source": "service",
    }
