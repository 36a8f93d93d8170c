"""Describe the problems of a dataset row for the person who fixes it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from gigamind.i18n import Message, Text, _
from gigamind.loading import demand_of, field_name

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_LONGEST = 60  # characters of a value in a message

_EXAMPLES = {  # by field; other fields are texts
    "answerable": "true",
    "expected_notes": '["a", "b"]',
    "gains": '{"a.md": 2, "b.md": 0}',
    "expected_all_of": '[["a", "b"], ["c"]]',
    "expected_any_of": '[["a", "b"], ["c"]]',
    "expected_spans": '[{"note_path": "a.md", "start": 145, "end": 312}]',
    "difficulty": '"mid"',
    "expected_links": '["b.md"]',
    "anchor_range": '{"start": 145, "end": 152}',
    "label": '"accept"',
    "context_notes": '[{"path": "a.md"}, {"title": "A", "text": "..."}]',
    "labels": '{"correctness": 0.75, "utility": 1.0}',
    "claims": '[{"text": "...", "verdict": "supported"}]',
    "tags": '["policy"]',
    "created_at": '"2026-01-31T09:00:00+09:00"',
}
_OTHER_KINDS = {  # by the missing field and the one that the row has instead
    ("question", "query"): _(
        "The row belongs to a dataset of queries without answers. Use --answer-model to generate the answers first"
    ),
    ("query", "question"): _(
        "The row belongs to a dataset of answers. Evaluate it with gigamind eval answers, without --answer-model"
    ),
    ("context_notes", "contexts"): _(
        "The row has contexts as other tools write them. Convert the file: gigamind import table FILE --out FOLDER."
        " A run file of your system is read by --system run:FILE"
    ),
}


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
            for (wanted, instead), fix in _OTHER_KINDS.items()
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
    names = [str(part) for part in details["loc"]]
    name = next((part for part in reversed(names) if part in _EXAMPLES), names[0])
    fix = _(
        'Write a value such as "{field}": {example}',
        field=name,
        example=_EXAMPLES.get(name, '"..."'),
    )
    value = shortened(details["input"])
    problem = _("{demand}, not {value}", demand=demand_of(details), value=value)
    return RowError(line, item_id, field, problem, fix)
