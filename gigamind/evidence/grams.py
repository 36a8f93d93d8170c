"""Where in a long text a quote may stand, told by the runs of characters that both share.

The q-gram lemma: a window within k edits of a quote of n characters has at least n - q + 1 - q k of its grams of q
characters, for an edit breaks at most q of them.  So what has fewer need not be searched, and nothing is overlooked.
P. Jokinen, E. Ukkonen, "Two algorithms for approximate string matching in static texts", MFCS 1991.
"""

import numpy as np
import numpy.typing as npt

_Q = 4
_MULTIPLIERS = (
    1,
    251,
    40503,
    27655,
)  # odd, of one gram's characters; equal codes of two grams only cost time
_CELL = 32  # characters that are counted together

_Codes = npt.NDArray[np.uint16]
_Counts = npt.NDArray[np.intp]
_Stretch = tuple[int, int]  # offsets of the text, half-open


class Grams:
    """The grams of a text of at least `_Q` characters, numbered once for all quotes: eight bytes a character."""

    def __init__(self, text: str) -> None:
        self._codes = _codes(text).astype(np.intp)  # an index of another type takes twice the time
        self._cells = np.arange(0, len(self._codes), _CELL)
        self._length = len(text)

    def shared(self, quote: str) -> "Shared":
        """Count the grams that are the quote's."""
        own = np.zeros(1 << 16, np.uint8)
        own[_codes(quote)] = 1
        counts = np.add.reduceat(own[self._codes], self._cells, dtype=np.intp)
        return Shared(counts, len(quote), self._length)


class Shared:
    """How many grams of one quote there are in each stretch of a text."""

    def __init__(self, counts: _Counts, length: int, text_length: int) -> None:
        self._sums = np.concatenate([[0], np.cumsum(counts)])
        self._length, self._text_length = length, text_length

    def likeliest(self) -> _Stretch:
        """Around the window that has the most, somewhat longer than the quote."""
        width, around = self._width(self._length // 8), 1
        first = int(np.argmax(self._in_windows(width)))
        return self._stretch(max(0, first - around), first + width + around)

    def enough(self, edits: int) -> list[_Stretch] | None:
        """The stretches, from left to right, in which alone the quote may fit with so many edits; None: anywhere."""
        least = self._length - _Q + 1 - _Q * edits
        if least <= 0:
            return None
        width = self._width(edits)
        (firsts,) = np.nonzero(self._in_windows(width) >= least)
        runs = np.split(firsts, np.flatnonzero(np.diff(firsts) > width) + 1)
        return [self._stretch(int(run[0]), int(run[-1]) + width) for run in runs if len(run)]

    def _width(self, edits: int) -> int:
        """Cells that hold every window which starts in the first of them."""
        return -(-(self._length + edits - 1) // _CELL) + 1

    def _in_windows(self, width: int) -> _Counts:
        """The grams in the `width` cells from each on, fewer at the end of the text."""
        ends = np.minimum(np.arange(width, len(self._sums) + width - 1), len(self._sums) - 1)
        return self._sums[ends] - self._sums[:-1]

    def _stretch(self, first: int, last: int) -> _Stretch:
        return first * _CELL, min(last * _CELL, self._text_length)


def _codes(text: str) -> _Codes:
    """A number for the gram at each offset of `text`, equal for equal grams."""
    chars = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint16)
    count = max(0, len(chars) - _Q + 1)
    codes = np.zeros(count, np.uint16)
    for place, multiplier in enumerate(_MULTIPLIERS):
        codes += chars[place : place + count] * np.uint16(multiplier)
    return codes
