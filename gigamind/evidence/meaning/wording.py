"""Which words of a quote are others than its source has, where a copy may change none.

White space, case, punctuation, quotation marks and Markdown marks do not count; contractions are written out; signs
that carry sense (-, %, ≥, →, ○) are words; an ellipsis is one, too, and stands for words that were left out.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

from rapidfuzz.distance import Levenshtein

from gigamind.evidence.meaning.inflection import is_case_particle, limits, same_stem, same_word
from gigamind.evidence.normalize import unmarked, visible
from gigamind.evidence.result import Aligned
from gigamind.spans import Span

ELLIPSIS = "..."
_WORD = re.compile(
    r"""
      (?P<tag></?(?:br|[ubip]|em|strong|mark|su[bp]|kbd|div|span)\b[^<>]*+>)
    | (?P<ellipsis>\.{2,}|[\[(](?:\.{3}|중략|생략)[\])])
    | (?P<number>\d+(?:[.,:]\d+)*)
    | (?P<letters>[^\W\d_]+(?:'[^\W\d_]+)*(?:\+\+|\#(?!\w))?)
    | (?P<arrow>[-=]+>)
    | (?P<sign>(?<![\w)\].])[-+](?=[.]?\d) | [%‰°$€£¥₩₿¢&<>=≤≥≠≒≈±+×÷√∞○◯⭕◎✕✖❌✗✘✓✔✅☑☒△▲▽▼↑↓→←↔⇒⇐])
    """,
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NEGATED = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_CONTRACTIONS = {"'ll": ["will"], "'d": ["would"], "'re": [], "'ve": [], "'m": [], "'s": []}

# Left out or put in, these change nothing.
_EMPTY_WORDS = "a an the of that is are was were be been being am has have had do does did"
# Words without which a text says something else, so that an ellipsis must not stand for them.
_SENSE_WORDS = """
    not no never none neither nor cannot without only must may might can could should shall will would need unless
    except but before after until till since at most least more less fewer over under above below up down every each
    all some any half or if when while than solely just excluding forbidden prohibited hardly barely rarely seldom
    almost nearly false untrue
    이상 이하 미만 초과 전 전에 전까지 후 후에 이전 이후 안에 밖에 외 외에 제외 만 까지 부터 또는 혹은 거나 모든 모두
    일부 매 단 다만 경우 때 오직 거의
"""
_KOREAN_SENSE = re.compile(
    r"않|못|없|아니|아닌|아닙|금지|불가|제외|예외|반대|거부|취소|면제|^[불비무미](?=..)|^안$|^안[된되돼하한합]|말[라아고것]|마[세십]|면$|거나$|지만$"
)
# "not able" is not "notable", nor "a part" "apart": such words join no others.
_UNJOINED_WORDS = """
    not no un in im ir il non dis mis anti ex pre post over under up down out off on now any every some all to at it
    or by as so
"""
_EMPTY, _SENSE = frozenset(_EMPTY_WORDS.split()), frozenset(_SENSE_WORDS.split())
_UNJOINED = _EMPTY | frozenset(_UNJOINED_WORDS.split())


@dataclass(frozen=True, slots=True)
class Word:
    """One word.

    Attributes:
        text: its letters, digits or sign, lower-cased.
        glued: it follows a number or sign without white space.
    """

    text: str
    glued: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the word may be left out or put in anywhere."""
        return self.text in _EMPTY or (self.glued and is_case_particle(self.text))

    @property
    def is_skippable(self) -> bool:
        """Whether an ellipsis may stand for it."""
        text = self.text
        return not (text in _SENSE or limits(text) or _KOREAN_SENSE.search(text))


def forms(text: str) -> list[str]:
    """The text without Markdown marks; where it has numbered items, also without their numbers."""
    seen = visible(text)
    return list(
        dict.fromkeys(unmarked(text, seen, is_quote=is_quote).text for is_quote in (True, False))
    )


def words(form: str) -> list[Word]:
    """The words of one of the `forms`, in order."""
    found: list[Word] = []
    end, last = -1, ""
    for match in _WORD.finditer(form):
        kind = match.lastgroup or ""
        glued = match.start() == end and last in {"number", "sign"}
        for text in _texts(kind, match[0]):
            found.append(Word(text, glued))
            glued = False
        end, last = match.end(), kind
    return found


def names(text: str) -> frozenset[str]:
    """Words that a text writes with a capital letter, lower-cased."""
    return frozenset(word.lower() for word in re.findall(r"\b[A-Z][A-Za-z]+", text))


def joined(group: list[Word]) -> str | None:
    """Words written without the spaces between them; None when they are other words then."""
    if all(_may_join(before.text, word.text) for before, word in pairwise(group)):
        return "".join(word.text for word in group)
    return None


