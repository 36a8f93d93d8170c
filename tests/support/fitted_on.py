"""What a calibrated judge of the tests says that it was fitted on."""

from typing import Any


def collection(notes: int, *languages: str) -> dict[str, Any]:
    counts = {"notes": notes, "answerable": 20, "unanswerable": 20}
    hashes = {"dataset": "q.jsonl", "dataset_hash": "0", "notes_hash": "1"}
    return {**hashes, **counts, "languages": list(languages)}
