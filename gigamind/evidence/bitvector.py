"""Finds where a pattern occurs in a text with the fewest edits (insertions, deletions, substitutions).

For a text of a few patterns' length, rapidfuzz is fastest. It only compares whole texts, so the pattern is padded with
a character that occurs in no text and matches one character outside the window, at one edit. Longer texts use Myers'
algorithm in Hyyrö's form: two big integers hold a column of the edit matrix.

G. Myers, JACM 46(3), 1999; H. Hyyrö, "Explaining and extending the bit-parallel approximate string matching
algorithm of Myers", 2001.
"""

from collections.abc import Iterable, Iterator
from itertools import repeat

from rapidfuzz.distance import Levenshtein

_ABSENT = "\uffff"  # no character, so that it stands in no text; where it does, nothing is put around the pattern
_SHORT = 4000  # characters of a text; the time of the padding grows with their square
_SEVERAL = 8  # ends, each found on its own, that take as long as all by bit vectors


def distances(pattern: str, text: Iterable[str], *, anchored: bool) -> Iterator[int]:
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


def best_ends(pattern: str, text: str, limit: int) -> tuple[int, list[int]]:
    """Return the fewest edits, up to `limit`, with which the pattern occurs in `text`, and every end where it does."""
    best, ends = limit, list[int]()
    for end, distance in enumerate(distances(pattern, text, anchored=False), start=1):
        if distance < best:
            best, ends = distance, [end]
        elif distance == best:
            ends.append(end)
    return best, ends


def nearest_ends(
    pattern: str, text: str, limit: int, *, before: int | None = None, behind: int | None = None
) -> tuple[int, list[int]]:
    """Return the same as `best_ends`, in a fifth of the time if the text is short and has few such ends.

    May return no ends if every such window leaves out more than `before` or `behind` characters.
    """
    if len(text) > _SHORT or _ABSENT in text:
        return best_ends(pattern, text, limit)
    spare = max(0, len(text) - len(pattern) + limit)  # most that a window leaves out on a side
    before, behind = (spare if most is None else min(most, spare) for most in (before, behind))
    wrapped, around = f"{before * _ABSENT}{pattern}{behind * _ABSENT}", before + behind
    distance = Levenshtein.distance(wrapped, text, score_cutoff=around + limit) - around
    if distance > limit or not text:
        return limit, []
    ends = _ends(pattern, text, distance, anchored=False)
    return (distance, ends) if ends else best_ends(pattern, text, distance)


def starts(pattern: str, text: str, end: int, distance: int) -> list[int]:
    """Return every start at exactly `distance` edits to `end`, rightmost first; none may have fewer edits."""
    backwards = pattern[::-1]
    window = text[max(0, end - len(pattern) - distance) : end][::-1]
    lengths = [] if _ABSENT in window else _ends(backwards, window, distance, anchored=True)
    if not lengths:
        edits_of_prefixes = distances(backwards, window, anchored=True)
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
