"""What flow runs may tell on their pages: a line for each thing, and nothing of what notes and questions say."""

import functools
import json
import logging
from pathlib import Path
from typing import Any

from prefect_stack import Stack

_LONG_LINE = 2_000
_SHORTEST = 25  # characters: what is shorter may stand in a name


def check_told(stack: Stack, run: Any) -> None:
    """Log, states and parameters of a flow run whose end was expected."""
    lines = stack.logs_of(run["id"])
    assert lines
    errors = [line["message"] for line in lines if line["level"] >= logging.ERROR]
    assert [text for text in errors if "\n" in text] == []  # no traceback
    assert max(len(line["message"]) for line in lines) < _LONG_LINE
    assert len(run["state"]["message"] or "") < 500
    states = stack.ask(f"/flow_run_states/?flow_run_id={run['id']}")
    told = json.dumps([lines, states, run], ensure_ascii=False)
    assert [text for text in _texts(stack.clone / "examples") if text in told] == []


@functools.cache
def _texts(examples: Path) -> frozenset[str]:
    """Lines of the notes, questions and answers."""
    texts = [
        line
        for note in examples.glob("vault/**/*.md")
        for line in note.read_text("utf-8").split("\n")
    ]
    for file in examples.glob("*.jsonl"):
        rows = map(json.loads, file.read_text("utf-8").splitlines())
        texts += [
            row[name] for row in rows for name in ("query", "question", "answer") if name in row
        ]
    quoted = (json.dumps(text.strip(), ensure_ascii=False)[1:-1] for text in texts)
    found = frozenset(text for text in quoted if len(text) >= _SHORTEST)
    assert len(found) > 500
    return found
