"""Files of trials with as little as they need, and a judge on trial."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from row_files import write_rows

from gigamind.assurance.trials import Case
from gigamind.llm.client import Request
from gigamind.prompting.prompts import as_json

SCENARIO = {
    "id": "s", "language": "en", "question": "q", "answerable": False,
    "notes": [{"title": "t", "text": "x"}],
    "answers": {"right": "a", "wrong": "b", "useless": "c"},
}  # fmt: skip


def written(folder: Path, **files: Iterable[dict[str, Any]]) -> Path:
    """The folder, with files of these rows by their name."""
    for name, rows in files.items():
        write_rows(folder / f"{name}.jsonl", rows)
    return folder


def check_fences(request: Request, case: Case) -> None:
    """See to it that the notes stand whole in their fences, and the question byte by byte."""
    system, user = (message["content"] for message in request.messages)
    assert "<note-" not in system
    nonce = user.partition("<note-")[2][:16]
    assert user.count(f"</note-{nonce}>") == user.count(f"<note-{nonce} index=") == len(case.notes)
    for number, note in enumerate(case.notes, start=1):
        fenced = (
            f'<note-{nonce} index="{number}" title={as_json(note.title)}>\n'
            f"{note.text}\n</note-{nonce}>"
        )
        assert fenced.encode() in user.encode()
    asked = re.findall(r"\n(?:Question|질문) \([^)]*\): (\".*\")\n", user)
    assert [json.loads(question) for question in asked] == [case.question]


class Judge:
    """A judge on trial that says what it is told, and keeps what it was asked."""

    fingerprint = "f"
    model_name = "m"
    instructions = "Judge the answer by the notes alone."
    rates_utility = True

    def __init__(self, say, kind="search_qa") -> None:
        self.kind = kind
        self.say = say
        self.asked = []

    async def judge(self, case):
        self.asked.append(case)
        return self.say(case)
