"""Check the rows of a dataset against a vault; unusable ones are reported with line and problem, the others kept.

Queries are checked for their notes and spans, links for their notes, targets and anchors, answers and questions for the
notes of their contexts.
"""

import difflib
import json
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar, cast

from gigamind.datasets.jsonl import Dataset, Item, RowError, shortened, shortened_path
from gigamind.datasets.schema import ContextNote, ExpectedSpan, LinkItem, QueryItem, QuestionItem
from gigamind.datasets.write import write_lines
from gigamind.errors import text_of
from gigamind.i18n import Message, Text, _, n_
from gigamind.spans import Passage, Span, Utf16
from gigamind.vault.identity import Collision, Identities, leaves_vault, plain
from gigamind.vault.notes import Note, Vault

# Each takes half a second with 10 000 notes, and with the dataset of another vault every row would need one.
_MOST_SUGGESTIONS = 20
_SPAN_FIX = _(
    "Count start and end in UTF-16 code units from the start of the file: start inclusive, end exclusive"
)


_Row = TypeVar("_Row", "CheckedQuery", "CheckedLink", "CheckedAnswer")


@dataclass(frozen=True, slots=True)
class CheckedRows(Generic[_Row]):
    """A dataset checked against a vault."""

    dataset: Dataset[Any]
    usable: tuple[_Row, ...]  # in file order
    errors: tuple[RowError, ...]  # of all other rows and of reading the file, in file order
    warnings: tuple[Message, ...]  # anomalies that do not make a row unusable, including collisions
    collisions: tuple[Collision, ...]  # ambiguous names, each once; errors under `--strict`
    fits: bool  # whether the vault has at least one note that rows name

    @property
    def rows(self) -> int:
        """Return the number of rows in the file, without blank lines."""
        return len(self.dataset.lines) + len({error.line for error in self.dataset.errors})

    @property
    def rejected(self) -> int:
        """Return the number of rows with errors; one may have several."""
        return len({error.line for error in self.errors})

    @property
    def proves_nothing(self) -> bool:
        """Return whether only unanswerable queries are left, which name no note and so fit every vault."""

        def is_answerable(item: object) -> bool:
            return isinstance(item, QueryItem) and item.answerable

        left = (row.item for row in self.usable)
        return any(map(is_answerable, self.dataset.items)) and not any(map(is_answerable, left))

    def why_unusable(self, least: float) -> Message | None:
        """Return why fewer than the share `least` of the rows, or none, are usable, with the likeliest cause."""
        if self.proves_nothing:
            return _(
                "none of the answerable rows of the dataset is usable. {cause}", cause=self._cause()
            )
        usable = self.rows - self.rejected
        if usable and usable >= least * self.rows:
            return None
        if not usable:
            return _("0 of {rows:,} rows are usable. {cause}", rows=self.rows, cause=self._cause())
        return _(
            "{usable:,} of {rows:,} rows are usable, but --min-rows requires a usable share of at least {least:g}."
            " {cause}",
            usable=usable,
            rows=self.rows,
            least=least,
            cause=self._cause(),
        )

    def _cause(self) -> Message:
        absent = len({error.line for error in self.errors if error.absent})
        unread = len({error.line for error in self.dataset.errors})
        if absent and not self.fits:
            return _(
                "The vault has none of the notes of this dataset. Does the dataset belong to another vault?"
            )
        if absent * 2 > self.rejected:
            return _(
                "Most unusable rows name notes that the vault lacks. Does the dataset belong to another vault?"
            )
        if unread * 2 > self.rejected:
            return _(
                "Most unusable rows do not match the format. Is this a dataset of another kind?"
            )
        return _("The unusable rows have invalid labels.")


_NO_VAULT = Vault(Path(), (), ())


