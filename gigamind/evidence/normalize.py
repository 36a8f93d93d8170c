"""Normalises text for comparison and maps it back: N1 folds characters, N2 is as rendered, N3 drops spaces.

Plain NFKC is never used: it joins "ㅋㅏ" into "카" and turns "10²" into "102". The compatibility fold handles one
character at a time and leaves compatibility jamo, super- and subscripts and fractions alone.
"""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from gigamind.spans import Span

if TYPE_CHECKING:
    from gigamind.evidence.grams import Grams

# Invisible: zero width, byte order mark, soft hyphen, variation selectors, bidirectional controls, Hangul fillers.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef"
)
_KEPT_TAGS = {"<super>", "<sub>", "<fraction>"}
_UNIFIED = str.maketrans(
    dict.fromkeys("“”„‟«»「」『』〝〞〟", '"')
    | dict.fromkeys("‘’‚‛‹›′´ʼ", "'")
    | dict.fromkeys("‐‑‒–—―⁃−⸺⸻", "-")
    | dict.fromkeys("∼〜", "~")
    | dict.fromkeys("ㆍᆞ‧・•∙⋅", "·")
    | {"⋯": "..."}
)
# Second halves of canonical composites that are nevertheless starters (combining class 0); mostly vowel signs.
_STARTERS_THAT_COMPOSE = frozenset(
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35"
    "\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
)
_HALFWIDTH_VOICING = "\uff9e\uff9f"
_ENTITY = r"&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_TAG = r"</?(?P<tag>[A-Za-z][A-Za-z0-9]*)(?:[ /][^<>\n]*+)?>"
_ENTITY_OR_TAG = re.compile(f"{_ENTITY}|{_TAG}")
_LONGEST = 200  # characters of a tag that are looked at


@lru_cache(maxsize=4096)
def composes_backwards(char: str) -> bool:
    """Return whether `char` may compose with the previous character, so that no match may begin or end between them."""
    if "\u1161" <= char <= "\u1175" or "\u11a8" <= char <= "\u11c2":
        return True  # vowel and final jamo: NFD "가" must not match inside NFD "각"
    if char in _STARTERS_THAT_COMPOSE or char in _HALFWIDTH_VOICING:
        return True
    return unicodedata.combining(unicodedata.normalize("NFD", char)[0]) != 0


def is_boundary(text: str, offset: int) -> bool:
    """Return whether `offset` is between two characters that never compose, outside entities and tags, or at an end."""
    if offset in {0, len(text)}:
        return True
    return not composes_backwards(text[offset]) and not _is_inside_markup(text, offset)


def _is_inside_markup(text: str, offset: int) -> bool:
    starts = (text.rfind(sign, max(0, offset - _LONGEST), offset) for sign in "&<")
    found = (_ENTITY_OR_TAG.match(text, start) for start in starts if start >= 0)
    return any(match is not None and match.end() > offset for match in found)


@lru_cache(maxsize=16384)
def fold_unit(unit: str) -> str:
    """Fold one character with its marks, without ignorable characters; returns any number of characters."""
    folded = "".join(map(_compatible, unicodedata.normalize("NFC", unit))).casefold()
    return unicodedata.normalize("NFC", folded.translate(_UNIFIED))


def _compatible(char: str) -> str:
    if "\u3130" <= char <= "\u318f":
        return char  # compatibility jamo: folding creates syllables that are not in the text
    tag, *parts = unicodedata.decomposition(char).split() or [""]
    if not tag.startswith("<") or tag in _KEPT_TAGS:
        return char
    folded = "".join(_compatible(chr(int(part, 16))) for part in parts)
    return char if any(map(str.isspace, folded)) else folded


