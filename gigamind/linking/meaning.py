"""Find notes that a phrase means without naming them, by vectors of their names and beginnings.

Names are title, alias, heading, and texts of links to a note. Vectors come from the search's embedder and its cache.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gigamind.linking.anchors import fold
from gigamind.retrieval.cache import Progress, embed_all, quiet
from gigamind.retrieval.embed import Embedder, Vectors
from gigamind.vault.notes import Note

_NAMES = 6  # names per note with a vector, its title first
_MAX_NAME_CHARS = 80
_MEANT = 4  # notes that a phrase may mean
_FARTHER = 0.25  # maximum distance to the nearest note, as a sum of cosines
_TOGETHER = 256  # phrases looked up at once
_BEGINNING = 160  # code points of the first paragraph
_MARKUP = re.compile(r"\]\([^)\n]{0,300}\)|[*_`>\[\]|#]+")
_SPACE = re.compile(r"\s+")
_NO_PROSE = {"code", "heading", "table", "html", "math", "rule"}


@dataclass(frozen=True, slots=True)
class Meant:
    """A note that a phrase may mean."""

    note: str
    name: str  # the nearest name
    name_cosine: float  # of the phrase and the nearest name of the note, in [-1, 1]
    beginning_cosine: float  # of the phrase and the note's beginning
    lead: float  # difference of the sum of both to that of the next note, from 0
    passage: str  # the nearer of name and beginning

    @property
    def cosine(self) -> float:
        """Return the higher cosine."""
        return max(self.name_cosine, self.beginning_cosine)


class Meanings:
    """The notes of a vault by meaning; `names` has the names of each path, the title first; `cache` may be None.

    Raises:
        EmbeddingError: the model failed.
        IndexingError: the cache cannot be used.
    """

    def __init__(
        self,
        notes: Sequence[Note],
        names: dict[str, tuple[str, ...]],
        embedder: Embedder,
        cache: Path | None,
        progress: Progress = quiet,
    ) -> None:
        self._embedder, self._cache = embedder, cache
        self._paths = [note.path for note in notes]
        self._beginnings = [_beginning(note) for note in notes]
        by_note = [_first_names(names[note.path]) for note in notes]
        self._names = [name for own in by_note for name in own]
        self._first = np.cumsum([0, *map(len, by_note)])  # of each note, and the end
        vectors = self._embed([*self._names, *self._beginnings], progress)
        self._of_names, self._of_beginnings = np.split(vectors, [len(self._names)])
        self._known: dict[str, list[Meant]] = {}
        self._place = {path: place for place, path in enumerate(self._paths)}

    def prepare(self, phrases: Iterable[str], progress: Progress = quiet) -> None:
        """Look up all these phrases at once, which is faster than note by note."""
        missing = [phrase for phrase in dict.fromkeys(phrases) if phrase not in self._known]
        for first in range(0, len(missing), _TOGETHER):
            some = missing[first : first + _TOGETHER]
            self._known.update(zip(some, self._look_up(self._embed(some, quiet)), strict=True))
            progress(first + len(some), len(missing))

    def nearest(self, phrase: str) -> list[Meant]:
        """Return the notes that a phrase most likely means, at most `_MEANT`, nearest first; ties in order."""
        self.prepare([phrase])
        return self._known[phrase]

    def _look_up(self, phrases: Vectors) -> list[list[Meant]]:
        by_name = self._of_names @ phrases.T  # one row per name, so that reduction is contiguous
        by_beginning = self._of_beginnings @ phrases.T
        together = (np.maximum.reduceat(by_name, self._first[:-1], axis=0) + by_beginning).T
        meanings: list[list[Meant]] = []
        for column, best in enumerate(_largest(together, _MEANT + 1)):
            sums = together[column, best].tolist()
            ahead = [left - right for left, right in zip(sums, [*sums[1:], 0.0], strict=True)]
            names, beginnings = by_name[:, column], by_beginning[:, column]
            meant: list[Meant] = []
            for at, total, lead in zip(best[:_MEANT], sums, ahead, strict=False):
                if total >= sums[0] - _FARTHER:
                    first, last = self._first[at : at + 2]
                    nearest = int(first + np.argmax(names[first:last]))
                    name, begin = float(names[nearest]), float(beginnings[at])
                    passage = self._names[nearest] if name >= begin else self._beginnings[at]
                    meant.append(
                        Meant(self._paths[at], self._names[nearest], name, begin, lead, passage)
                    )
            meanings.append(meant)
        return meanings

    def cosine(self, left: str, right: str) -> float:
        """Return the cosine of the beginnings of the notes at two paths, in [-1, 1]."""
        own, other = (self._of_beginnings[self._place[path]] for path in (left, right))
        return float(own @ other)

    def _embed(self, texts: Sequence[str], progress: Progress) -> Vectors:
        return embed_all(self._embedder, texts, self._cache, progress)


def _largest(table: Vectors, most: int) -> list[list[int]]:
    most = min(most, table.shape[1])
    bounds = np.partition(table, -most, axis=1)[:, -most]
    columns: list[list[int]] = []
    for row, bound in zip(table, bounds, strict=True):
        some = np.flatnonzero(row >= bound)  # more than `most` if values are equal
        columns.append(some[np.argsort(-row[some], kind="stable")][:most].tolist())
    return columns


def _first_names(names: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for name in names:
        if text := plain_text(name)[:_MAX_NAME_CHARS]:
            first.setdefault(fold(text), text)
    return tuple(first.values())[:_NAMES] or ("?",)


def _beginning(note: Note) -> str:
    """Return the title and the beginning of the first paragraph of prose."""
    for block in note.document.blocks:
        if block.kind not in _NO_PROSE:
            text = plain_text(block.span.slice(note.text)[: 4 * _BEGINNING])
            if len(text) > 1:
                return f"{note.title}. {text[:_BEGINNING]}"
    return note.title


def plain_text(text: str) -> str:
    """Return a piece of Markdown without markup, on one line."""
    return _SPACE.sub(" ", _MARKUP.sub("", text)).strip()