@dataclass(slots=True)
class _RowChecker(ABC, Generic[Item, _Row]):
    """Checks the rows of one dataset against one vault and collects problems."""

    dataset: Dataset[Item]
    vault: Vault
    identities: Identities
    errors: list[RowError] = field(default_factory=list[RowError])
    warnings: list[Message] = field(default_factory=list[Message])
    fits: bool = False
    collisions: dict[str, Collision] = field(default_factory=dict[str, Collision])  # by identifier
    _units: dict[str, Utf16] = field(default_factory=dict[str, Utf16])
    _suggestions: dict[str, Message | None] = field(default_factory=dict[str, Message | None])

    @property
    def has_vault(self) -> bool:
        """Return whether there is a vault to check against."""
        return self.vault is not _NO_VAULT

    def note(self, item: Item, name: str, path: str) -> Note | None:
        """Return the note that a row names; otherwise record an error in the field `name`."""
        if leaves_vault(path.lstrip("/\\")):
            problem = _("the path {path} points outside the vault", path=shortened(path))
            self.reject(item, name, problem, _("Write the path relative to the notes folder"))
            return None
        resolution = self.identities.resolve(path)
        if resolution is None:
            problem = _(
                "no note {path} in {vault}", path=shortened_path(path), vault=self.vault.root
            )
            self.reject(item, name, problem, self._suggest(path), absent=True)
            return None
        self.fits = True
        if resolution.collision is not None:
            self.collisions.setdefault(resolution.identifier, resolution.collision)
        return resolution.note

    @abstractmethod
    def check(self, item: Item) -> _Row | None:
        """Return a row if it is usable; otherwise record errors."""

    def warnings_of(self, usable: Sequence[_Row]) -> Iterator[Message]:
        """Yield the warnings about all rows together."""
        del usable
        return iter(())

    def checked(self) -> CheckedRows[_Row]:
        """Check every row."""
        rows = map(self.check, self.dataset.items)
        usable = tuple(row for row in rows if row is not None)
        errors = sorted([*self.dataset.errors, *self.errors], key=lambda error: error.line)
        collisions = tuple(self.collisions.values())
        named_alike = (collision.message for collision in collisions)
        warnings = (*self.dataset.warnings, *self.warnings_of(usable), *self.warnings, *named_alike)
        return CheckedRows(self.dataset, usable, tuple(errors), warnings, collisions, self.fits)

    def units(self, note: Note) -> Utf16:
        """Return the offset converter of a note, created once per note."""
        if note.path not in self._units:
            self._units[note.path] = Utf16(note.text)
        return self._units[note.path]

    def _suggest(self, path: str) -> Message:
        if path not in self._suggestions and len(self._suggestions) < _MOST_SUGGESTIONS:
            named: dict[str, list[str]] = {}
            for note in self.vault.notes:
                named.setdefault(note.stem, []).append(note.path)
            name = PurePosixPath(path).stem
            # Names that differ in one letter or one swap of letters. No two of the 70 names in examples/vault are that
            # similar; the default cutoff of difflib, over paths, was wrong for 60 of them.
            cutoff = max(0.5, 1 - 1 / max(1, len(name)) - 1e-9)
            for close in difflib.get_close_matches(name, named, n=1, cutoff=cutoff):
                if len(named[close]) == 1:  # otherwise it is unclear which index.md is meant
                    meant = shortened_path(named[close][0])
                    self._suggestions[path] = _("Did you mean {path}?", path=meant)
            self._suggestions.setdefault(path, None)
        return self._suggestions.get(path) or _("Check the path, relative to the notes folder")

    def reject(
        self, item: Item, name: str, problem: Text, fix: Text, *, absent: bool = False
    ) -> None:
        """Record that a row cannot be used."""
        line = self.dataset.lines[item.id]
        self.errors.append(RowError(line, item.id, name, problem, fix, absent))

    def warn(self, item: Item, name: str, problem: Text) -> None:
        """Record an anomaly of a usable row."""
        place = f"{self.dataset.path}:{self.dataset.lines[item.id]}"
        self.warnings.append(
            _('{place}: field "{field}": {problem}', place=place, field=name, problem=problem)
        )


_MOST_SEARCHES = 500  # each takes some milliseconds, and in an edited vault every span may differ

_FindAgain = Callable[[str, str], Span | None]
"""Finds a text, the first argument, in an edited note's text; None unless the match is reliable."""


_NOWHERE = Span(0, 0)
"""Place of an expected span whose text is no longer in its note: no evidence matches it by position."""

_Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query whose labels were found in the vault."""

    item: QueryItem
    line: int  # 1-based, in the dataset's file
    qrels: Mapping[str, int]  # path of each labelled note -> gain: its grade, or 1
    # the expected spans in code points, with the text found there. If the note was edited, a span is where its text
    # is now; if the text is gone, it is `_NOWHERE` with the text of the row.
    spans: tuple[Passage, ...]
    groups: tuple[_Groups, _Groups] = ((), ())  # `expected_all_of` and `expected_any_of`, by path

    @property
    def gone(self) -> int:
        """Return the number of expected spans whose text is no longer in their note."""
        return sum(not span.span for span in self.spans)

    @property
    def relevant(self) -> tuple[str, ...]:
        """Return the expected notes, by path."""
        return tuple(note for note, gain in self.qrels.items() if gain > 0)

    @property
    def is_judged(self) -> bool:
        """Return whether unlabelled notes are unjudged, rather than irrelevant."""
        return self.item.gains is not None


def check_queries(
    dataset: Dataset[QueryItem],
    vault: Vault | None,
    identities: Identities,
    find_again: _FindAgain = lambda _text, _note_text: None,
) -> CheckedRows[CheckedQuery]:
    """Find every expected note and span, edited ones by `find_again`; without a vault, spans are dropped."""
    return _QueryChecker(dataset, vault or _NO_VAULT, identities, find_again=find_again).checked()


@dataclass(kw_only=True)
class _QueryChecker(_RowChecker[QueryItem, CheckedQuery]):
    find_again: _FindAgain
    moved: dict[str, None] = field(default_factory=dict[str, None])
    gone: dict[str, None] = field(default_factory=dict[str, None])
    _named: dict[str, str] = field(default_factory=dict[str, str])
    _searches: int = 0

    def check(self, item: QueryItem) -> CheckedQuery | None:
        before = len(self.errors)
        self._check_labels(item)
        expected = self._paths(item, "expected_notes", item.expected_notes)
        all_of, any_of = (
            tuple(
                tuple(self._paths(item, f"{name}[{at}]", group))
                for at, group in enumerate(getattr(item, name))
            )
            for name in ("expected_all_of", "expected_any_of")
        )
        groups: tuple[_Groups, _Groups] = all_of, any_of
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
        if not self.has_vault:
            same = (self._named.setdefault(plain(note), plain(note, suffix=True)) for note in notes)
            return list(dict.fromkeys(same))
        resolved = [self.note(item, f"{name}[{at}]", note) for at, note in enumerate(notes)]
        return [note.path for note in resolved if note is not None]

    def _grade(self, item: QueryItem, qrels: dict[str, int]) -> None:
        graded: set[str] = set()
        for name, gain in (item.gains or {}).items():
            for path in self._paths(item, f"gains[{shortened(name)}]", (name,)):
                if path in graded:
                    problem = _("the note {path} has two grades", path=shortened_path(path))
                    fix = _("Two names in gains mean this note: keep one of them")
                    self.reject(item, "gains", problem, fix)
                elif path in qrels and gain <= 0:
                    problem = _(
                        "{path} is an expected note, but its grade is {grade}",
                        path=shortened_path(path),
                        grade=gain,
                    )
                    fix = _("Give this note a grade above 0, or remove it from the expected notes")
                    self.reject(item, "gains", problem, fix)
                graded.add(path)
                qrels[path] = gain

    def _check_labels(self, item: QueryItem) -> None:
        graded = any(gain > 0 for gain in (item.gains or {}).values())
        grouped = item.expected_all_of or item.expected_any_of
        if item.answerable and not (item.expected_notes or graded or grouped):
            problem = _("the list is empty, although the query is answerable")
            fix = _("Name a note that answers the query, or set answerable to false")
            self.reject(item, "expected_notes", problem, fix)
        labels = {
            "expected_notes": item.expected_notes,
            "expected_spans": item.expected_spans,
            "gains": graded,
            "expected_all_of": item.expected_all_of,
            "expected_any_of": item.expected_any_of,
        }
        for name in (name for name, given in labels.items() if given and not item.answerable):
            fix = _("Clear this field, or set answerable to true")
            self.reject(item, name, _("the field is not empty, although answerable is false"), fix)

    def _passage(
        self, item: QueryItem, name: str, span: ExpectedSpan, qrels: Mapping[str, int]
    ) -> Passage | None:
        note = self.note(item, f"{name}.note_path", span.note_path)
        if note is None:
            return None
        place, problem = self._place(span, note)
        if problem and not span.text:
            self.reject(item, name, problem, _SPAN_FIX)
            return None
        if note.path not in qrels:
            unexpected = _(
                "the expected span is in {note}, which is not an expected note of this row",
                note=note.path,
            )
            self.warn(item, name, unexpected)
        if place is not None and span.text in {None, place.slice(note.text)}:
            return Passage(note.path, place.slice(note.text), place)
        text = span.text or ""
        if place is not None:
            problem = _(
                "the text in {note} at this position is {actual}, but the dataset expects {expected}",
                note=note.path,
                actual=shortened(place.slice(note.text)),
                expected=shortened(text),
            )
        current = self._current(text, span.start, note) if text else None
        if current is None:
            self.gone[item.id] = None
            self.warn(item, name, problem)
            return Passage(note.path, text, _NOWHERE)
        self.moved[item.id] = None
        start, end = self.units(note).span_from_code_points(current)
        moved = _(
            '{problem}. The expected text is in the note at "start": {start}, "end": {end}',
            problem=problem,
            start=start,
            end=end,
        )
        self.warn(item, name, moved)
        return Passage(note.path, current.slice(note.text), current)

    def _place(self, span: ExpectedSpan, note: Note) -> tuple[Span | None, Text]:
        """Return the span of the row's offsets in a note, or None and why there is none."""
        try:
            place = self.units(note).span_to_code_points(span.start, span.end)
        except ValueError as error:
            return None, _("{note}: {reason}", note=note.path, reason=text_of(error))
        if place:
            return place, ""
        return None, _(
            "{note}: the expected span at position {start} is empty",
            note=note.path,
            start=span.start,
        )

    def _current(self, text: str, start: int, note: Note) -> Span | None:
        """Return the verbatim occurrence nearest to `start` (UTF-16 units), otherwise what `find_again` finds."""
        places = [match.start() for match in re.finditer(re.escape(text), note.text)]
        if places:
            units = self.units(note)
            nearest = min(places, key=lambda place: abs(units.from_code_points(place) - start))
            return Span(nearest, nearest + len(text))
        self._searches += 1
        return self.find_again(text, note.text) if self._searches <= _MOST_SEARCHES else None

    def warnings_of(self, usable: Sequence[CheckedQuery]) -> Iterator[Message]:
        del usable
        if self.moved:
            vault, rows = (shlex.quote(str(path)) for path in (self.vault.root, self.dataset.path))
            yield n_(
                "{n} row of the dataset has an expected span in an edited note. gigamind found the span again by"
                " its text. To save its new position, run: {command}",
                "{n:,} rows of the dataset have expected spans in edited notes. gigamind found the spans again by"
                " their text. To save their new positions, run: {command}",
                n=len(self.moved),
                command=f"gigamind dataset check --dataset {rows} --notes {vault} --fix OUT",
            )
        if self.gone:
            yield n_(
                "{n} row has an expected span whose text is no longer in the note: {first}. No search result can"
                " match this label. Label the row again, or restore the passage in the note.",
                "{n:,} rows have expected spans whose text is no longer in the note, such as {first}. No search"
                " result can match these labels. Label the rows again, or restore the passages in the notes.",
                n=len(self.gone),
                first=next(iter(self.gone)),
            )


