"""Reads a dataset of queries, links or answers: usable rows, and for all others what is wrong and how to mend it."""

import codecs
import difflib
import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, Literal, TypeVar, cast

from pydantic import ValidationError

from gigamind.datasets.row_errors import RowError, schema_errors, shortened
from gigamind.datasets.schema import AnswerItem, LinkItem, QueryItem, QuestionItem, Row
from gigamind.errors import DatasetError, InputError

_BOM = b"\xef\xbb\xbf"
_EXAMPLES: Mapping[type[Row], str] = {
    QueryItem: '{"id": "q1", "query": "...", "answerable": true, "expected_notes": ["note.md"]}',
    LinkItem: '{"id": "l1", "source_note": "a.md", "anchor": "...", "expected_links": ["b.md"]}',
    QuestionItem: '{"id": "a1", "question": "..."}',
    AnswerItem: '{"id": "a1", "question": "...", "answer": "...", "context_notes": [...]}',
}
_MOST_DIGITS = 300  # Python refuses to read 4 300, and a float ends at 308

Item = TypeVar("Item", QueryItem, LinkItem, QuestionItem)
DatasetKind = Literal["queries", "links", "questions"]


@dataclass(frozen=True, slots=True)
class Dataset(Generic[Item]):
    """A dataset as its file gives it.

    Attributes:
        items: usable rows in file order.
        lines: id of each usable row -> its 1-based line.
        errors: every problem of the other rows, in file order.
        warnings: what is odd but usable.
        sha256: `dataset_hash`, of the file's bytes, in hexadecimal.
    """

    path: Path
    items: tuple[Item, ...]
    lines: Mapping[str, int]
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    sha256: str


def dataset_kind(path: Path) -> DatasetKind:
    """What a dataset is of, by its first readable row: of links, when that has a `source_note` or an `anchor`.

    One with a `question` and no `query` is of questions, answered or not.

    Raises:
        InputError: as for `_read`.
    """
    parsed = (_parse(line, row.decode(errors="replace")) for line, row in _rows(_content(path)))
    nothing: dict[str, object] = {}
    first = next((fields for fields in parsed if isinstance(fields, dict)), nothing)
    if "query" in first:
        return "queries"
    return (
        "links"
        if {"source_note", "anchor"} & first.keys()
        else "questions"
        if "question" in first
        else "queries"
    )


def _read(path: Path, model: type[Item]) -> Dataset[Item]:
    """Read a dataset.  Byte order mark, CR LF and blank lines are allowed.

    Raises:
        InputError: the file is missing, a folder, or unreadable.
        DatasetError: the file holds no row.
    """
    content = _content(path)
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
        raise DatasetError(f"{path}: holds no row. Write one JSON object a line.")
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


def read_answers(path: Path) -> Dataset[QuestionItem]:
    """Read questions that are all answered.

    Raises:
        InputError, DatasetError: as for `_read`.
    """
    return _read(path, AnswerItem)


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise InputError(f"{path}: is a folder. Give a JSONL file.")
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. Check the path of the dataset.") from error
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}). Check its permissions."
        ) from error


def _refuse_other_formats(path: Path, content: bytes, model: type[Row]) -> None:
    """Say it once of a file that is wrong as a whole, not of each of its lines.

    Raises:
        InputError: it is UTF-16, one JSON array, or has no line that begins as an object does.
    """
    into = f"{path.stem}-rows.jsonl"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{path}: is UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 {path} > {into}")
    rows = list(_rows(content))
    if not rows:
        return
    line, row = rows[0]
    if row.startswith(b"[") and (len(rows) == 1 or not row.endswith(b"]")):
        raise InputError(
            f"{path}:{line}: is one JSON array. Write an object a line: jq -c '.[]' {path} > {into}"
        )
    if any(begun.startswith(b"{") for _, begun in rows):
        return
    begins = shortened(row.decode(errors="replace"))
    raise InputError(
        f"{path}:{line}: no JSON, but {begins}. Write an object a line: {_EXAMPLES[model]}"
    )


def _rows(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers."""
    for line, row in enumerate(content.removeprefix(_BOM).split(b"\n"), start=1):
        if row.strip():
            yield line, row.strip()


def _read_row(
    line: int, row: bytes, seen: dict[str, int], model: type[Item]
) -> Item | tuple[RowError, ...]:
    """The item of one row, or its errors.  `seen` maps each id so far to the line that has it, and grows."""
    decoded = _decode(line, row)
    if isinstance(decoded, RowError):
        return (decoded,)
    fields = _parse(line, decoded)
    if isinstance(fields, RowError):
        return (fields,)
    item_id = fields.get("id")
    item_id = item_id if isinstance(item_id, str) else ""
    if item_id in seen:
        message = f"{shortened(item_id)} is already the id of line {seen[item_id]}"
        return (RowError(line, item_id, "id", message, "Give every row an id of its own"),)
    if item_id:
        seen[item_id] = line
    try:
        return model.model_validate_json(decoded)
    except ValidationError as error:
        return schema_errors(error, line, item_id)


def _decode(line: int, row: bytes) -> str | RowError:
    try:
        return row.decode()
    except UnicodeDecodeError as error:
        message = f"invalid UTF-8 at byte {error.start} of the line"
        return RowError(
            line,
            "",
            "",
            message,
            "Convert the file: iconv -f CP949 -t UTF-8 (or whatever it is in)",
        )


class _BadRowError(ValueError):
    """A row that is JSON to Python and still no row for us."""

    def __init__(self, field: str, message: str, mend: str) -> None:
        super().__init__(message)
        self.field, self.message, self.mend = field, message, mend


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
        return RowError(line, "", error.field, error.message, error.mend)
    except json.JSONDecodeError as error:
        message = f"broken JSON at character {error.pos + 1} of the line: {error.msg}"
        return RowError(line, "", "", message, "Write one JSON object on one line")
    except RecursionError:
        return RowError(line, "", "", "nested too deeply", "Write a flat JSON object")
    if not isinstance(value, dict):
        message = f"expected a JSON object, got {shortened(value)}"
        return RowError(line, "", "", message, "Write one JSON object on one line")
    return cast("dict[str, object]", value)


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise _BadRowError(name, "appears more than once in one object", "Keep one")
    return dict(pairs)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise _BadRowError("", f"{number} is no JSON number", "Write a finite number or null")
    return value


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise _BadRowError("", f"a number of {len(digits)} digits", "Write it as text")
    return int(digits)


def _unknown_fields(path: Path, items: Sequence[Row], model: type[Row]) -> Iterator[str]:
    """One warning for each unknown field, with the number of rows that have it, in alphabetical order."""
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
    """The rows inside one field."""
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return [part for part in values if isinstance(part, Row)]


def _unknown(path: Path, prefix: str, rows: Counter[str], known: Collection[str]) -> Iterator[str]:
    for name, count in sorted(rows.items()):
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        guess = f'; did you mean "{close[0]}"?' if close else ""
        number = "1 row" if count == 1 else f"{count} rows"
        yield f'{path}: unknown field "{prefix}{name}" in {number} is kept and not used{guess}'
