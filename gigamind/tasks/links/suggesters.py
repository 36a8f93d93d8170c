"""Sources of link suggestions: gigamind's own suggester, or the run file of another tool."""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.interop.ranking import Oddity, RankedNote, Ranking, note_of
from gigamind.interop.run_file import RunFile, read_json_run
from gigamind.linking.suggest import LEAST_CONFIDENCE, LinkSuggester, SuggestOptions
from gigamind.spans import Span, Utf16
from gigamind.systems.open import run_warnings
from gigamind.systems.protocol import settle
from gigamind.vault.graph import link_graph
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault

_FORM = '{"note": ..., "suggestions": [{"target": ..., "anchor": ..., "confidence": ...}]}'
_PAIR = 2
_UNMEASURED: frozenset[Oddity] = frozenset({"tied_scores", "fewer_hits"})
"""Problems of rankings that are none of suggestions, whose number per note is free."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One suggested link, from any source."""

    target: str  # path of the target note; if the vault lacks it, the name in the run file
    anchor: str  # the words that would be linked; "" if the tool gave none
    span: Span | None  # range of the anchor in code points; None if unknown
    confidence: float | None  # in [0, 1]; None if the tool gave none
    reason: str
    context: str
    # Values that the confidence is computed from, by name.
    features: Mapping[str, float | int | str]
    least: float = 0.0  # lowest confidence at which the suggestion is shown


class Suggester(ABC):
    """Suggests links for the notes of one vault."""

    embedding_model: str | None = None  # full name of its embedder; None without one
    warnings: tuple[str, ...] = ()  # data-quality warnings about its input

    def prepare(self, notes: Iterable[Note]) -> None:
        """Prepare all these notes at once, if that is faster than note by note."""
        del notes

    @abstractmethod
    def suggest(self, note: Note, *, excluding: bool) -> Sequence[Suggestion]:
        """Return all suggestions, best first; `excluding` omits targets that the note already links to."""

    @abstractmethod
    def linked_targets(self, path: str) -> frozenset[str]:
        """Return the paths of the notes that the note at `path` links to."""

    def oddities(self, note: Note) -> Mapping[Oddity, int]:
        """Return the data-quality problems of the suggestions for a note, with counts."""
        del note
        return {}


class OwnSuggester(Suggester):
    """gigamind's own suggester."""

    def __init__(self, suggester: LinkSuggester, context_chars: int) -> None:
        self._suggester, self._context_chars = suggester, context_chars
        self.embedding_model = suggester.embedding_model

    def prepare(self, notes: Iterable[Note]) -> None:
        self._suggester.prepare(notes)

    def suggest(self, note: Note, *, excluding: bool) -> Sequence[Suggestion]:
        """Return all suggestions. A run shows the top; the ranks of the rest explain misses."""
        unlimited = SuggestOptions(sys.maxsize, 0.0, excluding, self._context_chars, unlikely=True)
        return [
            Suggestion(
                *(own.target, own.anchor, own.span, own.confidence, own.reason, own.context),
                asdict(own.features),
                LEAST_CONFIDENCE,
            )
            for own in self._suggester.suggest(note, unlimited)
        ]

    def linked_targets(self, path: str) -> frozenset[str]:
        return self._suggester.linked_targets(path)


class RunSuggester(Suggester):
    """Suggestions of another tool, read from a file. A note that the file lacks has none.

    Raises:
        InputError: The file cannot be used, or contains none of the evaluated `notes`, if all are known.
    """

    def __init__(
        self, path: Path, vault: Vault, identities: Identities, notes: Iterable[str] | None
    ) -> None:
        self._identities = identities
        run = read_json_run(path, _read_links, _FORM, ("note", "id", "source_note"))
        rankings: dict[str, Ranking[RankedNote]] = {}
        for name, links in run.responses.items():
            found = identities.find(name)
            rankings.setdefault(found.name if found else name, links)
        resolved = RunFile(run.path, rankings, run.problems, run.sha256)
        self.warnings = run_warnings(resolved, None if notes is None else frozenset(notes))
        self._rankings = rankings
        graph = link_graph(vault, identities)
        self._linked = {note: frozenset(targets) for note, targets in graph.items()}
        self._settled: dict[str, tuple[list[Suggestion], Mapping[Oddity, int]]] = {}

    def suggest(self, note: Note, *, excluding: bool) -> Sequence[Suggestion]:
        suggestions, _problems = self._of(note)
        excluded = self._linked[note.path] if excluding else frozenset[str]()
        return [suggestion for suggestion in suggestions if suggestion.target not in excluded]

    def linked_targets(self, path: str) -> frozenset[str]:
        return self._linked[path]

    def oddities(self, note: Note) -> Mapping[Oddity, int]:
        return self._of(note)[1]

    def _of(self, note: Note) -> tuple[list[Suggestion], Mapping[Oddity, int]]:
        if note.path not in self._settled:
            self._settled[note.path] = self._settle(note)
        return self._settled[note.path]

    def _settle(self, note: Note) -> tuple[list[Suggestion], Mapping[Oddity, int]]:
        ranking = self._rankings.get(note.path)
        if ranking is None:
            return [], {"not_in_run_file": 1}
        settled = settle(ranking, sys.maxsize, self._identities.find)
        oddities: Counter[Oddity] = Counter(settled.oddities)
        units, suggestions = Utf16(note.text), list[Suggestion]()
        for link in settled.hits:
            span = _span(note, units, link)
            oddities["unplaced_texts"] += span is None and bool(link.place or link.text)
            confidence = link.base_score
            if confidence is not None and not 0 <= confidence <= 1:
                confidence = None
                oddities["bad_scores"] += 1
            anchor = span.slice(note.text) if span else link.text
            suggestions.append(Suggestion(link.note, anchor, span, confidence, "", "", {}))
        for name in [name for name, count in oddities.items() if not count or name in _UNMEASURED]:
            del oddities[name]
        return suggestions, oddities


def _span(note: Note, units: Utf16, link: RankedNote) -> Span | None:
    """Return the range of a link's anchor: the given range if it fits, else the only occurrence of the words."""
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


def _read_links(row: Mapping[str, object]) -> Ranking[RankedNote]:
    """Read the links of a line, each a target, [target, confidence], or an object with `target`.

    An object may also have `confidence`, `anchor`, `start` and `end`. A line without links raises ValueError.
    """
    suggestions = row.get("suggestions")
    if not isinstance(suggestions, list):
        raise ValueError(_('the line has no list "suggestions"'))  # noqa: TRY004  the text is at fault
    links = enumerate(cast("list[object]", suggestions), start=1)
    return Ranking(tuple(_read_link(link, number) for number, link in links))


def _read_link(link: object, number: int) -> RankedNote:
    fields: dict[object, object] = {"target": link}
    if isinstance(link, dict):
        fields = cast("dict[object, object]", link)
    elif isinstance(link, list) and len(pair := cast("list[object]", link)) == _PAIR:
        fields = {"target": pair[0], "confidence": pair[1]}
    target = fields.get("target")
    if not isinstance(target, str) or not target.strip():
        raise ValueError(_("suggestion {number} has no target", number=number))
    named = {"note": target, "score": fields.get("confidence"), "text": fields.get("anchor")}
    return note_of({**named, "start": fields.get("start"), "end": fields.get("end")})


def run_path(system: str) -> Path:
    """Return the file that `--system run:FILE` names; raises InputError for another form."""
    kind, _colon, path = system.partition(":")
    if kind != "run" or not path.strip():
        raise InputError(
            "--system {system}: links of another tool are read from a file. Use run:FILE.",
            system=system,
        )
    return Path(path.strip())