def write_reanchored(out: Path, checked: CheckedRows[CheckedQuery], vault: Vault) -> int:
    """Write the dataset with the current expected spans and return the number of changed rows; or EvaluationError."""
    content = checked.dataset.path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    lines = content.decode().removesuffix("\n").split("\n")
    changed = 0
    for query in checked.usable:
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


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """A place that should be a link, found in the vault."""

    item: LinkItem
    line: int  # 1-based, in the dataset's file
    note: Note
    targets: frozenset[str]  # paths of the accepted target notes
    span: Span | None  # of the anchor; None if the row's range does not match it

    @property
    def is_misfit(self) -> bool:
        """Return whether the row has a range that does not match the anchor."""
        return self.span is None and self.item.anchor_range is not None


def check_links(
    dataset: Dataset[LinkItem], vault: Vault, identities: Identities
) -> CheckedRows[CheckedLink]:
    """Find every source note, target and anchor in the vault."""
    return _LinkChecker(dataset, vault, identities).checked()


class _LinkChecker(_RowChecker[LinkItem, CheckedLink]):
    def warnings_of(self, usable: Sequence[CheckedLink]) -> Iterator[Message]:
        if misfits := sum(link.is_misfit for link in usable):
            yield _(
                "{file}: in {count:,} of {rows:,} rows, the anchor range does not match the anchor text in {vault}."
                " Give the unchanged copy that generate-links wrote (--out-notes), not the original vault.",
                file=self.dataset.path,
                count=misfits,
                rows=len(usable),
                vault=self.vault.root,
            )

    def check(self, item: LinkItem) -> CheckedLink | None:
        before = len(self.errors)
        note = self.note(item, "source_note", item.source_note)
        if not item.expected_links:
            fix = _("Name the note that the link leads to")
            self.reject(item, "expected_links", _("the list is empty"), fix)
        paths = self._targets(item)
        if note is None or len(self.errors) > before:
            return None
        if note.path in paths:
            problem = _(
                "the expected link target {note} is the source note itself",
                note=shortened_path(note.path),
            )
            self.warn(item, "expected_links", problem)
        return CheckedLink(item, self.dataset.lines[item.id], note, paths, self._span(item, note))

    def _targets(self, item: LinkItem) -> frozenset[str]:
        before = len(self.errors)
        targets = [
            self.note(item, f"expected_links[{index}]", name)
            for index, name in enumerate(item.expected_links)
        ]
        paths = frozenset(target.path for target in targets if target is not None)
        if paths:
            for error in (error for error in self.errors[before:] if error.absent):
                self.errors.remove(error)
                warning = _(
                    "{problem}; the row is used with its other link targets: {targets}. {fix}",
                    problem=error.message,
                    targets=[shortened(path) for path in sorted(paths)],
                    fix=error.mend,
                )
                self.warn(item, error.field, warning)
        return paths

    def _span(self, item: LinkItem, note: Note) -> Span | None:
        place = item.anchor_range
        if place is None:
            return None
        try:
            span = self.units(note).span_to_code_points(place.start, place.end)
        except ValueError:
            return None
        return span if span.slice(note.text) == item.anchor else None


