"""The levels of normalising, each a folding of the original text; every level takes time linear in the text.

N1: composed, compatibility characters and case folded, the invisible dropped, quotes, dashes and middle dots unified,
white space runs as one space.  N2: N1 without Markdown markers.  N3: N2 without white space, for Korean spacing.
"""

import re
from collections.abc import Iterable

from gigamind.evidence.characters import IGNORABLE, composes_backwards, fold_unit
from gigamind.evidence.folding import Folding, FoldingBuilder
from gigamind.evidence.markdown import markers
from gigamind.spans import Span

# Characters that fold one to one whatever precedes them, unless a mark composes with the last of them.
_PLAIN = "!-~\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3"
_IGNORED = re.compile(rf"[{IGNORABLE}]++")
_PIECE = re.compile(
    rf"(?P<run>[{_PLAIN}]++(?:[ \n\t][{_PLAIN}]++)*)"
    rf"|(?P<space>\s(?:[\s{IGNORABLE}]*\s)?)"
    rf"|(?P<ignored>{_IGNORED.pattern})"
)
_LOOSE_SPACE = re.compile(r"(?<!\d) | (?!\d)")
_WHITE = str.maketrans("\n\t", "  ")
# Stream-Safe text has at most 30 marks a character (UAX #15); CPython's normalize is quadratic in a run of marks.
_MAX_MARKS = 30


def visible(text: str) -> Folding:
    """N1 of `text`."""
    return _fold(text, ())


def unmarked(text: str, n1: Folding, *, is_quote: bool) -> Folding:
    """N2 of `text`, which is its N1 when it has no markers.

    The numbers of an ordered list stay in a quote: there they are part of what it claims.
    """
    dropped = list(markers(text, ordered_lists=not is_quote))
    return _fold(text, dropped) if dropped else n1


def spaceless(n2: Folding) -> Folding:
    """N3 of a text, from its N2.  A space between two digits stays: "1 000" is not "1000", nor "3 4" "34"."""
    builder = FoldingBuilder()
    start = 0
    for space in _LOOSE_SPACE.finditer(n2.text):
        builder.copy(n2, start, space.start())
        start = space.end()
    if start == 0:
        return n2
    builder.copy(n2, start, len(n2.text))
    return builder.finish()


def _fold(text: str, dropped: Iterable[Span]) -> Folding:
    builder = FoldingBuilder()
    start = 0
    for span in dropped:
        _fold_between(builder, text, start, span.start)
        start = span.end
    _fold_between(builder, text, start, len(text))
    return builder.finish()


def _fold_between(builder: FoldingBuilder, text: str, start: int, end: int) -> None:
    while start < end:
        piece = _PIECE.match(text, start, end)
        if piece is None:
            start = _fold_one(builder, text, start, end)
        elif piece.lastgroup == "run":
            start = _fold_run(builder, text, start, piece.end(), end)
        else:
            if piece.lastgroup == "space":
                builder.space(start, piece.end())
            start = piece.end()


def _fold_run(builder: FoldingBuilder, text: str, start: int, stop: int, end: int) -> int:
    """Fold a plain run and return where to go on; a mark may follow its last character, which is then folded alone."""
    safe = stop if stop == end or text[stop] in " \n" else stop - 1
    if safe > start:
        builder.run(text[start:safe].translate(_WHITE).casefold(), start)
    return safe if safe == stop else _fold_one(builder, text, safe, end)


def _fold_one(builder: FoldingBuilder, text: str, start: int, end: int) -> int:
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
