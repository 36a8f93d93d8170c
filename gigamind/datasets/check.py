"""Holds the rows of a dataset against a vault, those of queries whole: what they name must be there.

A row that cannot be used is told with its line and what is wrong; the others go on.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Generic

from gigamind.datasets.jsonl import Dataset, Item
from gigamind.datasets.row_errors import RowError, shortened, shortened_path
from gigamind.datasets.schema import ExpectedSpan, QueryItem
from gigamind.spans import Passage, Span, Utf16
from gigamind.vault.identity import Collision, Identities, leaves_vault
from gigamind.vault.notes import Note, Vault
from gigamind.wording import warning

# Each takes half a second in 10 000 notes, and another vault's dataset misses them all.
_MOST_SUGGESTIONS = 20
MEND_SPAN = "Count UTF-16 code units from the start of the file: start inclusive, end exclusive"


@dataclass(frozen=True, slots=True)
class CheckedRows(Generic[Item]):
    """A dataset held against a vault; its usable rows stand in the class of its kind, in file order.

    Attributes:
        errors: all problems of all other rows, those of reading the file included, in file order.
        warnings: what is odd but usable, collisions included.
        collisions: ambiguous names met, each identifier once; errors under `--strict`.
        fits: whether the vault has any of the notes that rows name.
    """

    dataset: Dataset[Item]
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    collisions: tuple[Collision, ...]
    fits: bool

    @property
    def rows(self) -> int:
        """All rows of the file, blank lines apart."""
        return len(self.dataset.lines) + len({error.line for error in self.dataset.errors})

    @property
    def rejected(self) -> int:
        """Rows that have errors; one may have several."""
        return len({error.line for error in self.errors})

    @property
    def proves_nothing(self) -> bool:
        """Whether the usable rows would fit any vault, though others are meant for this one."""
        return False

    def why_unusable(self, least: float) -> str | None:
        """Why no figure of these rows would be one of the dataset, with the likeliest cause; None where it would.

        Args:
            least: share of the rows that must be usable, in [0, 1]; one row always must.
        """
        if self.proves_nothing:
            return f"no answerable row can be used. {self._cause()}"
        usable = self.rows - self.rejected
        if usable and usable >= least * self.rows:
            return None
        asked = f", and --min-rows asks for a share of {least:g}" if usable else ""
        return f"{usable} of {self.rows} rows can be used{asked}. {self._cause()}"

    def _cause(self) -> str:
        absent = len({error.line for error in self.errors if error.absent})
        unread = len({error.line for error in self.dataset.errors})
        if absent and not self.fits:
            return "None of the notes of this dataset is in this vault. Is it the dataset of another vault?"
        if absent * 2 > self.rejected:
            return "Most of the others name notes this vault lacks. Is it the dataset of another vault?"
        if unread * 2 > self.rejected:
            return "Most of the others are not as the format asks. Is it a dataset of another kind?"
        return "The others have labels that cannot be used."


@dataclass(slots=True)
class RowChecker(Generic[Item]):
    """Holds the rows of one dataset against one vault, and collects what is wrong.

    Attributes:
        collisions: ambiguous names met, by identifier.
    """

    dataset: Dataset[Item]
    vault: Vault
    identities: Identities
    errors: list[RowError] = field(default_factory=list[RowError])
    warnings: list[str] = field(default_factory=list[str])
    fits: bool = False
    collisions: dict[str, Collision] = field(default_factory=dict[str, Collision])
    _units: dict[str, Utf16] = field(default_factory=dict[str, Utf16])
    _suggestions: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, item: Item, name: str, path: str) -> Note | None:
        """The note that a row names, or an error of the row in the field `name`."""
        if leaves_vault(path):
            mend = "Write the path relative to the notes folder"
            self.reject(item, name, f"{shortened(path)} leaves the vault", mend)
            return None
        resolution = self.identities.resolve(path)
        if resolution is None:
            message = f"no note {shortened_path(path)} in {self.vault.root}"
            self.reject(item, name, message, self._suggest(path), absent=True)
            return None
        self.fits = True
        if resolution.collision is not None:
            self.collisions.setdefault(resolution.identifier, resolution.collision)
        return resolution.note

    def outcome(
        self, *odd: str
    ) -> tuple[Dataset[Item], tuple[RowError, ...], tuple[str, ...], tuple[Collision, ...], bool]:
        """The fields of `CheckedRows`, with `odd` among the warnings."""
        errors = sorted([*self.dataset.errors, *self.errors], key=lambda error: error.line)
        collisions = tuple(self.collisions.values())
        warnings = (*self.dataset.warnings, *odd, *self.warnings, *(collision.message for collision in collisions))
        return self.dataset, tuple(errors), warnings, collisions, self.fits

    def units(self, note: Note) -> Utf16:
        """Converter of offsets in a note, made once a note."""
        if note.path not in self._units:
            self._units[note.path] = Utf16(note.text)
        return self._units[note.path]

    def _suggest(self, path: str) -> str:
        if path not in self._suggestions and len(self._suggestions) < _MOST_SUGGESTIONS:
            named: dict[str, list[str]] = {}
            for note in self.vault.notes:
                named.setdefault(PurePosixPath(note.path).stem, []).append(note.path)
            name = PurePosixPath(path).stem
            for close in difflib.get_close_matches(name, named, n=1, cutoff=_one_letter_off(name)):
                if len(named[close]) == 1:  # else nothing tells which index.md is meant
                    mend = f"Write {shortened_path(named[close][0])}, if that is meant"
                    self._suggestions[path] = mend
            self._suggestions.setdefault(path, "")
        return self._suggestions.get(path) or "Check the path, relative to the notes folder"

    def reject(
        self, item: Item, name: str, message: str, mend: str, *, absent: bool = False
    ) -> None:
        """Say that a row cannot be used."""
        line = self.dataset.lines[item.id]
        self.errors.append(RowError(line, item.id, name, message, mend, absent))

    def warn(self, item: Item, name: str, message: str) -> None:
        """Say that a row is odd but usable."""
        place = f"{self.dataset.path}:{self.dataset.lines[item.id]}"
        self.warnings.append(f'{place}: field "{name}": {message}')


def _one_letter_off(name: str) -> float:
    """The likeness of names that differ in one letter, or two that changed places; of folders nothing is asked.

    So typos and moved files are proposed.  Of the 70 names in examples/vault none is so near to another, and each that
    is misspelt by one letter finds its own.  The default of difflib, over paths, proposed another note for 60 of them.
    """
    return max(0.5, 1 - 1 / max(1, len(name)) - 1e-9)


_MOST_SEARCHES = 500  # each takes some milliseconds, and in an older vault every span may differ

FindAgain = Callable[[str, str], Span | None]
"""Where a text, the first, stands in a note's text today; `None` unless that is sure."""