@dataclass(frozen=True)
class Folding:
    """A text at one level of normalisation."""

    text: str
    at: list[int]  # where each piece starts in `text`; rising
    starts: list[int]  # where the original of each piece starts; rising
    ends: list[int]  # where it ends; rising
    units: list[bool]  # whether each piece is a unit that cannot be split

    @cached_property
    def grams(self) -> "Grams":
        """The q-grams of the folded text, for quotes that do not occur in it verbatim."""
        from gigamind.evidence.grams import Grams  # imports NumPy, which few quotes need

        return Grams(self.text)

    def is_edge(self, offset: int) -> bool:
        """Return whether a match may begin or end at this offset of the folded text, that is, not inside a unit."""
        if offset == len(self.text):
            return True
        piece = bisect_right(self.at, offset) - 1
        return not self.units[piece] or self.at[piece] == offset

    def span(self, start: int, end: int) -> Span:
        """Return the original range of the folded characters `[start, end)`, with whole units. Requires start < end."""
        return Span(self._origin(start).start, self._origin(end - 1).end)

    def under(self, span: Span) -> str:
        """Return the folded text of every piece, or part of a run, that is entirely inside the original `span`."""
        return self.text[slice(*self.range(span))]

    def range(self, span: Span) -> tuple[int, int]:
        return self._first_from(span.start), self._first_beyond(span.end)

    def _origin(self, offset: int) -> Span:
        piece = bisect_right(self.at, offset) - 1
        if self.units[piece]:
            return Span(self.starts[piece], self.ends[piece])
        start = self.starts[piece] + offset - self.at[piece]
        return Span(start, start + 1)

    def _first_from(self, origin: int) -> int:
        piece = bisect_right(self.starts, origin) - 1
        if piece >= 0:
            inside = origin - self.starts[piece]
            if inside == 0:
                return self.at[piece]
            if not self.units[piece] and origin < self.ends[piece]:
                return self.at[piece] + inside
        return self.at[piece + 1] if piece + 1 < len(self.at) else len(self.text)

    def _first_beyond(self, origin: int) -> int:
        piece = bisect_right(self.ends, origin)
        if piece == len(self.at):
            return len(self.text)
        inside = origin - self.starts[piece]
        return self.at[piece] + (inside if inside > 0 and not self.units[piece] else 0)

    def spaceless(self) -> "Folding":
        """Return N3 from N2. A space between digits stays: "1 000" is not "1000", and "3 4" is not "34"."""
        return _without(self, _LOOSE_SPACE)

    def unglossed(self) -> "Folding":
        """Return N2 without the contents of its brackets."""
        return _without(self, _GLOSS)

    @classmethod
    def visible(cls, text: str) -> "Folding":
        """Return N1 of `text`."""
        return _fold(text, ())

    @classmethod
    def unmarked(cls, text: str, n1: "Folding | None" = None, *, is_quote: bool) -> "Folding":
        """Return N2 of `text`, or `n1` without markers; a quote keeps its list numbers, which are part of its claim."""
        replaced = list(_markers(text, ordered_lists=not is_quote))
        return _fold(text, replaced) if replaced or n1 is None else n1


