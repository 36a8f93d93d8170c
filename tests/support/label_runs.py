"""Runs over answers to label, each answer with two claims."""

from pathlib import Path
from typing import Any

from judged_folders import write_judged_run

from gigamind.assurance.labelling import Labelling
from gigamind.assurance.options import LabelOptions
from gigamind.tasks import TASKS

FIRST, SECOND = "휴가는 15일입니다.", "The depot opens at seven."


def row(number: int, *, note: str = "Closed on Sundays.") -> dict[str, Any]:
    """An answer whose second claim is wrong if its number is even."""
    right = bool(number % 2)
    answer = f"🏝️ {FIRST} {SECOND}"
    start = answer.index(SECOND) + 1  # UTF-16: the emoji takes two units
    claims = [
        {"text": FIRST, "verdict": "supported", "utf16_start": 4, "utf16_end": 4 + len(FIRST)},
        {
            "text": SECOND, "verdict": "supported" if right else "not_found", "utf16_start": start,
            "utf16_end": start + len(SECOND),
        },
    ]  # fmt: skip
    text = f"# Depot {number}\n\n{'Other words. ' * 200}\n\n{FIRST}\n\n{SECOND} {note}"
    return {
        "id": f"a{number:04}",
        "question": f"<b>When</b> does depot {number} open?",
        "answer": answer,
        "language": "ko" if number % 3 else "en",
        "notes": [
            {"title": "Garden", "path": "garden.md", "text": "Roses."},
            {"title": f"Depot {number}", "path": "depot.md", "text": text},
        ],
        "labels": None,
        "evaluation": {
            "correctness": 1.0 if right else 0.5,
            "completeness": None,
            "utility": 0.9,
            "claims": [
                {"id": at, "evidence": None} | claim for at, claim in enumerate(claims, start=1)
            ],
        },
    }


def label_run(folder: Path, count: int = 30, *, changed: int = 0, **about: Any) -> Path:
    """A run of `count` answers; the notes of the first `changed` ones differ."""
    rows = (row(at, note="Changed." if at < changed else "Closed.") for at in range(count))
    return write_judged_run(folder, rows, task="answers", **about)


def session(run: Path, labels: Path, **options: Any) -> Labelling:
    return Labelling(LabelOptions(run=run, labels=labels, **options), TASKS)