def _nowhere(text: str, note_text: str) -> None:
    del text, note_text


NOWHERE = Span(0, 0)
"""Of an expected span whose text its note does not hold any more: no evidence matches it by position."""

Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """One query whose labels were found in the vault.

    Attributes:
        line: 1-based, in the dataset's file.
        qrels: path of each labelled note -> gain: its grade, or 1.
        spans: the expected spans, in code points, with the text that stands there now: each where its `text` stands,
            for the note may have been edited above it; one whose text is gone is `NOWHERE` with the text of the row.
        groups: `expected_all_of` and `expected_any_of`, by path.
    """

    item: QueryItem
    line: int
    qrels: Mapping[str, int]
    spans: tuple[Passage, ...]
    groups: tuple[Groups, Groups] = ((), ())

    @property
    def gone(self) -> int:
        """Expected spans whose text is no longer in their note."""
        return sum(not span.span for span in self.spans)

    @property
    def relevant(self) -> tuple[str, ...]:
        """The expected notes, by path."""
        return tuple(note for note, gain in self.qrels.items() if gain > 0)

    @property
    def is_judged(self) -> bool:
        """Whether a note that no label names is unjudged, and not known to be irrelevant."""
        return self.item.gains is not None


@dataclass(frozen=True, slots=True)
class CheckedDataset(CheckedRows[QueryItem]):
    """A dataset of queries held against a vault."""

    queries: tuple[CheckedQuery, ...]

    @property
    def proves_nothing(self) -> bool:
        """Unanswerable rows name no note, so they fit every vault."""
        asked = any(item.answerable for item in self.dataset.items)
        return asked and not any(query.item.answerable for query in self.queries)


def check_queries(
    dataset: Dataset[QueryItem],
    vault: Vault | None,
    identities: Identities,
    find_again: FindAgain = _nowhere,
) -> CheckedDataset:
    """Find every expected note and span in the vault; `find_again` is asked for spans of notes that were edited.

    Without a vault, notes go by the names that rows give them, and spans are nowhere.
    """
    known = vault or Vault(Path(), (), ())
    checker = _QueryChecker(dataset, known, identities, find_again=find_again)
    checker.has_vault = vault is not None
    checked = [checker.check(item) for item in dataset.items]
    queries = tuple(query for query in checked if query is not None)
    return CheckedDataset(*checker.outcome(*checker.told()), queries)