class _FoldingBuilder:
    """Collects the pieces of a folding from left to right."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._last = ""
        self._at: list[int] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._units: list[bool] = []

    def run(self, folded: str, start: int) -> None:
        """Add characters that map one to one from the original `start`; extends the run that ends there."""
        if self._units and not self._units[-1] and self._ends[-1] == start:
            self._ends[-1] = start + len(folded)
            self._add(folded)
        else:
            self._piece(folded, start, start + len(folded), unit=False)

    def unit(self, folded: str, start: int, end: int) -> None:
        """Add folded characters, possibly none, that together replace one original range."""
        if len(folded) == 1 and end == start + 1:
            self.run(folded, start)
        elif folded:
            self._piece(folded, start, end, unit=True)

    def space(self, start: int, end: int) -> None:
        if self._last != " ":
            self.unit(" ", start, end)

    def copy(self, other: Folding, start: int, end: int) -> None:
        """Add the folded characters `[start, end)` of `other`, with their origins."""
        piece = bisect_right(other.at, start) - 1
        while start < end:
            stop = other.at[piece + 1] if piece + 1 < len(other.at) else len(other.text)
            stop = min(stop, end)
            folded = other.text[start:stop]
            if other.units[piece]:
                self.unit(folded, other.starts[piece], other.ends[piece])
            else:
                self.run(folded, other.starts[piece] + start - other.at[piece])
            start = stop
            piece += 1

    def finish(self) -> Folding:
        return Folding("".join(self._parts), self._at, self._starts, self._ends, self._units)

    def _piece(self, folded: str, start: int, end: int, *, unit: bool) -> None:
        self._at.append(self._length)
        self._starts.append(start)
        self._ends.append(end)
        self._units.append(unit)
        self._add(folded)

    def _add(self, folded: str) -> None:
        self._parts.append(folded)
        self._length += len(folded)
        self._last = folded[-1]


_TASK = r"(?:\[[ xX]\][ \t]++)?"
_BULLET = rf">[ \t]?|[-*+][ \t]++{_TASK}|\#{{1,6}}[ \t]++"
# At most three digits and no number after them: a line that begins with "2024. 1. 3." is a date.
_ORDERED = rf"[0-9]{{1,3}}[.)][ \t]++(?![0-9]){_TASK}"
_FENCE = r"(?:`{3,}[^`\n]*+|~{3,}[^\n]*+)$"
_INLINE = r"""
    !?\[\[(?:[^\[\]|\n]*+\|)?                           # the opening of a wikilink, up to its display text
  | \]\]
  | !?\[(?=[^\[\]\n]*+\]\()                             # the opening of a link
  | \]\((?:<[^<>\n]*+>|[^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*)(?:[ \t]++(?:"[^"\n]*+"|'[^'\n]*+'))?[ \t]*+\)
  | \[\^[^\[\]\s]++\](?!:)                              # a footnote mark
  | `+
  | \\(?P<escaped>[!-/:-@\[-`{-~])
  | (?P<emphasis>\*+|_+|~~|==)
"""
_SEPARATING = frozenset({"br", "p", "div", "li", "td", "th", "tr"})  # tags that show as white space


def _compiled(prefix: str) -> re.Pattern[str]:
    line = rf"^[ \t]*+(?:(?:(?:{prefix})[ \t]*+)+(?:{_FENCE})?|{_FENCE})"
    # The lookahead at the first character halves the time.
    inline = rf"(?=[!\[\]`*_~=\\&<])(?:{_INLINE}|(?P<entity>{_ENTITY})|{_TAG})"
    return re.compile(f"{line}|{inline}", re.MULTILINE | re.VERBOSE)


_ITEM = re.compile(r"[0-9][.)][ \t]")  # occurs in every number of an ordered list
_MARKERS = _compiled(_BULLET)
_MARKERS_AND_NUMBERS = _compiled(f"{_BULLET}|{_ORDERED}")


def _markers(text: str, *, ordered_lists: bool) -> Iterator[tuple[Span, str]]:
    """Yield the spans of Markdown and HTML markers in order, each with the text that a reader sees instead.

    Numbers of lists count only with `ordered_lists`.
    """
    pattern = _MARKERS_AND_NUMBERS if ordered_lists else _MARKERS
    for match in pattern.finditer(text):
        if match["emphasis"] is None or _emphasises(text, match.start(), match.end()):
            shown = match["escaped"] or html.unescape(match["entity"] or "")
            if match["tag"] and match["tag"].lower() in _SEPARATING:
                shown = " "
            yield Span(match.start(), match.end()), shown


def _emphasises(text: str, start: int, end: int) -> bool:
    """Return whether emphasis characters can be markup; in `a * b`, `2*3`, `x == 1` and `snake_case` they are not."""
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if before.isspace() and after.isspace():
        return False
    if text[start] == "_":
        return not (before.isalnum() and after.isalnum())
    return not (before.isdigit() and after.isdigit())


# Characters that fold one to one in any context, unless a mark composes with the last of them.
_PLAIN = "!-~\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
_IGNORED = re.compile(rf"[{_IGNORABLE}]++")
_PIECE = re.compile(
    rf"(?P<run>[{_PLAIN}]++(?:[ \n\t][{_PLAIN}]++)*)"
    rf"|(?P<space>\s(?:[\s{_IGNORABLE}]*\s)?)"
    rf"|(?P<ignored>{_IGNORED.pattern})"
)
_KEPT_SPACE = re.compile(r"\d \d")
_LOOSE_SPACE = re.compile(r"(?<!\d) | (?!\d)")
_GLOSS = re.compile(r" ?(?:\([^()]{1,200}\)|\[[^\[\]]{1,200}\])")
# Stream-safe text has at most 30 marks per character (UAX #15); CPython's normalize is quadratic in a run of marks.
_MAX_MARKS = 30


def foldings(text: str) -> tuple[Folding, Folding, Folding]:
    """Return N1 of a text, its N2 as a quote, and its N2 as a source."""
    n1 = Folding.visible(text)
    n2 = Folding.unmarked(text, n1, is_quote=True)
    return n1, n2, Folding.unmarked(text, n1, is_quote=False) if _ITEM.search(text) else n2


@lru_cache(maxsize=16)
def foldings_of_quote(quote: str) -> tuple[Folding, Folding, Folding]:
    """Return `foldings` of a quote; cached because a quote is compared with one source after another."""
    return foldings(quote)


def spaceless_text(n2: str) -> str:
    """Return only the text of N3, at a tenth of the cost."""
    return _LOOSE_SPACE.sub("", n2) if _KEPT_SPACE.search(n2) else n2.replace(" ", "")


def _without(folding: Folding, dropped: re.Pattern[str]) -> Folding:
    builder = _FoldingBuilder()
    start = 0
    for match in dropped.finditer(folding.text):
        builder.copy(folding, start, match.start())
        start = match.end()
    if start == 0:
        return folding
    builder.copy(folding, start, len(folding.text))
    return builder.finish()


def _fold(text: str, replaced: Iterable[tuple[Span, str]]) -> Folding:
    builder = _FoldingBuilder()
    start = 0
    for span, shown in replaced:
        _fold_between(builder, text, start, span.start)
        if shown.isspace():
            builder.space(span.start, span.end)
        else:
            builder.unit("".join(map(fold_unit, shown)), span.start, span.end)
        start = span.end
    _fold_between(builder, text, start, len(text))
    return builder.finish()


def _fold_between(builder: _FoldingBuilder, text: str, start: int, end: int) -> None:
    while start < end:
        piece = _PIECE.match(text, start, end)
        if piece is None:
            start = _fold_character(builder, text, start, end)
        elif piece.lastgroup == "run":
            start = _fold_run(builder, text, start, piece.end(), end)
        else:
            if piece.lastgroup == "space":
                builder.space(start, piece.end())
            start = piece.end()


def _fold_run(builder: _FoldingBuilder, text: str, start: int, stop: int, end: int) -> int:
    """Fold a plain run and return where to continue; if a mark may follow, the last character is folded separately."""
    safe = stop if stop == end or text[stop] in " \n" else stop - 1
    if safe > start:
        # Two replacements take a tenth of the time of one translation table.
        run = text[start:safe].replace("\n", " ").replace("\t", " ")
        builder.run(run.casefold(), start)
    return safe if safe == stop else _fold_character(builder, text, safe, end)


def _fold_character(builder: _FoldingBuilder, text: str, start: int, end: int) -> int:
    """Fold one character with the marks that compose with it, and return where it ends."""
    unit, stop, at = text[start], start + 1, start + 1
    while at < end and len(unit) <= _MAX_MARKS:
        if composes_backwards(text[at]):
            unit += text[at]
            stop = at = at + 1
        elif ignored := _IGNORED.match(text, at, min(end, at + _MAX_MARKS)):
            at = ignored.end()
        else:
            break
    builder.unit(fold_unit(unit), start, stop)
    return stop
