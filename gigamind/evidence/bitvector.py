"""Where in a text a pattern fits with the fewest edits.

An edit is the insertion, deletion or substitution of one character.  In a text of a few patterns' length rapidfuzz
finds it, which knows only the edits from one whole text to another: characters that stand in no text, put around the
pattern, take what the window leaves out, each for one edit, wherever the window lies.  Elsewhere it is Myers' algorithm
in Hyyrö's form: a column of the edit matrix is two big integers, so a character of the text costs a dozen integer
operations whatever the pattern's length.
G. Myers, JACM 46(3), 1999; H. Hyyrö, "Explaining and extending the bit-parallel approximate string matching
algorithm of Myers", 2001.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from rapidfuzz.distance import Levenshtein

_ABSENT = "\uffff"  # no character, so that it stands in no text; where it does, nothing is put around the pattern
_SHORT = (
    4000  # characters of a text; the time of what is put around the pattern grows with their square
)
_SEVERAL = 8  # ends, each found on its own, that take as long as all by bit vectors


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern, not empty.

    Attributes:
        length: its number of characters.
        masks: for each character the positions it stands at, as bits.
    """

    length: int
    masks: dict[str, int]

    @classmethod
    def of(cls, text: str) -> "Pattern":
        """Compile `text`."""
        masks: dict[str, int] = {}
        for position, char in enumerate(text):
            masks[char] = masks.get(char, 0) | 1 << position
        return cls(len(text), masks)


def distances(pattern: Pattern, text: Iterable[str], *, anchored: bool) -> Iterator[int]:
    """For each prefix of `text` of 1, 2, ... characters, the fewest edits from `pattern` to what ends there.

    Anchored, that is the whole prefix; otherwise its best suffix, which may be empty.
    """
    full = (1 << pattern.length) - 1
    last = 1 << pattern.length - 1
    first_row, distance = int(anchored), pattern.length
    rises, falls = full, 0
    for equal in map(pattern.masks.get, text, repeat(0)):
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


def best_ends(pattern: Pattern, text: str, limit: int) -> tuple[int, list[int]]:
    """The fewest edits, at most `limit`, with which the pattern fits anywhere in `text`, and every end where it does.

    No end means that nothing fits within the limit.
    """
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
    """The same as `best_ends`, in a fifth of its time where the text is short and has few such ends.

    None may also be told where each window with so few edits leaves out more than `before` or `behind` characters.
    """
    if len(text) > _SHORT or _ABSENT in text:
        return best_ends(Pattern.of(pattern), text, limit)
    spare = max(0, len(text) - len(pattern) + limit)  # a window leaves out no more on either side
    before, behind = (spare if most is None else min(most, spare) for most in (before, behind))
    wrapped, around = f"{before * _ABSENT}{pattern}{behind * _ABSENT}", before + behind
    distance = Levenshtein.distance(wrapped, text, score_cutoff=around + limit) - around
    if distance > limit or not text:
        return limit, []
    ends = _ends(pattern, text, distance, anchored=False)
    return (distance, ends) if ends else best_ends(Pattern.of(pattern), text, distance)


def starts(pattern: str, text: str, end: int, distance: int) -> list[int]:
    """Every start from which `text[start:end]` is exactly `distance` edits away from the pattern, rightmost first.

    There is one, and none with fewer edits.
    """
    backwards = pattern[::-1]
    window = text[max(0, end - len(pattern) - distance) : end][::-1]
    lengths = [] if _ABSENT in window else _ends(backwards, window, distance, anchored=True)
    if not lengths:
        edits_of_prefixes = distances(Pattern.of(backwards), window, anchored=True)
        lengths = [at for at, edits in enumerate(edits_of_prefixes, start=1) if edits == distance]
    return [end - length for length in lengths]


def _ends(pattern: str, text: str, distance: int, *, anchored: bool) -> list[int]:
    """Every end of a window that is so near; none where there are more than several.

    There is one, and none is nearer.  Anchored, a window starts with the text.
    """
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
    """How much of the part the characters before an offset have become, in one way of the fewest edits."""
    for code in Levenshtein.opcodes(wrapped, part):
        if code.src_end >= offset:
            kept = offset - code.src_start if code.tag != "delete" else 0
            return code.dest_start + kept
    return len(part)
