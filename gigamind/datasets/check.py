"""Holds a dataset against a vault: which notes and passages its labels really mean."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gigamind.datasets.jsonl import Dataset
from gigamind.datasets.row_checker import MEND_SPAN, RowChecker
from gigamind.datasets.row_errors import RowError, shortened
from gigamind.datasets.schema import ExpectedSpan, QueryItem
from gigamind.spans import Passage, Span
from gigamind.vault.identity import Collision, Identities
from gigamind.vault.notes import Note, Vault

_MOST_SEARCHES = 500  # each takes some milliseconds, and in an older vault every span may differ

FindAgain = Callable[[str, str], Span | None]
"""Where a text, the first, stands in a note's text today; `None` unless that is sure."""


def _nowhere(text: str, note_text: str) -> None:
    del text, note_text


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
    dataset: Dataset[QueryItem],
    vault: Vault,
    identities: Identities,
    find_again: FindAgain = _nowhere,
) -> CheckedDataset:
    """Find every expected note and span in the vault; `find_again` is asked for spans of notes that were edited."""
    checker = _Checker(dataset, vault, identities, find_again=find_again)
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
class _Checker(RowChecker[QueryItem]):
    find_again: FindAgain = _nowhere
    _searches: int = 0

    def check(self, item: QueryItem) -> CheckedQuery | None:
        before = len(self.errors)
        self._check_labels(item)
        notes = [
            self.note(item, f"expected_notes[{index}]", name)
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
            self.reject(
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
                self.reject(
                    item,
                    name,
                    "not empty, though answerable is false",
                    "Empty it, or set answerable to true",
                )

    def _passage(
        self, item: QueryItem, name: str, span: ExpectedSpan, qrels: Mapping[str, int]
    ) -> Passage | None:
        note = self.note(item, f"{name}.note_path", span.note_path)
        if note is None:
            return None
        try:
            found = self.units(note).span_to_code_points(span.start, span.end)
        except ValueError as error:
            mend = self._today(span, note) or MEND_SPAN
            self.reject(item, name, f"{error} of {note.path}", mend)
            return None
        if not found:
            self.reject(item, name, f"empty at {span.start} of {note.path}", MEND_SPAN)
            return None
        text = found.slice(note.text)
        if note.path not in qrels:
            self.warn(item, name, f"{note.path} is not among the expected notes")
        if span.text is not None and span.text != text:
            message = f"{note.path} says {shortened(text)}, the dataset {shortened(span.text)}"
            today = self._today(span, note)
            self.warn(item, name, f"{message}. {today}" if today else message)
        return Passage(note.path, text, found)

    def _today(self, span: ExpectedSpan, note: Note) -> str:
        """Where the text of a span has moved to; empty when nobody can tell."""
        self._searches += 1
        if not span.text or self._searches > _MOST_SEARCHES:
            return ""
        found = self.find_again(span.text, note.text)
        if found is None:
            return ""
        start, end = self.units(note).span_from_code_points(found)
        return f'Its text stands at "start": {start}, "end": {end} now'
