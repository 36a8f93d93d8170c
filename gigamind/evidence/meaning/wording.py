"""Which words a quote changes in the passage that it was aligned to, so that it proves something else.

Edit distance cannot see it: "5일 이내" and "5년 이내" are a letter apart.  What copies of a text honestly differ in is
no change: white space, punctuation, marks, case, particles, endings and inflections without sense, articles, an
ellipsis for words that limit nothing, a typing error inside a long English word.  In doubt it is a change.

`critical.py` names three kinds of changes; this names the words, of any kind.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from rapidfuzz.distance import Levenshtein

from gigamind.evidence.meaning.endings import same_stem
from gigamind.evidence.meaning.inflection import same_word
from gigamind.evidence.meaning.passages import shifted, whole_words
from gigamind.evidence.meaning.words import ELLIPSIS, Word, forms, joined, names, words
from gigamind.evidence.result import Aligned

# A passage of 12 words against 12 others is no copy, and comparing them takes quadratic time.
_MAX_CELLS = 144
_MAX_CELLS_OF_ALL = 6_000
_FEW = 4
_MAX_JOINED = 6


@dataclass(frozen=True, slots=True)
class Change:
    """Words of a quote that stand for others of the passage; one of the two may be empty.

    Attributes:
        quoted: the words of the quote, lower-cased.
        original: the words of the passage, lower-cased.
    """

    quoted: str
    original: str

    def __str__(self) -> str:
        return f"{self.original or '-'} -> {self.quoted or '-'}"


def changed_wording(found: Aligned, source: str) -> tuple[Change, ...]:
    """What an aligned quote changes in its source; empty when it proves what it says.

    The passage is widened to whole words and to a negation that stands right before or behind it, so that "approved"
    does not prove itself in "disapproved" or "not approved", nor "5일" in "15일", however exactly it matches.  A fuzzy
    match is also tried a few words longer and shorter: the window with the fewest edits may cut off the right words.
    """
    quote = found.quote.text
    fewest = changed_words(quote, whole_words(found.span, source).slice(source))
    if not fewest or found.method != "fuzzy":
        return fewest
    for span in shifted(found.span, source):
        changes = changed_words(quote, whole_words(span, source).slice(source))
        if not changes:
            return ()
        fewest = min(fewest, changes, key=len)
    return fewest


def changed_words(quote: str, passage: str) -> tuple[Change, ...]:
    """The changes that make a passage a quote, in order; `changed_words(x, x)` is empty, and so is its converse.

    0.3 ms for 200 characters and 6 ms for 5 000, changed in every tenth word (benchmarks/wording.py).
    """
    if quote == passage:
        return ()
    known = names(quote) | names(passage)
    best: tuple[Change, ...] | None = None
    for asked, given in _pairs(forms(quote), forms(passage)):
        changes = _changes(asked, given, known)
        if best is None or len(changes) < len(best):
            best = changes
        if not best:
            break
    return best or ()


def _pairs(quoted: list[str], given: list[str]) -> Iterator[tuple[str, str]]:
    """Which forms are compared: the numbers of list items may miss on one side, never on both."""
    yield quoted[0], given[0]
    if len(given) > 1:
        yield quoted[0], given[1]
    if len(quoted) > 1:
        yield quoted[1], given[0]


def _changes(quote: str, passage: str, known: frozenset[str]) -> tuple[Change, ...]:
    if quote > passage:  # the alignment of two texts depends on their order, the answer must not
        return tuple(
            Change(change.original, change.quoted) for change in _changes(passage, quote, known)
        )
    left, right = words(quote), words(passage)
    blocks = [_Block(one, other, known) for one, other in _blocks(left, right)]
    found = [change for block in blocks for change in block.changes(_MAX_CELLS)]
    if found and any(word.text == ELLIPSIS for word in [*left, *right]):
        # Words that both texts have may stand among those that the ellipsis is for, and part them.
        found = min(found, _Block(left, right, known).changes(_MAX_CELLS_OF_ALL), key=len)
    return tuple(found)


def _blocks(left: list[Word], right: list[Word]) -> Iterator[tuple[list[Word], list[Word]]]:
    """Runs of words in which the texts differ."""
    opcodes = Levenshtein.opcodes([w.text for w in left], [w.text for w in right])
    for equal, run in groupby(opcodes, lambda opcode: opcode.tag == "equal"):
        if not equal:
            ops = list(run)
            yield (
                left[ops[0].src_start : ops[-1].src_end],
                right[ops[0].dest_start : ops[-1].dest_end],
            )


_Move = tuple[int, int, bool]
_Step = tuple[int, int, int, int, bool]


@dataclass(frozen=True, slots=True)
class _Block:
    """Two runs of words, and how one becomes the other with the fewest changes."""

    left: list[Word]
    right: list[Word]
    known: frozenset[str]

    def changes(self, most_cells: int) -> list[Change]:
        """The changes between them, neighbours as one; all is one change where there are too many pairs of words."""
        found: list[Change] = []
        for changed, run in groupby(self._path(most_cells), lambda step: step[4]):
            if changed:
                steps = list(run)
                (i, j, *_), (_, _, i2, j2, _) = steps[0], steps[-1]
                found.append(Change(_text(self.left[i:i2]), _text(self.right[j:j2])))
        return found

    def _path(self, most_cells: int) -> list[_Step]:
        """Steps from the start to the end: from (i, j) to (i2, j2), and whether it is a change."""
        rows, columns = len(self.left), len(self.right)
        if rows and columns and (one := joined(self.left)) and one == joined(self.right):
            return [(0, 0, rows, columns, False)]
        if min(rows, columns) > _FEW and rows * columns > most_cells:
            return [(0, 0, rows, columns, True)]
        came = self._cheapest(rows, columns)
        path: list[_Step] = []
        at = (rows, columns)
        while at != (0, 0):
            path.append(came[at])
            at = came[at][:2]
        return path[::-1]

    def _cheapest(self, rows: int, columns: int) -> dict[tuple[int, int], _Step]:
        """The last step of the way with the fewest changes to every point."""
        cost = {(0, 0): 0}
        came: dict[tuple[int, int], _Step] = {}
        for i in range(rows + 1):
            for j in range(columns + 1):
                if (i, j) not in cost:
                    continue  # inside a group that is the same as a whole
                for di, dj, changed in self._moves(i, j):
                    reached, total = (i + di, j + dj), cost[i, j] + changed
                    if total < cost.get(reached, rows + columns + 1):
                        cost[reached] = total
                        came[reached] = (i, j, *reached, changed)
        return came

    def _moves(self, i: int, j: int) -> Iterator[_Move]:
        """Where one may go on from (i, j)."""
        left, right = self.left[i : i + _MAX_JOINED], self.right[j : j + _MAX_JOINED]
        if left and right:
            yield from self._equal(left, right)
            yield 1, 1, True
        if left:
            over = bool(right) and right[0].text == ELLIPSIS and left[0].is_skippable
            yield 1, 0, not (left[0].is_empty or over or left[0].text == ELLIPSIS)
        if right:
            over = bool(left) and left[0].text == ELLIPSIS and right[0].is_skippable
            yield 0, 1, not (right[0].is_empty or over or right[0].text == ELLIPSIS)

    def _equal(self, left: list[Word], right: list[Word]) -> Iterator[_Move]:
        """Groups of words at the start of both that are the same but for spaces, endings and inflection."""
        if left[0].text[0] != right[0].text[0] and not _share_initial(left[0], right[0]):
            return
        for di in range(1, len(left) + 1):
            for dj in range(1, len(right) + 1):
                one, other = joined(left[:di]), joined(right[:dj])
                if one and other and _same(one, other, self.known):
                    yield di, dj, False


def _share_initial(one: Word, other: Word) -> bool:
    """Whether two Hangul words may begin with one stem: 해 and 합니다."""
    return (
        unicodedata.normalize("NFD", one.text[0])[0]
        == unicodedata.normalize("NFD", other.text[0])[0]
    )


def _same(one: str, other: str, known: frozenset[str]) -> bool:
    if one == other:
        return True
    if one.isascii() and other.isascii():
        return one.isalpha() and other.isalpha() and same_word(one, other, known)
    return same_stem(one, other)


def _text(group: list[Word]) -> str:
    return " ".join(word.text for word in group)
