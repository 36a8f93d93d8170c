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
from typing import Generic, Literal, TypeVar, cast

from pydantic import ValidationError

from gigamind.datasets.row_errors import RowError, schema_errors, shortened
from gigamind.datasets.schema import AnswerItem, LinkItem, QueryItem, QuestionItem, Row
from gigamind.errors import DatasetError, InputError
from gigamind.i18n import Message, _, n_
from gigamind.loading import read_bytes
from gigamind.text import written_id

_BOM = b"\xef\xbb\xbf"
_EXAMPLES: Mapping[type[Row], str] = {
    QueryItem: '{"id": "q1", "query": "...", "answerable": true, "expected_notes": ["note.md"]}',
    LinkItem: '{"id": "l1", "source_note": "a.md", "anchor": "...", "expected_links": ["b.md"]}',
    QuestionItem: '{"id": "a1", "question": "..."}',
    AnswerItem: '{"id": "a1", "question": "...", "answer": "...", "context_notes": [...]}',
}
_MOST_DIGITS = 300  # Python's limit is 4 300, a float's about 308

Item = TypeVar("Item", QueryItem, LinkItem, QuestionItem)
DatasetKind = Literal["queries", "links", "questions"]


@dataclass(frozen=True, slots=True)
class Dataset(Generic[Item]):
    """A dataset as read from its file."""

    path: Path
    items: tuple[Item, ...]  # usable rows in file order
    lines: Mapping[str, int]  # id of each usable row -> its 1-based line
    errors: tuple[RowError, ...]  # every problem of the other rows, in file order
    warnings: tuple[Message, ...]  # anomalies that do not make a row unusable
    sha256: str  # `dataset_hash`, of the file's bytes, in hexadecimal


def dataset_kind(path: Path) -> DatasetKind:
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
        example=_EXAMPLES[model],
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
