"""Convert a collection of another tool: rows for a dataset, documents as notes of a vault."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from gigamind.datasets.jsonl import schema_errors
from gigamind.datasets.schema import AnswerItem, QueryItem
from gigamind.i18n import Message
from gigamind.interop.tables import json_lines_text
from gigamind.vault.identity import leaves_vault

_UNSAFE = re.compile(r'[\\/:*?"<>|%\x00-\x1f\x7f]|^[.\s]|[.\s]$')
RUN = "run.jsonl"
"""The file of rankings that an import writes."""
_LONGEST = 200  # bytes of a file name; most file systems allow 255

_Item = TypeVar("_Item", QueryItem, AnswerItem)


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    rows: Sequence[QueryItem] | Sequence[AnswerItem]  # of queries.jsonl or answers.jsonl
    notes: Mapping[str, str] = field(default_factory=dict[str, str])  # by path; may be empty
    warnings: tuple[Message, ...] = ()  # anomalies and what was left out
    run: Mapping[str, object] = field(default_factory=dict[str, object])  # hits by query

    @property
    def name(self) -> str:
        """Return the file name of the dataset."""
        return "answers.jsonl" if isinstance(self.rows[0], AnswerItem) else "queries.jsonl"

    def files(self) -> dict[str, str]:
        """Return path in the folder -> text."""
        run = [{"id": name, "hits": hits} for name, hits in self.run.items()]
        return {
            self.name: "".join(row.json_line() + "\n" for row in self.rows),
            **({RUN: json_lines_text(run)} if run else {}),
            **{f"notes/{path}": text for path, text in self.notes.items()},
        }


def checked_row(
    model: type[_Item],
    place: str,
    problems: list[Message],
    **fields: Any,  # noqa: ANN401  checked by the model
) -> _Item | None:
    """Return a row; if it is invalid, append to `problems` and return None."""
    try:
        return model.model_validate(fields, strict=False)  # tuples are lists in files
    except ValidationError as error:
        problems += [problem.at(place) for problem in schema_errors(error, 0, "")]
        return None


def label(document: str) -> str:
    """Return the name that rows use for a document: its id, which both run files and the vault know."""
    return note_path(document) if leaves_vault(document) else document


def note_path(document: str) -> str:
    """Return the file name for a document id; characters that some file systems reject are percent-encoded."""
    name = _UNSAFE.sub(
        lambda match: f"%{ord(match[0]):02X}", unicodedata.normalize("NFC", document)
    )
    if len(name.encode()) > _LONGEST:
        digest = hashlib.sha256(document.encode()).hexdigest()[:12]
        name = f"{name.encode()[:_LONGEST].decode(errors='ignore')}-{digest}"
    return f"{name}.md"


def note_text(document: str, title: str, text: str) -> tuple[str, int]:
    """Return a note with a document's text, and the code point where that text starts."""
    fields: list[str] = []
    if title.strip():
        fields.append(f"title: {_scalar(title.strip())}")
    if note_path(document) != f"{document}.md" or text.startswith(("---", "\ufeff")):
        fields.append(f"aliases: [{_scalar(document)}]")
    head = "---\n{}\n---\n".format("\n".join(fields)) if fields else ""
    return f"{head}{text}\n", len(head)


def _scalar(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())
