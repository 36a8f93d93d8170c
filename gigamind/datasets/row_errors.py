"""Describe the problems of a dataset row for the person who fixes it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from gigamind.i18n import Message, Text, _
from gigamind.loading import field_name

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_LONGEST = 60  # characters of a value in a message

# pydantic's error type -> what was expected, how to fix it
_PHRASES: dict[str, tuple[Message, Message]] = {
    "int_type": (
        _("a whole number"),
        _("Write a number such as 145, without quotes and without a decimal point"),
    ),
    "string_type": (_("text"), _("Write the value in double quotes")),
    "bool_type": (_("true or false"), _("Write true or false without quotes")),
    "tuple_type": (_("a list"), _('Write a list in brackets, such as ["a", "b"]')),
    "model_type": (
        _("an object"),
        _('Write an object such as {{"note_path": "a.md", "start": 0, "end": 5}}'),
    ),
    "literal_error": (
        _("easy, mid or hard"),
        _('Write "easy", "mid" or "hard", or leave the field out'),
    ),
    "greater_than_equal": (
        _("0 or more"),
        _("Count the position in UTF-16 code units from the start of the file"),
    ),
}
_GAINS = (
    _("a grade, a whole number from -1000 to 1000"),
    _('Write an object such as {{"a.md": 2, "b.md": 0}}'),
)
_GROUPS = (
    _("a list of groups of notes"),
    _('Write a list of non-empty lists, such as [["a", "b"], ["c"]]'),
)
# Of answers, by the field that is wrong.
_SCORE = (_("a number from 0 to 1"), _("Write a number such as 0.75, or leave the field out"))
_ANSWER_PHRASES: dict[str, tuple[Message, Message]] = {
    "verdict": (
        _("supported, contradicted or not_found"),
        _('Write "supported", "contradicted" or "not_found"'),
    ),
    "correctness": _SCORE,
    "utility": _SCORE,
    "vital": (_("true or false"), _("Write true or false, or leave the field out")),
    "note": (
        _("the number of a context note"),
        _("Write the number of a context note, counted from 1, or leave the field out"),
    ),
    "context_notes": (_("a list"), _('Write a list such as [{{"path": "a.md"}}]')),
    "labels": (
        _("an object"),
        _('Write an object such as {{"correctness": 0.75, "utility": 1.0}}'),
    ),
}
_NOTE = (
    _("an object"),
    _('Write an object such as {{"path": "a.md"}}, or {{"title": "A", "text": "..."}}'),
)
_CLAIM = (_("an object"), _('Write an object such as {{"text": "...", "verdict": "supported"}}'))
_OTHER_KINDS = (
    (
        "question",
        "query",
        _(
            "The row belongs to a dataset of queries without answers. Use --answer-model to generate the answers"
            " first"
        ),
    ),
    (
        "query",
        "question",
        _(
            "The row belongs to a dataset of answers. Evaluate it with gigamind eval answers, without"
            " --answer-model"
        ),
    ),
)
_BLANK = (_("text"), _("Write a text that is not empty"))
_NO_TIME = (
    _("an ISO 8601 date or time"),
    _('Write the date or time as "2026-01-31" or "2026-01-31T09:00:00+09:00"'),
)


@dataclass(frozen=True, slots=True)
class RowError:
    """A problem of a row."""

    line: int  # 1-based, in the dataset's file
    item_id: str  # id of the row; "" if it could not be read
    field: str  # such as `expected_spans[0].start`; "" for the row as a whole
    message: Text  # the problem, without a full stop
    mend: Text  # the fix, without a full stop; a key of `gigamind dataset check --json`
    absent: bool = False  # whether the row names a note that the vault lacks

    def describe(self, path: Path) -> Message:
        """Return the problem in one line that starts with file and line."""
        place = f"{path}:{self.line}"
        if not self.field:
            return _("{place}: {problem}. {fix}.", place=place, problem=self.message, fix=self.mend)
        return _(
            '{place}: field "{field}": {problem}. {fix}.',
            place=place,
            field=self.field,
            problem=self.message,
            fix=self.mend,
        )


def shortened(value: object) -> str:
    """Return a value as JSON, cut to a length that fits a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def shortened_path(path: str) -> str:
    """Return a path as JSON, cut at its front, because the file name matters most."""
    text = json.dumps(path, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f'"…{text[2 - _LONGEST :]}'


def schema_errors(error: ValidationError, line: int, item_id: str) -> tuple[RowError, ...]:
    """Return one error for each field that breaks the schema."""
    return tuple(_schema_error(details, line, item_id) for details in error.errors())


def _schema_error(details: "ErrorDetails", line: int, item_id: str) -> RowError:
    field = field_name(details["loc"])
    if details["type"] == "missing":
        row: object = details["input"]
        # Another kind of dataset is recognised by the field that it has instead.
        of_other_kind = (
            fix
            for wanted, instead, fix in _OTHER_KINDS
            if field == wanted and isinstance(row, dict) and instead in row
        )
        fix = next(of_other_kind, _("Add this field: every row needs it"))
        return RowError(line, item_id, field, _("missing"), fix)
    if details["type"] == "json_invalid":
        # Python accepts half of a surrogate pair, but UTF-8 cannot represent it.
        reason = details.get("ctx", {}).get("error", details["msg"])
        fix = _(
            "Write one JSON object on one line, and escapes such as \\ud83d\\ude00 in complete pairs"
        )
        return RowError(line, item_id, "", _("invalid JSON: {reason}", reason=str(reason)), fix)
    expected, fix = _phrase(details)
    problem = _(
        "expected {expected}, got {value}", expected=expected, value=shortened(details["input"])
    )
    return RowError(line, item_id, field, problem, fix)


def _phrase(details: "ErrorDetails") -> tuple[Message, Message]:
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
        _("a valid value ({reason})", reason=details["msg"]),
        _("See the dataset format in docs/files.md"),
    )
    return _PHRASES.get(details["type"], fallback)
