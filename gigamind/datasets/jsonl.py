"""Read a dataset of queries, links or answers: usable rows, and problems of the others with how to fix them."""

import codecs
import difflib
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, cast

from pydantic import ValidationError

from gigamind.datasets.schema import AnswerItem, LinkItem, QueryItem, QuestionItem, Row
from gigamind.errors import DatasetError, InputError
from gigamind.i18n import Message, Text, _, n_
from gigamind.loading import demand_of, field_name, read_bytes
from gigamind.text import written_id

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
        return self.at(f"{path}:{self.line}")

    def at(self, place: str) -> Message:
        """Return the problem in one line that starts with its place."""
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


_BOM = b"\xef\xbb\xbf"
_EXAMPLE_ROWS: Mapping[type[Row], str] = {
    QueryItem: '{"id": "q1", "query": "...", "answerable": true, "expected_notes": ["note.md"]}',
    LinkItem: '{"id": "l1", "source_note": "a.md", "anchor": "...", "expected_links": ["b.md"]}',
    QuestionItem: '{"id": "a1", "question": "..."}',
    AnswerItem: '{"id": "a1", "question": "...", "answer": "...", "context_notes": [...]}',
}
_MOST_DIGITS = 300  # Python's limit is 4 300, a float's about 308

Item = TypeVar("Item", QueryItem, LinkItem, QuestionItem)
_DatasetKind = Literal["queries", "links", "questions"]


@dataclass(frozen=True, slots=True)
class Dataset(Generic[Item]):
    """A dataset as read from its file."""

    path: Path
    items: tuple[Item, ...]  # usable rows in file order
    lines: Mapping[str, int]  # id of each usable row -> its 1-based line
    errors: tuple[RowError, ...]  # every problem of the other rows, in file order
    warnings: tuple[Message, ...]  # anomalies that do not make a row unusable
    sha256: str  # `dataset_hash`, of the file's bytes, in hexadecimal


def dataset_kind(path: Path) -> _DatasetKind:
    """Return the kind by the first readable row, links by `source_note` or `anchor`; InputError as for `_read`."""
    parsed = (
        _parse(line, row.decode(errors="replace"))
        for line, row in _rows(read_bytes(path, _("the JSONL dataset")))
    )
    nothing: dict[str, object] = {}
    first = next((fields for fields in parsed if isinstance(fields, dict)), nothing)
    if "query" in first:
        return "queries"
    if {"source_note", "anchor"} & first.keys():
        return "links"
    return "questions" if "question" in first else "queries"


def _read(path: Path, model: type[Item]) -> Dataset[Item]:
    """Read a dataset. Byte order mark, CR LF and blank lines are allowed.

    Raises:
        InputError: the file is missing, a folder, or unreadable.
        DatasetError: the file has no rows.
    """
    content = read_bytes(path, _("the JSONL dataset"))
    _refuse_other_formats(path, content, model)
    items: list[Item] = []
    errors: list[RowError] = []
    seen: dict[str, int] = {}
    for line, row in _rows(content):
        outcome = _read_row(line, row, seen, model)
        if isinstance(outcome, tuple):
            errors += outcome
        else:
            items.append(outcome)
    if not items and not errors:
        raise DatasetError("{file}: no rows. Write one JSON object per line.", file=path)
    return Dataset(
        path=path,
        items=tuple(items),
        lines={item.id: seen[item.id] for item in items},
        errors=tuple(errors),
        warnings=tuple(_unknown_fields(path, items, model)),
        sha256=hashlib.sha256(content).hexdigest(),
    )


read_queries = partial(_read, model=QueryItem)
read_links = partial(_read, model=LinkItem)
read_questions = partial(_read, model=QuestionItem)
read_answers: Callable[[Path], Dataset[QuestionItem]] = partial(_read, model=AnswerItem)
"""Read questions that all have answers."""


def _refuse_other_formats(path: Path, content: bytes, model: type[Row]) -> None:
    """Raise one InputError for a file that is UTF-16, one JSON array or no JSON, instead of one per line."""
    into = f"{path.stem}-rows.jsonl"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(
            "{file}: is UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 {file} > {output}",
            file=path,
            output=into,
        )
    rows = list(_rows(content))
    if not rows:
        return
    line, row = rows[0]
    if row.startswith(b"[") and (len(rows) == 1 or not row.endswith(b"]")):
        raise InputError(
            "{file}:{line}: is one JSON array. Write one object per line: jq -c '.[]' {file} > {output}",
            file=path,
            line=line,
            output=into,
        )
    if any(start.startswith(b"{") for _line, start in rows):
        return
    raise InputError(
        "{file}:{line}: not JSON: {text}. Write one object per line: {example}",
        file=path,
        line=line,
        text=shortened(row.decode(errors="replace")),
        example=_EXAMPLE_ROWS[model],
    )


