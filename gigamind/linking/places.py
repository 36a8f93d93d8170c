"""Where a link may stand: the running text of a note, folded so that names are found however they are written.

Headings, code, math, HTML, comments, frontmatter, existing links, bare addresses, tags and block ids are no places.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.spans import Span
from gigamind.vault.comments import mask_comments
from gigamind.vault.events import marks
from gigamind.vault.notes import Note

_CLOSED_TO_LINKS = {"Heading", "CodeBlock", "Link", "Image", "HtmlBlock"}
_NO_PROSE = re.compile(
    r"\w+://\S+|www\.\S+|[\w.+-]+@[\w.-]+|(?<![\w&])[#^][\w/-]+|\[\[[^\]\n]*\]\]"
)
_SEPARATOR = re.compile(r"[\s_-]")


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text without markup in it.

    Attributes:
        folded: lower case, NFC, each separator one space; what is no prose is blanked by line feeds.
        start: where it begins in the note, in code points.
        origins: offset in `folded` -> offset in the note, for `len(folded) + 1` places; None where it is a plain shift.
    """

    folded: str
    start: int
    origins: tuple[int, ...] | None

    def span(self, start: int, end: int) -> Span:
        """The code points of the note behind `folded[start:end]`."""
        if self.origins is None:
            return Span(self.start + start, self.start + end)
        return Span(self.origins[start], self.origins[end])


def fold(text: str) -> str:
    """A name as it is compared: as `Run.folded`, without space around it."""
    return _folded(text)[0].strip()


def runs(note: Note) -> list[Run]:
    """The places of a note, in order."""
    return [_run(note.text, start, end) for start, end in _ranges(note)]


def _ranges(note: Note) -> Iterator[tuple[int, int]]:
    """Ranges of running text; neighbours that the parser cut at a sign which turned out to be text are one."""
    body = note.document.body_start
    begin = end = -1
    closed = 0
    for mark in marks(mask_comments(note.text[body:])):
        if mark.phase != "leaf":
            if mark.name in _CLOSED_TO_LINKS:
                closed += 1 if mark.phase == "enter" else -1
        elif mark.name == "Text" and not closed:
            if mark.start != end:
                if begin >= 0:
                    yield begin + body, end + body
                begin = mark.start
            end = mark.end
    if begin >= 0:
        yield begin + body, end + body


def _run(text: str, start: int, end: int) -> Run:
    piece = _NO_PROSE.sub(lambda found: "\n" * len(found[0]), text[start:end])
    folded, origins = _folded(piece)
    shifted = None if origins is None else tuple(start + origin for origin in origins)
    return Run(folded, start, shifted)


def _folded(text: str) -> tuple[str, list[int] | None]:
    """The folded text, and where each of its characters comes from unless none has moved."""
    lower = text.lower()
    if len(lower) == len(text) and unicodedata.is_normalized("NFC", lower):
        return _spaced(lower), None
    pieces: list[str] = []
    origins: list[int] = []
    start = 0
    for end in [*_cluster_ends(text), len(text)]:
        piece = unicodedata.normalize("NFC", text[start:end].lower())
        pieces.append(piece)
        moved = len(piece) != end - start
        origins += [start] * len(piece) if moved else range(start, end)
        start = end
    return _spaced("".join(pieces)), [*origins, len(text)]


def _cluster_ends(text: str) -> Iterator[int]:
    """Where a character follows that composes with none before it."""
    for index in range(1, len(text)):
        if unicodedata.is_normalized("NFC", text[index]) and not _composes(text[index]):
            yield index


def _composes(char: str) -> bool:
    return unicodedata.combining(char) != 0 or "\u1160" <= char <= "\u11ff"  # vowel and final jamo


def _spaced(text: str) -> str:
    return _SEPARATOR.sub(lambda found: "\n" if found[0] == "\n" else " ", text)
