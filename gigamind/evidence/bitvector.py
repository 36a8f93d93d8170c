"""Where in a text a pattern fits with the fewest edits: Myers' bit-vector algorithm, in Hyyrö's form.

An edit is the insertion, deletion or substitution of one character.  A column of the edit matrix is two big integers,
so a character of the text costs a dozen integer operations whatever the pattern's length.
G. Myers, JACM 46(3), 1999; H. Hyyrö, "Explaining and extending the bit-parallel approximate string matching
algorithm of Myers", 2001.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


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
    masks, first_row, distance = pattern.masks, int(anchored), pattern.length
    rises, falls = full, 0
    for char in text:
        equal = masks.get(char, 0)
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


def starts(reversed_pattern: Pattern, text: str, end: int, distance: int) -> list[int]:
    """Every start from which `text[start:end]` is exactly `distance` edits away from the pattern, rightmost first."""
    floor = max(0, end - reversed_pattern.length - distance)
    window = text[floor:end]
    found = distances(reversed_pattern, reversed(window), anchored=True)
    return [end - length for length, edits in enumerate(found, start=1) if edits == distance]
