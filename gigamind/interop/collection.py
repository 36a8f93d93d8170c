"""What a collection of another tool becomes: rows of our datasets, and its documents as notes of a vault."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from gigamind.datasets.row_errors import schema_errors
from gigamind.datasets.schema import AnswerItem, QueryItem
from gigamind.datasets.write import row_line
from gigamind.vault.identity import leaves_vault

_UNSAFE = re.compile(r'[\\/:*?"<>|%\x00-\x1f\x7f]|^[.\s]|[.\s]$')
_LONGEST = 200  # bytes of a file name; most file systems end at 255

Item = TypeVar("Item", QueryItem, AnswerItem)


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file became.

    Attributes:
        rows: of queries.jsonl, or of answers.jsonl.
        notes: path in the vault -> text; empty where the format has no documents.
        warnings: what is odd, and what was left out.
    """

    rows: Sequence[QueryItem] | Sequence[AnswerItem]
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Of the dataset's file."""
        return "answers.jsonl" if isinstance(self.rows[0], AnswerItem) else "queries.jsonl"

    def files(self) -> dict[str, str]:
        """Path in the folder -> text."""
        lines = "".join(row_line(row) + "\n" for row in self.rows)
        return {self.name: lines, **{f"notes/{path}": text for path, text in self.notes.items()}}


def judged_query(
    name: str, text: str, gains: Mapping[str, int], place: str, problems: list[str]
) -> QueryItem | None:
    """The row of a query with its judgements, document -> grade; without a relevant one it is unanswerable."""
    relevant = tuple(label(document) for document, gain in gains.items() if gain > 0)
    return checked_row(
        QueryItem,
        place,
        problems,
        id=name,
        query=text,
        answerable=bool(relevant),
        expected_notes=relevant,
        gains={label(document): gain for document, gain in gains.items()},
    )


def checked_row(
    model: type[Item],
    place: str,
    problems: list[str],
    **fields: Any,  # noqa: ANN401  checked by the model
) -> Item | None:
    """A row, or None and its problems, which grow by what is wrong at `place`."""
    try:
        return model(**fields)
    except ValidationError as error:
        for problem in schema_errors(error, 0, ""):
            problems.append(f'{place}: field "{problem.field}": {problem.message}. {problem.mend}.')  # noqa: PERF401
        return None


def unjudgeable(rows: Sequence[QueryItem]) -> tuple[str, ...]:
    """A word on queries without a relevant document, whose figures differ from those of other tools."""
    count = sum(not row.answerable for row in rows)
    warning = (
        f"{count} queries have no relevant document and became unanswerable:"
        " they are in no mean of a ranking, where trec_eval counts them as 0"
    )
    return (warning,) if count else ()


def label(document: str) -> str:
    """The name by which rows call a document: its id, so that run files and vault both know it."""
    return note_path(document) if leaves_vault(document) else document


def note_path(document: str) -> str:
    """A file for a document by its id; what not every file system can hold is percent-encoded."""
    name = _UNSAFE.sub(
        lambda match: f"%{ord(match[0]):02X}", unicodedata.normalize("NFC", document)
    )
    if len(name.encode()) > _LONGEST:
        digest = hashlib.sha256(document.encode()).hexdigest()[:12]
        name = f"{name.encode()[:_LONGEST].decode(errors='ignore')}-{digest}"
    return f"{name}.md"


def note_text(document: str, title: str, text: str) -> tuple[str, int]:
    """A note with a document's text, and the code point where that starts."""
    fields: list[str] = []
    if title.strip():
        fields.append(f"title: {_scalar(title.strip())}")
    if note_path(document) != f"{document}.md" or text.startswith(("---", "\ufeff")):
        fields.append(f"aliases: [{_scalar(document)}]")
    head = "---\n{}\n---\n".format("\n".join(fields)) if fields else ""
    return f"{head}{text}\n", len(head)


def _scalar(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())
