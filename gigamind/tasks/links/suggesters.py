"""Who suggests the links that are evaluated: gigamind's own suggester, or another tool by a run file."""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from gigamind.errors import InputError
from gigamind.interop.ranking import Oddity, RankedNote, Ranking, note_of
from gigamind.interop.run_file import RunFile, read_json_run
from gigamind.linking.suggest import (
    LEAST_CONFIDENCE,
    LinkSuggester,
    LinkSuggestion,
    SuggestOptions,
)
from gigamind.spans import Span, Utf16
from gigamind.systems.open import run_warnings
from gigamind.systems.settle import settle
from gigamind.vault.graph import link_graph
from gigamind.vault.identity import Identities, leaves_vault
from gigamind.vault.notes import Note, Vault

_FORM = '{"note": ..., "suggestions": [{"target": ..., "anchor": ..., "confidence": ...}]}'
_PAIR = 2
_UNMEASURED: frozenset[Oddity] = frozenset({"tied_scores", "fewer_hits"})
"""What is odd of a ranking, and not of suggestions: a note has as many as it has."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One suggested link, whoever suggests it.

    Attributes:
        target: path of the note it leads to; of a note that the vault lacks, the name that was told.
        anchor: the words that would be linked; "" where they are not told.
        span: where they stand, in code points; None where that is not known.
        confidence: in [0, 1]; None where none is told.
        features: what it is made of, by name.
        least: the confidence from which it is shown.
    """

    target: str
    anchor: str
    span: Span | None
    confidence: float | None
    reason: str
    context: str
    features: Mapping[str, float | int | str]
    least: float = 0.0

    @classmethod
    def of(cls, suggestion: LinkSuggestion) -> "Suggestion":
        """One of gigamind's own."""
        names = ("target", "anchor", "span", "confidence", "reason", "context")
        fields = {name: getattr(suggestion, name) for name in names}
        return cls(**fields, features=asdict(suggestion.features), least=LEAST_CONFIDENCE)


class Suggester(ABC):
    """Suggests links for the notes of one vault.

    Attributes:
        embedding_model: the full name of its embedder; None without one.
        warnings: what is odd about all of it.
    """

    embedding_model: str | None = None
    warnings: tuple[str, ...] = ()

    def prepare(self, notes: Iterable[Note]) -> None:
        """Get ready for all these notes, where that is faster than note by note."""
        del notes

    @abstractmethod
    def suggest(self, note: Note, *, excluding: bool) -> Sequence[Suggestion]:
        """All that it has, best first; `excluding`: without targets that the note links to already."""

    @abstractmethod
    def linked_targets(self, path: str) -> frozenset[str]:
        """Paths of the notes that the note at `path` links to."""

    def oddities(self, note: Note) -> Mapping[Oddity, int]:
        """What was odd about its suggestions for a note, and how often."""
        del note
        return {}


class OwnSuggester(Suggester):
    """gigamind's."""

    def __init__(self, suggester: LinkSuggester, context_chars: int) -> None:
        self._suggester, self._context_chars = suggester, context_chars
        self.embedding_model = suggester.embedding_model

    def prepare(self, notes: Iterable[Note]) -> None:
        self._suggester.prepare(notes)

    def suggest(self, note: Note, *, excluding: bool) -> Sequence[Suggestion]:
        """What a run shows is its beginning; where the rest stands says why it was missed."""
        everything = SuggestOptions(sys.maxsize, 0.0, excluding, self._context_chars, unlikely=True)
        return [
            Suggestion.of(suggestion) for suggestion in self._suggester.suggest(note, everything)
        ]

    def linked_targets(self, path: str) -> frozenset[str]:
        return self._suggester.linked_targets(path)