@dataclass(frozen=True, slots=True)
class GivenNote:
    """A note of the context."""

    path: str | None  # in the vault; None if the row itself contains the text
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer, or a question to be answered, with the text of its notes."""

    item: QuestionItem
    line: int  # 1-based, in the dataset's file
    notes: tuple[GivenNote, ...]


def check_answers(
    dataset: Dataset[QuestionItem],
    vault: Vault | None,
    identities: Identities,
    *,
    answered: bool = True,
) -> CheckedRows[CheckedAnswer]:
    """Find every note of every context; without a vault, a path is an error, or left out if not `answered`."""
    return _AnswerChecker(dataset, vault or _NO_VAULT, identities, answered=answered).checked()


@dataclass(kw_only=True)
class _AnswerChecker(_RowChecker[QuestionItem, CheckedAnswer]):
    answered: bool

    def check(self, item: QuestionItem) -> CheckedAnswer | None:
        before = len(self.errors)
        notes = [
            self._given(item, f"context_notes[{place}]", note)
            for place, note in enumerate(item.context_notes)
        ]
        usable = [note for note in notes if note is not None]
        if self.answered:
            self._check_labels(item, len(notes))
        if len(self.errors) > before:
            return None
        return CheckedAnswer(item, self.dataset.lines[item.id], tuple(usable))

    def _given(self, item: QuestionItem, name: str, note: ContextNote) -> GivenNote | None:
        if note.path is None:
            if note.text is None:
                fix = _('Write {{"path": "a.md"}}, or {{"title": "A", "text": "..."}}')
                self.reject(item, name, _("the context note has neither a path nor a text"), fix)
                return None
            return GivenNote(None, note.title or "", note.text)
        if not self.has_vault:
            if self.answered:
                problem = _("the row names a note by its path, but no vault was given")
                self.reject(item, f"{name}.path", problem, _("Give the vault with --notes"))
            return None
        named = self.note(item, f"{name}.path", note.path)
        if named is None:
            return None
        text = named.text if note.text is None else note.text
        return GivenNote(named.path, note.title or named.title, text)

    def _check_labels(self, item: QuestionItem, notes: int) -> None:
        labels = item.labels
        for place, claim in enumerate(labels.claims if labels else ()):
            if claim.note is not None and claim.note > notes:
                problem = _(
                    "this note number is ignored: the label names context note {number}, but the row has only {count}",
                    number=claim.note,
                    count=notes,
                )
                self.warn(item, f"labels.claims[{place}].note", problem)
