"""What a calibrated judge of the tests says that it was fitted on."""

from gigamind.judges.unanswerable import Collection


def collection(notes: int, *languages: str) -> Collection:
    counts = {"notes": notes, "answerable": 20, "unanswerable": 20}
    return Collection(
        dataset="q.jsonl", dataset_hash="0", notes_hash="1", languages=languages, **counts
    )
