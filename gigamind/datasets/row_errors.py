"""What is wrong with one row of a dataset, in the words of whoever has to mend it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from gigamind.loading import field_name

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_LONGEST = 60  # characters of a value in a message

# pydantic's error type -> what was expected, how to mend it
_PHRASES = {
    "int_type": (
        "a whole number",
        "Write a number such as 145 without quotes and without a decimal point",
    ),
    "string_type": ("text", "Write it in double quotes"),
    "bool_type": ("true or false", "Write true or false without quotes"),
    "tuple_type": ("a list", 'Write a list in brackets, such as ["a", "b"]'),
    "model_type": (
        "an object",
        'Write an object such as {"note_path": "a.md", "start": 0, "end": 5}',
    ),
    "literal_error": ("easy, mid or hard", 'Write "easy", "mid" or "hard", or leave the field out'),
    "greater_than_equal": ("0 or more", "Count UTF-16 code units from the start of the file"),
}
_GAINS = (
    "a grade, a whole number from -1000 to 1000",
    'Write an object such as {"a.md": 2, "b.md": 0}',
)
_GROUPS = (
    "groups of notes",
    'Write a list of lists that are not empty, such as [["a", "b"], ["c"]]',
)
# Of answers, by the field that is wrong.
_ANSWER_PHRASES = {
    "verdict": (
        "supported, contradicted or not_found",
        'Write "supported", "contradicted" or "not_found"',
    ),
    **dict.fromkeys(
        ("correctness", "utility"),
        ("a number from 0 to 1", "Write a number such as 0.75, or leave the field out"),
    ),
    "vital": ("true or false", "Write true or false, or leave the field out"),
    "note": ("the number of a note", "Count the context notes from 1, or leave the field out"),
    "context_notes": ("a list", 'Write a list such as [{"path": "a.md"}]'),
    "labels": ("an object", 'Write an object such as {"correctness": 0.75, "utility": 1.0}'),
}
_NOTE = ("an object", 'Write an object such as {"path": "a.md"}, or {"title": "A", "text": "..."}')
_CLAIM = ("an object", 'Write an object such as {"text": "...", "verdict": "supported"}')
_OTHER_KINDS = (
    ("question", "query", "This is a row of queries: --answer-model has them answered first"),
    (
        "query",
        "question",
        "This is a row of answers: evaluate them with gigamind eval answers, without --answer-model",
    ),
)
_BLANK = ("text", "Fill it in")
_NO_TIME = ("an ISO 8601 date or time", 'Write it as "2026-01-31" or "2026-01-31T09:00:00+09:00"')


@dataclass(frozen=True, slots=True)
class RowError:
    """One problem of one row.

    Attributes:
        line: 1-based, in the dataset's file.
        item_id: id of the row; "" when it could not be read.
        field: such as `expected_spans[0].start`; "" when the row as a whole is wrong.
        message: what is wrong, without a full stop.
        mend: what to do, a sentence without a full stop.
        absent: whether it is that the vault lacks a note which the row names.
    """

    line: int
    item_id: str
    field: str
    message: str
    mend: str
    absent: bool = False

    def describe(self, path: Path) -> str:
        """The problem in one line that starts with file and line."""
        field = f'field "{self.field}": ' if self.field else ""
        return f"{path}:{self.line}: {field}{self.message}. {self.mend}."


def shortened(value: object) -> str:
    """A value as JSON, cut to a length that fits a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def shortened_path(path: str) -> str:
    """The same of a path, which is cut at its front: the file's name tells most."""
    text = json.dumps(path, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f'"…{text[2 - _LONGEST :]}'


def schema_errors(error: ValidationError, line: int, item_id: str) -> tuple[RowError, ...]:
    """One error for each field that breaks the schema."""
    return tuple(_schema_error(details, line, item_id) for details in error.errors())


def _schema_error(details: "ErrorDetails", line: int, item_id: str) -> RowError:
    field = field_name(details["loc"])
    if details["type"] == "missing":
        return RowError(line, item_id, field, "missing", _mend_missing(field, details["input"]))
    if details["type"] == "json_invalid":
        # Python reads half of a surrogate pair, UTF-8 cannot hold it.
        reason = details.get("ctx", {}).get("error", details["msg"])
        mend = r"Write one JSON object on one line, and \ud83d\ude00 escapes in pairs"
        return RowError(line, item_id, "", f"broken JSON: {reason}", mend)
    expected, mend = _phrase(details)
    got = shortened(details["input"])
    return RowError(line, item_id, field, f"expected {expected}, got {got}", mend)


def _mend_missing(field: str, row: object) -> str:
    """What to do; a row of another kind of dataset is known by the field that it has instead."""
    for wanted, instead, meant in _OTHER_KINDS:
        if field == wanted and isinstance(row, dict) and instead in row:
            return meant
    return "Add it: every row needs it"


def _phrase(details: "ErrorDetails") -> tuple[str, str]:
    if details["loc"][0] == "gains":
        return _GAINS
    if details["loc"][0] in {"expected_all_of", "expected_any_of"}:
        return _GROUPS
    last = details["loc"][-1] if details["loc"] else ""
    if isinstance(last, str) and last in _ANSWER_PHRASES:
        return _ANSWER_PHRASES[last]
    if details["type"] == "model_type" and details["loc"][0] in {"context_notes", "labels"}:
        return _NOTE if details["loc"][0] == "context_notes" else _CLAIM
    if details["type"] == "value_error":
        return _NO_TIME if details["loc"][0] == "created_at" else _BLANK
    fallback = (
        f"something else ({details['msg']})",
        "See the dataset format in docs/quick-start.md",
    )
    return _PHRASES.get(details["type"], fallback)
