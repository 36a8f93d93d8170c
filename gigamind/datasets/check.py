"""Holds a dataset against a vault: which notes and passages its labels really mean."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.row_errors import RowError, shortened
from gigamind.datasets.schema import ExpectedSpan, QueryItem
from gigamind.spans import Passage, Utf16
from gigamind.vault.identity import Collision, Identities, leaves_vault
from gigamind.vault.notes import Note, Vault

_MOST_SUGGESTIONS = (
    20  # each takes half a second in 10 000 notes, and another vault's dataset misses them all
)
_MEND_SPAN = "Count UTF-16 code units from the start of the file: start inclusive, end exclusive"


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """One query whose labels were found in the vault.

    Attributes:
        line: 1-based, in the dataset's file.
        qrels: path of each expected note -> gain, always 1.
        spans: the expected spans, in code points, with the text that stands there now.
    """

    item: QueryItem
    line: int
    qrels: Mapping[str, int]
    spans: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class CheckedDataset:
    """A dataset held against a vault.

    Attributes:
        queries: usable ones in file order.
        errors: all problems of all other rows, those of reading the file included, in file order.
        warnings: what is odd but usable, collisions included.
        collisions: ambiguous names met, each identifier once; errors under `--strict`.
    """

    dataset: Dataset[QueryItem]
    queries: tuple[CheckedQuery, ...]
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    collisions: tuple[Collision, ...]


def check_queries(
    dataset: Dataset[QueryItem], vault: Vault, identities: Identities
) -> CheckedDataset:
    """Find every expected note and span in the vault."""
    checker = _Checker(dataset, vault, identities)
    checked = [checker.check(item) for item in dataset.items]
    queries = tuple(query for query in checked if query is not None)
    collisions = tuple(checker.collisions.values())
    return CheckedDataset(
        dataset=dataset,
        queries=queries,
        errors=tuple(sorted([*dataset.errors, *checker.errors], key=lambda error: error.line)),
        warnings=(*dataset.warnings, *checker.warnings, *map(str, collisions)),
        collisions=collisions,
    )


@dataclass(slots=True)
class _Checker:
    dataset: Dataset[QueryItem]
    vault: Vault
    identities: Identities
    errors: list[RowError] = field(default_factory=list[RowError])
    warnings: list[str] = field(default_factory=list[str])
    collisions: dict[str, Collision] = field(default_factory=dict[str, Collision])
    _units: dict[str, Utf16] = field(default_factory=dict[str, Utf16])
    _suggestions: dict[str, str] = field(default_factory=dict[str, str])

    def check(self, item: QueryItem) -> CheckedQuery | None:
        before = len(self.errors)
        self._check_labels(item)
        notes = [
            self._note(item, f"expected_notes[{index}]", name)
            for index, name in enumerate(item.expected_notes)
        ]
        qrels = {note.path: 1 for note in notes if note is not None}
        spans = [
            self._passage(item, f"expected_spans[{index}]", span, qrels)
            for index, span in enumerate(item.expected_spans)
        ]
        if len(self.errors) > before:
            return None
        found = tuple(passage for passage in spans if passage is not None)
        return CheckedQuery(item, self.dataset.lines[item.id], qrels, found)

    def _check_labels(self, item: QueryItem) -> None:
        if item.answerable and not item.expected_notes:
            self._reject(
                item,
                "expected_notes",
                "empty, though the query is answerable",
                "Name a note that answers it, or set answerable to false",
            )
        for name, labels in (
            ("expected_notes", item.expected_notes),
            ("expected_spans", item.expected_spans),
        ):
            if labels and not item.answerable:
                self._reject(
                    item,
                    name,
                    "not empty, though answerable is false",
                    "Empty it, or set answerable to true",
                )

    def _note(self, item: QueryItem, name: str, path: str) -> Note | None:
        if leaves_vault(path):
            self._reject(
                item,
                name,
                f"{shortened(path)} leaves the vault",
                "Write the path relative to the notes folder",
            )
            return None
        resolution = self.identities.resolve(path)
        if resolution is None:
            self._reject(
                item, name, f"no note {shortened(path)} in {self.vault.root}", self._suggest(path)
            )
            return None
        if resolution.collision is not None:
            self.collisions.setdefault(resolution.identifier, resolution.collision)
        return resolution.note

    def _passage(
        self, item: QueryItem, name: str, span: ExpectedSpan, qrels: Mapping[str, int]
    ) -> Passage | None:
        note = self._note(item, f"{name}.note_path", span.note_path)
        if note is None:
            return None
        if note.path not in self._units:
            self._units[note.path] = Utf16(note.text)
        try:
            found = self._units[note.path].span_to_code_points(span.start, span.end)
        except ValueError as error:
            self._reject(item, name, f"{error} of {note.path}", _MEND_SPAN)
            return None
        if not found:
            self._reject(item, name, f"empty at {span.start} of {note.path}", _MEND_SPAN)
            return None
        text = found.slice(note.text)
        if note.path not in qrels:
            self._warn(item, name, f"{note.path} is not among the expected notes")
        if span.text is not None and span.text != text:
            self._warn(
                item,
                name,
                f"{note.path} says {shortened(text)}, the dataset {shortened(span.text)}",
            )
        return Passage(note.path, text, found)

    def _suggest(self, path: str) -> str:
        if path not in self._suggestions and len(self._suggestions) < _MOST_SUGGESTIONS:
            paths = [note.path for note in self.vault.notes]
            close = difflib.get_close_matches(path, paths, n=1)
            self._suggestions[path] = (
                f"Write {shortened(close[0])}, if that is meant" if close else ""
            )
        return self._suggestions.get(path) or "Check the path, relative to the notes folder"

    def _reject(self, item: QueryItem, name: str, message: str, mend: str) -> None:
        self.errors.append(RowError(self.dataset.lines[item.id], item.id, name, message, mend))

    def _warn(self, item: QueryItem, name: str, message: str) -> None:
        self.warnings.append(
            f'{self.dataset.path}:{self.dataset.lines[item.id]}: field "{name}": {message}'
        )
