"""Finds where a quote occurs in a long text with the fewest edits, and chooses the best window there.

Shared q-grams tell which parts of the text to search. If they exclude too little, rapidfuzz preselects blocks.

For a text of a few patterns' length, rapidfuzz is fastest. It only compares whole texts, so the pattern is padded with
a character that occurs in no text and matches one character outside the window, at one edit. Longer texts use Myers'
algorithm in Hyyrö's form: two big integers hold a column of the edit matrix.

G. Myers, JACM 46(3), 1999; H. Hyyrö, "Explaining and extending the bit-parallel approximate string matching
algorithm of Myers", 2001.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

from gigamind.evidence.normalize import Folding
from gigamind.spans import Span

_ABSENT = "\uffff"  # no character, so that it stands in no text; where it does, nothing is put around the pattern
_SHORT = 4000  # characters of a text; the time of the padding grows with their square
_SEVERAL = 8  # ends, each found on its own, that take as long as all by bit vectors


def _distances(pattern: str, text: Iterable[str], *, anchored: bool) -> Iterator[int]:
    """Yield, for each prefix of `text` of 1, 2, ... characters, the fewest edits between `pattern` and its end.

    The pattern is not empty. With `anchored`, it is compared with the whole prefix; otherwise with its best suffix,
    which may be empty.
    """
    masks: dict[str, int] = {}  # the positions of each character as bits
    for position, char in enumerate(pattern):
        masks[char] = masks.get(char, 0) | 1 << position
    full = (1 << len(pattern)) - 1
    last = 1 << len(pattern) - 1
    first_row, distance = int(anchored), len(pattern)
    rises, falls = full, 0
    for equal in map(masks.get, text, repeat(0)):
        vertical = equal | falls
        diagonal = (((equal & rises) + rises) ^ rises) | equal
        right = falls | (full & ~(diagonal | rises))
        left = rises & diagonal
        if right & last:
            distance += 1
        elif left & last:
            distance -= 1
        right = right << 1 | first_row
        rises = full & (left << 1 | ~(vertical | right))
        falls = full & right & vertical
        yield distance


def _best_ends(pattern: str, text: str, limit: int) -> tuple[int, list[int]]:
    """Return the fewest edits, up to `limit`, with which the pattern occurs in `text`, and every end where it does."""
    best, ends = limit, list[int]()
    for end, distance in enumerate(_distances(pattern, text, anchored=False), start=1):
        if distance < best:
            best, ends = distance, [end]
        elif distance == best:
            ends.append(end)
    return best, ends


def _nearest_ends(
    pattern: str, text: str, limit: int, *, before: int | None = None, behind: int | None = None
) -> tuple[int, list[int]]:
    """Return the same as `_best_ends`, in a fifth of the time if the text is short and has few such ends.

    May return no ends if every such window leaves out more than `before` or `behind` characters.
    """
    if len(text) > _SHORT or _ABSENT in text:
        return _best_ends(pattern, text, limit)
    spare = max(0, len(text) - len(pattern) + limit)  # most that a window leaves out on a side
    before, behind = (spare if most is None else min(most, spare) for most in (before, behind))
    wrapped, around = f"{before * _ABSENT}{pattern}{behind * _ABSENT}", before + behind
    distance = Levenshtein.distance(wrapped, text, score_cutoff=around + limit) - around
    if distance > limit or not text:
        return limit, []
    ends = _ends(pattern, text, distance, anchored=False)
    return (distance, ends) if ends else _best_ends(pattern, text, distance)


def _starts(pattern: str, text: str, end: int, distance: int) -> list[int]:
    """Return every start at exactly `distance` edits to `end`, rightmost first; none may have fewer edits."""
    backwards = pattern[::-1]
    window = text[max(0, end - len(pattern) - distance) : end][::-1]
    lengths = [] if _ABSENT in window else _ends(backwards, window, distance, anchored=True)
    if not lengths:
        edits_of_prefixes = _distances(backwards, window, anchored=True)
        lengths = [at for at, edits in enumerate(edits_of_prefixes, start=1) if edits == distance]
    return [end - length for length in lengths]


def _ends(pattern: str, text: str, distance: int, *, anchored: bool) -> list[int]:
    """Return every end at this distance, of which none is closer; [] if there are more than `_SEVERAL`."""
    ends: list[int] = []
    ranges = [(max(1, len(pattern) - distance), len(text))]
    while ranges:
        first, last = ranges.pop()
        if first > last:
            continue
        begin = 0 if anchored else max(0, first - len(pattern) - distance)
        before = 0 if anchored else max(0, last - begin - len(pattern) + distance)
        behind = last - first
        wrapped, part = f"{before * _ABSENT}{pattern}{behind * _ABSENT}", text[begin:last]
        most = before + distance + behind
        if ends and Levenshtein.distance(wrapped, part, score_cutoff=most) > most:
            continue
        if len(ends) == _SEVERAL:
            return []
        end = begin + _reached(wrapped, part, before + len(pattern))
        ends.append(end)
        ranges += ((first, end - 1), (end + 1, last))
    return sorted(ends)


def _reached(wrapped: str, part: str, offset: int) -> int:
    """Return how many characters of `part` the characters before an offset align with, in one optimal alignment."""
    for code in Levenshtein.opcodes(wrapped, part):
        if code.src_end >= offset:
            kept = offset - code.src_start if code.tag != "delete" else 0
            return code.dest_start + kept
    return len(part)


_EPSILON = 1e-9  # so that 4 edits of 20 give 0.80, not 0.7999...
# Most ends whose windows are compared. Natural text has a handful; "abababab..." has one every second character.
_MAX_ENDS = 256
_LONG = 4  # quote lengths; shorter texts have no part to exclude
_FEW = 2  # q-grams must exclude at least this fraction (1/2) of the text; otherwise blocks are searched


@dataclass(frozen=True, slots=True)
class _Window:
    """A range `[start, end)` of the normalised text."""

    start: int
    end: int
    distance: int  # edits between the quote and the window
    similarity: float  # 1 - distance / the longer of the two lengths, in [0, 1]
    word_edges: int  # number of its ends, 0 to 2, that neither cut a word nor are white space


def reaches(similarity: float, threshold: float) -> bool:
    """Return whether a similarity meets a threshold, within rounding error."""
    return similarity >= threshold - _EPSILON


def search(quote: str, source: Folding, threshold: float, accepted: float) -> list[_Window]:
    """Return the best window of each place with the fewest edits, best place first; [] if none reaches `threshold`.

    Order: `accepted` is reached, fewest edits (an end that cuts no word offsets one), whole words, similarity, length
    like the quote's, leftmost. Of those measured, this order was the most exact (benchmarks/evidence.py).
    """
    limit = int((1 - threshold) * len(quote) / threshold + _EPSILON)
    distance, ends = _ends_in(quote, source, limit)

    def rank(window: _Window) -> tuple[bool, int, int, float, int, int]:
        refused = not reaches(window.similarity, accepted)
        off = abs(window.end - window.start - len(quote))
        cost = window.distance - window.word_edges
        return refused, cost, -window.word_edges, -window.similarity, off, window.start

    best: list[_Window] = []
    for place in _places(ends[:_MAX_ENDS], len(quote)):
        windows = (
            _window(quote, source, start, end)
            for stop in place
            for first in _starts(quote, source.text, stop, distance)
            for start in _with_rest_of_word(source.text, first, -1)
            for end in _with_rest_of_word(source.text, stop, 1)
        )
        best.append(min(windows, key=rank))
    return sorted((window for window in best if reaches(window.similarity, threshold)), key=rank)


def _ends_in(quote: str, source: Folding, limit: int) -> tuple[int, list[int]]:
    """Return `_best_ends` of the whole text, which alone would take one microsecond per character."""
    return _by_grams(quote, source, limit) or _by_blocks(quote, source.text, limit)


def _by_grams(quote: str, source: Folding, limit: int) -> tuple[int, list[int]] | None:
    """Return the result of `_ends_in` if q-grams exclude enough of the text, else None."""
    from gigamind.evidence.grams import Shared  # imports NumPy, which few quotes need

    text = source.text
    if len(text) < _LONG * len(quote):
        return None
    shared = Shared(source.grams, quote)
    likeliest = Span(*shared.likeliest())
    best, inside = _nearest_ends(quote, likeliest.slice(text), limit)
    enough = shared.enough(best) if inside else None
    if enough is None:
        return None
    stretches = [Span(*stretch) for stretch in enough]
    if sum(map(len, stretches)) * _FEW > len(text):
        return None
    ends = {likeliest.start + end for end in inside}
    for stretch in stretches:
        for part, before, behind in _outside(stretch, likeliest, len(quote) + best):
            inner = part.slice(text)
            if LCSseq.similarity(quote, inner, score_cutoff=len(quote) - best):
                distance, inside = _nearest_ends(quote, inner, best, before=before, behind=behind)
                if inside and distance < best:
                    ends.clear()
                best = distance
                ends.update(part.start + end for end in inside)
    return best, sorted(ends)


def _outside(
    stretch: Span, searched: Span, width: int
) -> Iterator[tuple[Span, int | None, int | None]]:
    """Yield the parts of a stretch with windows of up to `width` characters that are not within `searched`.

    Each part comes with the maximum number of characters that this window leaves out before and after.
    """
    if stretch.start < searched.start:
        end = min(stretch.end, searched.start + width)
        yield Span(stretch.start, end), searched.start - stretch.start - 1, None
    if searched.end < stretch.end:
        start = max(stretch.start, searched.end - width)
        yield Span(start, stretch.end), None, stretch.end - searched.end - 1


def _by_blocks(quote: str, text: str, limit: int) -> tuple[int, list[int]]:
    """Return the result of `_ends_in` by searching all blocks that share enough characters in order with the quote."""
    step = 2 * len(quote)  # shorter steps overlap more, longer ones exclude less
    width = len(quote) + limit + step  # a window that starts in one step ends within the block
    # Each distinct block is searched once: a million "㈜" have only three.
    blocks: dict[str, list[int]] = {}
    for start in range(0, max(1, len(text)), step):
        blocks.setdefault(text[start : start + width], []).append(start)
    shared = process.extract(
        quote, list(blocks), scorer=LCSseq.similarity, score_cutoff=len(quote) - limit, limit=None
    )
    if len(shared) * width > len(text) + width:
        return _nearest_ends(quote, text, limit)
    best, ends = limit, set[int]()
    for block, common, _ in shared:  # the blocks with the most in common first
        if len(quote) - common > best:
            break
        distance, inside = _nearest_ends(quote, block, best)
        if inside and distance < best:
            ends.clear()
        best = distance
        ends.update(start + end for start in blocks[block] for end in inside)
    return best, sorted(ends)


def _places(ends: list[int], length: int) -> Iterator[list[int]]:
    place: list[int] = []
    for end in ends:
        if place and end - place[0] >= length:
            yield place
            place = []
        place.append(end)
    if place:
        yield place


def _window(quote: str, source: Folding, start: int, end: int) -> _Window:
    while not source.is_edge(start):
        start -= 1
    while not source.is_edge(end):
        end += 1
    text = source.text
    distance = Levenshtein.distance(quote, text[start:end])
    similarity = 1 - distance / max(len(quote), end - start)
    edges = _is_word_edge(text, start, start) + _is_word_edge(text, end, end - 1)
    return _Window(start, end, distance, similarity, edges)


def _is_word_edge(text: str, offset: int, outermost: int) -> bool:
    if text[outermost] == " ":
        return False
    return not _cuts_word(text, offset)


def _with_rest_of_word(text: str, offset: int, step: int) -> tuple[int, ...]:
    """Return `offset`, and the next offset outwards if it completes a word that an edit would cut off."""
    if _cuts_word(text, offset) and not _cuts_word(text, offset + step):
        return offset, offset + step
    return (offset,)


def _cuts_word(text: str, offset: int) -> bool:
    return 0 < offset < len(text) and text[offset - 1].isalnum() and text[offset].isalnum()