class RunSuggester(Suggester):
    """Another tool, by the suggestions that stand in a file; a note that it lacks has none.

    Args:
        notes: paths of all notes that will be asked about; None where they are not all known.

    Raises:
        InputError: the file cannot be used, or is of none of these notes.
    """

    def __init__(
        self, path: Path, vault: Vault, identities: Identities, notes: Iterable[str] | None
    ) -> None:
        self._identities = identities
        run = read_json_run(path, _told_links, _FORM, ("note", "id", "source_note"))
        rankings: dict[str, Ranking[RankedNote]] = {}
        for name, links in run.responses.items():
            rankings.setdefault(self._identify(name) or name, links)
        placed = RunFile(run.path, rankings, run.problems, run.sha256)
        self.warnings = run_warnings(placed, None if notes is None else frozenset(notes))
        self._told = rankings
        graph = link_graph(vault, identities)
        self._linked = {note: frozenset(targets) for note, targets in graph.items()}
        self._settled: dict[str, tuple[list[Suggestion], Mapping[Oddity, int]]] = {}

    def suggest(self, note: Note, *, excluding: bool) -> Sequence[Suggestion]:
        suggestions, _ = self._of(note)
        left_out = self._linked[note.path] if excluding else frozenset[str]()
        return [suggestion for suggestion in suggestions if suggestion.target not in left_out]

    def linked_targets(self, path: str) -> frozenset[str]:
        return self._linked[path]

    def oddities(self, note: Note) -> Mapping[Oddity, int]:
        return self._of(note)[1]

    def _identify(self, name: str) -> str | None:
        resolution = None if leaves_vault(name) else self._identities.resolve(name)
        return resolution.note.path if resolution else None

    def _of(self, note: Note) -> tuple[list[Suggestion], Mapping[Oddity, int]]:
        if note.path not in self._settled:
            self._settled[note.path] = self._settle(note)
        return self._settled[note.path]

    def _settle(self, note: Note) -> tuple[list[Suggestion], Mapping[Oddity, int]]:
        """Each target once, its words found in the note."""
        ranking = self._told.get(note.path)
        if ranking is None:
            return [], {"not_in_run_file": 1}
        settled = settle(ranking, sys.maxsize, self._identify)
        odd: Counter[Oddity] = Counter(settled.oddities)
        units, suggestions = Utf16(note.text), list[Suggestion]()
        for link in settled.hits:
            span = _span(note, units, link)
            odd["unplaced_texts"] += span is None and bool(link.place or link.text)
            sure = link.base_score
            if sure is not None and not 0 <= sure <= 1:
                sure, odd["bad_scores"] = None, odd["bad_scores"] + 1
            anchor = span.slice(note.text) if span else link.text
            suggestions.append(Suggestion(link.note, anchor, span, sure, "", "", {}))
        for name in [name for name, count in odd.items() if not count or name in _UNMEASURED]:
            del odd[name]
        return suggestions, odd


def _span(note: Note, units: Utf16, link: RankedNote) -> Span | None:
    """Where the words of a link stand: at its range, if they do; without one, where they stand once."""
    if link.place:
        try:
            span = units.span_to_code_points(*link.place)
        except ValueError:
            return None
        return span if span and link.text in {"", span.slice(note.text)} else None
    start = note.text.find(link.text) if link.text else -1
    if start < 0 or note.text.find(link.text, start + 1) >= 0:
        return None
    return Span(start, start + len(link.text))


def _told_links(row: Mapping[str, object]) -> Ranking[RankedNote]:
    """The links of a line, each a target, [target, confidence], or an object with its `target`.

    Of an object `confidence`, `anchor`, and `start` and `end` are read besides; the last three as text and place.

    Raises:
        ValueError: it has none; says what there is.
    """
    suggestions = row.get("suggestions")
    if not isinstance(suggestions, list):
        raise ValueError('no list of "suggestions"')  # noqa: TRY004  the text is at fault
    links = enumerate(cast("list[object]", suggestions), start=1)
    return Ranking(tuple(_told_link(link, number) for number, link in links))


def _told_link(link: object, number: int) -> RankedNote:
    fields: dict[object, object] = {"target": link}
    if isinstance(link, dict):
        fields = cast("dict[object, object]", link)
    elif isinstance(link, list) and len(pair := cast("list[object]", link)) == _PAIR:
        fields = {"target": pair[0], "confidence": pair[1]}
    target = fields.get("target")
    if not isinstance(target, str) or not target.strip():
        raise ValueError(f"suggestion {number} has no target")
    named = {"note": target, "score": fields.get("confidence"), "text": fields.get("anchor")}
    return note_of({**named, "start": fields.get("start"), "end": fields.get("end")})


def run_path(system: str) -> Path:
    """The file that `--system` names.

    Raises:
        InputError: it names something else.
    """
    kind, _, path = system.partition(":")
    if kind != "run" or not path.strip():
        raise InputError(
            f"--system {system}: links of another tool are read from a file: write run:FILE"
        )
    return Path(path.strip())