def _may_join(before: str, word: str) -> bool:
    """Hangul joins anything, digits no digits, and Latin words join unless one of them is such a word."""
    if before.isascii() and word.isascii() and before.isalpha() and word.isalpha():
        return not {before, word} & _UNJOINED
    return not (before[-1].isdigit() and word[0].isdigit())


def _texts(kind: str, raw: str) -> Iterator[str]:
    if kind == "ellipsis":
        yield ELLIPSIS
    elif kind == "number":
        yield _THOUSANDS.sub("", raw)
    elif kind == "arrow":
        yield "→"
    elif kind == "letters":
        yield from _written_out(raw)
    elif kind == "sign":
        yield "and" if raw == "&" else raw


@lru_cache(maxsize=4096)
def _written_out(raw: str) -> tuple[str, ...]:
    """Contractions in full: don't as do not, cannot as can not, it's as it."""
    if raw == "cannot":
        return "can", "not"
    if raw.endswith("n't"):
        return _NEGATED.get(raw[:-3], raw[:-3]), "not"
    for ending, written in _CONTRACTIONS.items():
        if raw.endswith(ending):
            return raw.removesuffix(ending).replace("'", ""), *written
    return (raw.replace("'", ""),)


_LONGEST_WORD = 64
_LONGEST_NEGATION = 16
_MARKS = "*_~`"
_WORDS_IN, _WORDS_OUT, _SHIFT_CHARS = 2, 4, 80
_SPACED = re.compile(r"\S+")
_NEGATED_BEFORE = re.compile(
    r"(?:\b(?:not|no|never|cannot|only|hardly|rarely|unless|except|without)|\b\w{1,10}n['’]t|(?<!\w)[안못])\s+$",
    re.IGNORECASE,
)
_NEGATABLE = re.compile(r"(?:지[는도를]?|수[는가도]?)$")
_NEGATED_BEHIND = re.compile(r"\s*(?:않|못|말|없|아니|마[세십])\w*")
_SIGNED = re.compile(r"(?:^|[^\w)\].])[-+−–]$")


def whole_words(span: Span, text: str) -> Span:
    """The span, widened to the ends of the words that it cuts and to a negation right before or behind it."""
    start, end = span.start, span.end
    least, most = max(0, start - _LONGEST_WORD), min(len(text), end + _LONGEST_WORD)
    while start > least and _is_inside(text, start):
        start -= 1
    while end < most and _is_inside(text, end):
        end += 1
    if text[start].isdigit() and _SIGNED.search(text[max(0, start - 2) : start]):
        start -= 1
    if before := _NEGATED_BEFORE.search(text[max(0, start - _LONGEST_NEGATION) : start]):
        start -= len(before[0])
    if _NEGATABLE.search(text[max(start, end - _LONGEST_NEGATION) : end]) and (
        behind := _NEGATED_BEHIND.match(text, end)
    ):
        end = behind.end()
    return Span(start, end)


def shifted(span: Span, text: str) -> Iterator[Span]:
    """Spans that begin or end up to two words further inside, or four further outside, than `span`."""
    near = max(0, span.start - _SHIFT_CHARS)
    starts = [near + word.start() for word in _SPACED.finditer(text[near : span.end])]
    here = bisect_left(starts, span.start)
    for start in starts[max(0, here - _WORDS_OUT) : here + _WORDS_IN + 1]:
        if start != span.start:
            yield Span(start, span.end)
    ends = [
        span.start + word.end()
        for word in _SPACED.finditer(text[span.start : span.end + _SHIFT_CHARS])
    ]
    here = bisect_left(ends, span.end)
    for end in ends[max(0, here - _WORDS_IN) : here + _WORDS_OUT + 1]:
        if end != span.end:
            yield Span(span.start, end)


def _is_inside(text: str, at: int) -> bool:
    """Whether a word or number goes on over the offset, Markdown marks not counted."""
    left, right = at - 1, at
    while left > 0 and text[left] in _MARKS and at - left < _LONGEST_NEGATION:
        left -= 1
    while right + 1 < len(text) and text[right] in _MARKS and right - at < _LONGEST_NEGATION:
        right += 1
    if _is_point(text, left) or _is_point(text, right):
        return text[left].isdigit() or text[right].isdigit()
    return _is_letter(text[left]) and _is_letter(text[right])


def _is_point(text: str, at: int) -> bool:
    """Whether a point or comma stands between two digits: 1.5, 1,000."""
    return text[at] in ".," and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def _is_letter(char: str) -> bool:
    """Whether words are made of such characters and parted by spaces, as Japanese ones are not."""
    return (
        char.isdigit()
        or char.lower() != char.upper()
        or unicodedata.name(char, "").startswith("HANGUL")
        or unicodedata.combining(char) != 0
    )


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
