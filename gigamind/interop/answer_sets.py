"""Import test sets of ragas and deepeval: a question, the system's answer or the reference, and its contexts."""

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from gigamind.datasets.schema import AnswerItem, ContextNote
from gigamind.i18n import Message, _, n_
from gigamind.interop.collection import Imported, checked_row
from gigamind.interop.source import Fields, table_rows
from gigamind.loading import refuse_problems

Answered = Literal["response", "reference"]


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names of a tool and its older versions; the first one with a value is used."""

    question: Sequence[str]
    answer: Sequence[str]
    reference: Sequence[str]
    contexts: Sequence[str]  # contexts of the answer; if a row has none, the reference's contexts
    reference_contexts: Sequence[str]
    separator: str = ""  # between contexts in a CSV cell; "" if it holds a list


RAGAS = Columns(
    question=("user_input", "question"),
    answer=("response", "answer"),
    reference=("reference", "ground_truth", "ground_truths"),
    contexts=("retrieved_contexts", "contexts"),
    reference_contexts=("reference_contexts",),
)
DEEPEVAL = Columns(
    question=("input",),
    answer=("actual_output",),
    reference=("expected_output",),
    contexts=("retrieval_context",),
    reference_contexts=("context",),
    separator="|",
)


def read_answers(path: Path, columns: Columns, answered: Answered) -> Imported:
    """Read a test set in CSV, JSON or JSON lines; rows without the answer to judge are left out.

    Raises:
        InputError: the file cannot be read or used; names the lines.
    """
    rows: list[AnswerItem] = []
    problems: list[Message] = []
    unanswered = without_context = 0
    table = table_rows(path, _("the test set"))
    taken: set[str] = set()
    for number, (place, fields) in enumerate(table, start=1):
        question = _text(fields, columns.question)
        answer = _text(fields, columns.answer if answered == "response" else columns.reference)
        if not question:
            problems.append(
                _(
                    "{place}: none of the columns {columns} contains a question",
                    place=place,
                    columns=columns.question,
                )
            )
            continue
        if not answer:
            unanswered += 1
            continue
        own, others = columns.contexts, columns.reference_contexts
        if answered == "reference":
            own, others = others, own
        contexts = _texts(fields, own, columns.separator) or _texts(
            fields, others, columns.separator
        )
        without_context += not contexts
        row = checked_row(
            AnswerItem,
            place,
            problems,
            id=_id(fields, number, taken),
            question=question,
            answer=answer,
            context_notes=tuple(
                ContextNote(title=f"context {at}", text=text)
                for at, text in enumerate(contexts, start=1)
            ),
        )
        if row:
            rows.append(row)
    if not rows and not problems:
        problems.append(
            _(
                "{file}: no row contains an answer to judge (--answer {field}). Let your system answer first, or"
                " import with --answer {other}.",
                file=path,
                field=answered,
                other="reference" if answered == "response" else "response",
            )
        )
    refuse_problems(problems)
    warnings: list[Message] = []
    if unanswered:
        warnings.append(
            n_(
                "{n} of {total} rows contains no answer to judge (--answer {field}) and was not imported",
                "{n:,} of {total:,} rows contain no answer to judge (--answer {field}) and were not imported",
                n=unanswered,
                total=len(table),
                field=answered,
            )
        )
    if without_context:
        warnings.append(
            n_(
                "{n} row has no context, so its answer cannot be checked against a source",
                "{n:,} rows have no context, so their answers cannot be checked against a source",
                n=without_context,
            )
        )
    return Imported(rows, {}, tuple(warnings))


def _id(fields: Fields, number: int, taken: set[str]) -> str:
    given = next((str(fields[name]) for name in ("id", "name") if fields.get(name)), "")
    name = given if given.strip() and given not in taken else f"{number:04d}"
    taken.add(name)
    return name


def _text(fields: Fields, names: Sequence[str]) -> str:
    for name in names:
        value = fields.get(name)
        if isinstance(value, list):  # ground_truths of old versions
            value = next(iter(cast("list[object]", value)), "")
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _texts(fields: Fields, names: Sequence[str], separator: str) -> list[str]:
    for name in names:
        value = fields.get(name)
        is_list = isinstance(value, list)
        parts = cast("list[object]", value) if is_list else _cell(value, separator)
        texts = [str(part) for part in parts if str(part).strip()]
        if texts:
            return texts
    return []


def _cell(value: object, separator: str) -> list[object]:
    """Return the texts of a CSV cell; a cell without a list is one text."""
    if not isinstance(value, str) or not value.strip():
        return []
    if separator:
        return [*value.split(separator)]
    for read in (json.loads, ast.literal_eval):
        try:
            parts = cast("object", read(value))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(parts, list):
            return cast("list[object]", parts)
    return [value]