def _rows(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield non-blank lines with their numbers."""
    for line, row in enumerate(content.removeprefix(_BOM).split(b"\n"), start=1):
        if row.strip():
            yield line, row.strip()


def _read_row(
    line: int, row: bytes, seen: dict[str, int], model: type[Item]
) -> Item | tuple[RowError, ...]:
    """Return the item of a row, or its errors. `seen` maps each id so far to its line, and grows."""
    try:
        decoded = row.decode()
    except UnicodeDecodeError as error:
        problem = _("invalid UTF-8 at byte {byte} of the line", byte=error.start)
        fix = _(
            "Convert the file to UTF-8: iconv -f CP949 -t UTF-8 (replace CP949 with the encoding of your file)"
        )
        return (RowError(line, "", "", problem, fix),)
    fields = _parse(line, decoded)
    if isinstance(fields, RowError):
        return (fields,)
    given = written_id(fields.get("id"))
    item_id = given if isinstance(given, str) else ""
    if item_id in seen:
        problem = _(
            "line {line} already has the id {id}", id=shortened(item_id), line=seen[item_id]
        )
        return (RowError(line, item_id, "id", problem, _("Give every row a unique id")),)
    if item_id:
        seen[item_id] = line
    try:
        return model.model_validate_json(decoded)
    except ValidationError as error:
        return schema_errors(error, line, item_id)


class _BadRowError(ValueError):
    """A row that Python accepts as JSON but that is not valid here: its field, the problem and the fix."""


def _parse(line: int, row: str) -> dict[str, object] | RowError:
    try:
        value: object = json.loads(
            row,
            object_pairs_hook=_without_repetition,
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_whole,
        )
    except _BadRowError as error:
        return RowError(line, "", *error.args)
    except json.JSONDecodeError as error:
        problem = _(
            "invalid JSON at character {position} of the line: {reason}",
            position=error.pos + 1,
            reason=error.msg,
        )
        return RowError(line, "", "", problem, _("Write one JSON object on one line"))
    except RecursionError:
        fix = _("Write a JSON object with less nesting")
        return RowError(line, "", "", _("the content is nested too deeply"), fix)
    if not isinstance(value, dict):
        problem = _("expected a JSON object, got {value}", value=shortened(value))
        return RowError(line, "", "", problem, _("Write one JSON object on one line"))
    return cast("dict[str, object]", value)


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for name, count in Counter(name for name, _value in pairs).items():
        if count > 1:
            raise _BadRowError(
                name,
                _("the field appears more than once in one JSON object"),
                _("Keep one field of this name and remove the others"),
            )
    return dict(pairs)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        problem = _("{number} is not a JSON number", number=number)
        raise _BadRowError("", problem, _("Write a finite number or null"))
    return value


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        problem = _("the number is too long: {digits:,} digits", digits=len(digits))
        raise _BadRowError("", problem, _("Write the number as text in double quotes"))
    return int(digits)


def _unknown_fields(path: Path, items: Sequence[Row], model: type[Row]) -> Iterator[Message]:
    rows = Counter(name for item in items for name in item.model_extra or {})
    yield from _unknown(path, "", rows, model.model_fields)
    for field in model.model_fields:
        parts = [_parts(getattr(item, field)) for item in items]
        inner = next((type(part) for own in parts for part in own), None)
        if inner is not None:
            names = (
                {name for part in own for name in part.model_extra or {}} for own in parts if own
            )
            rows = Counter(name for own in names for name in own)
            prefix = f"{field}[]." if isinstance(getattr(items[0], field), tuple) else f"{field}."
            yield from _unknown(path, prefix, rows, inner.model_fields)


def _parts(value: object) -> list[Row]:
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return [part for part in values if isinstance(part, Row)]


def _unknown(
    path: Path, prefix: str, rows: Counter[str], known: Collection[str]
) -> Iterator[Message]:
    for name, count in sorted(rows.items()):
        warning = n_(
            '{file}: unknown field "{field}" in {n} row is kept but not used',
            '{file}: unknown field "{field}" in {n:,} rows is kept but not used',
            n=count,
            file=path,
            field=f"{prefix}{name}",
        )
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        if close:
            warning = _('{warning}. Did you mean "{field}"?', warning=warning, field=close[0])
        yield warning
