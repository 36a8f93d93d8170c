"""Rewrite a query dataset after edits of the notes: each expected span gets the current position of its text."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from gigamind.datasets.check import CheckedDataset, CheckedQuery
from gigamind.datasets.write import write_lines
from gigamind.spans import Utf16
from gigamind.vault.notes import Vault


def write_reanchored(out: Path, checked: CheckedDataset, vault: Vault) -> int:
    """Write the dataset and return the number of changed rows.

    Raises:
        EvaluationError: the file cannot be written.
    """
    content = checked.dataset.path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    lines = content.decode().removesuffix("\n").split("\n")
    changed = 0
    for query in checked.queries:
        row = cast("dict[str, Any]", json.loads(lines[query.line - 1]))
        spans = list(_spans(query, vault))
        if row.get("expected_spans", []) != spans:
            row["expected_spans"] = spans
            lines[query.line - 1] = json.dumps(row, ensure_ascii=False)
            changed += 1
    write_lines(out, lines)
    return changed


def _spans(query: CheckedQuery, vault: Vault) -> Iterator[dict[str, object]]:
    for given, passage in zip(query.item.expected_spans, query.spans, strict=True):
        row = given.model_dump(exclude_none=True)
        note = vault.note(passage.note)
        if passage.span and note is not None:
            start, end = Utf16(note.text).span_from_code_points(passage.span)
            row |= {"start": start, "end": end}
            row |= {} if given.text is None else {"text": passage.text}
        yield row