@dataclass(slots=True)
class _QueryChecker(RowChecker[QueryItem]):
    find_again: FindAgain = _nowhere
    has_vault: bool = True
    moved: dict[str, None] = field(default_factory=dict[str, None])
    gone: dict[str, None] = field(default_factory=dict[str, None])
    _searches: int = 0

    def check(self, item: QueryItem) -> CheckedQuery | None:
        before = len(self.errors)
        self._check_labels(item)
        expected = self._paths(item, "expected_notes", item.expected_notes)
        groups = (
            self._groups(item, "expected_all_of", item.expected_all_of),
            self._groups(item, "expected_any_of", item.expected_any_of),
        )
        grouped = [path for kind in groups for group in kind for path in group]
        qrels = dict.fromkeys((*expected, *grouped), 1)
        self._grade(item, qrels)
        spans = [
            self._passage(item, f"expected_spans[{index}]", span, qrels)
            for index, span in enumerate(item.expected_spans if self.has_vault else ())
        ]
        if len(self.errors) > before:
            return None
        passages = tuple(passage for passage in spans if passage is not None)
        return CheckedQuery(item, self.dataset.lines[item.id], qrels, passages, groups)

    def _paths(self, item: QueryItem, name: str, notes: Sequence[str]) -> list[str]:
        """The notes of a field by path; without a vault, by the names that rows give them."""
        if not self.has_vault:
            return list(notes)
        resolved = [self.note(item, f"{name}[{at}]", note) for at, note in enumerate(notes)]
        return [note.path for note in resolved if note is not None]

    def _groups(self, item: QueryItem, name: str, groups: Sequence[Sequence[str]]) -> Groups:
        return tuple(
            tuple(self._paths(item, f"{name}[{at}]", group)) for at, group in enumerate(groups)
        )

    def _grade(self, item: QueryItem, qrels: dict[str, int]) -> None:
        """Give the notes their grades; each has one, and one that is expected is not irrelevant."""
        graded: set[str] = set()
        for name, gain in (item.gains or {}).items():
            for path in self._paths(item, f"gains[{shortened(name)}]", (name,)):
                if path in graded:
                    mend = "Keep one of its names"
                    self.reject(item, "gains", f"{shortened_path(path)} is graded twice", mend)
                elif path in qrels and gain <= 0:
                    message = f"{shortened_path(path)} is an expected note, and its grade is {gain}"
                    self.reject(item, "gains", message, "Grade it above 0, or do not expect it")
                graded.add(path)
                qrels[path] = gain

    def _check_labels(self, item: QueryItem) -> None:
        graded = any(gain > 0 for gain in (item.gains or {}).values())
        grouped = item.expected_all_of or item.expected_any_of
        if item.answerable and not (item.expected_notes or graded or grouped):
            mend = "Name a note that answers it, or set answerable to false"
            self.reject(item, "expected_notes", "empty, though the query is answerable", mend)
        labels = {
            "expected_notes": item.expected_notes,
            "expected_spans": item.expected_spans,
            "gains": graded,
            "expected_all_of": item.expected_all_of,
            "expected_any_of": item.expected_any_of,
        }
        for name in (name for name, given in labels.items() if given and not item.answerable):
            mend = "Empty it, or set answerable to true"
            self.reject(item, name, "not empty, though answerable is false", mend)

    def _passage(
        self, item: QueryItem, name: str, span: ExpectedSpan, qrels: Mapping[str, int]
    ) -> Passage | None:
        note = self.note(item, f"{name}.note_path", span.note_path)
        if note is None:
            return None
        place, odd = self._place(span, note)
        if odd and not span.text:
            self.reject(item, name, odd, MEND_SPAN)
            return None
        if note.path not in qrels:
            self.warn(item, name, f"{note.path} is not among the expected notes")
        if place is not None and span.text in {None, place.slice(note.text)}:
            return Passage(note.path, place.slice(note.text), place)
        text = span.text or ""
        if place is not None:
            says = shortened(place.slice(note.text))
            odd = f"{note.path} says {says}, the dataset {shortened(text)}"
        today = self._today(text, span.start, note) if text else None
        if today is None:
            self.gone[item.id] = None
            self.warn(item, name, odd)
            return Passage(note.path, text, NOWHERE)
        self.moved[item.id] = None
        start, end = self.units(note).span_from_code_points(today)
        where = f'Its text stands at "start": {start}, "end": {end} now'
        self.warn(item, name, f"{odd}. {where}")
        return Passage(note.path, today.slice(note.text), today)

    def _place(self, span: ExpectedSpan, note: Note) -> tuple[Span | None, str]:
        """Where the offsets of a span lie in a note, or why they lie nowhere."""
        try:
            place = self.units(note).span_to_code_points(span.start, span.end)
        except ValueError as error:
            return None, f"{error} of {note.path}"
        return (place, "") if place else (None, f"empty at {span.start} of {note.path}")

    def _today(self, text: str, start: int, note: Note) -> Span | None:
        """Where a text stands: verbatim, nearest to where it was, in UTF-16 units; else where `find_again` is sure."""
        places = [match.start() for match in re.finditer(re.escape(text), note.text)]
        if places:
            units = self.units(note)
            nearest = min(places, key=lambda place: abs(units.from_code_points(place) - start))
            return Span(nearest, nearest + len(text))
        self._searches += 1
        return self.find_again(text, note.text) if self._searches <= _MOST_SEARCHES else None

    def told(self) -> Iterator[str]:
        """How many rows have spans that moved or are gone, and what to do."""
        if self.moved:
            vault, rows = self.vault.root, self.dataset.path
            mend = f"gigamind dataset check --dataset {rows} --notes {vault} --fix OUT"
            yield warning("spans_moved", rows=f"{len(self.moved):,}", command=mend)
        if self.gone:
            yield warning("spans_gone", rows=f"{len(self.gone):,}", first=next(iter(self.gone)))
