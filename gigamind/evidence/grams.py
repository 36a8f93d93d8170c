"""Where in a long text a quote may stand, told by the runs of characters that both share.

The q-gram lemma: an edit breaks at most q of a text's grams, the runs of q characters, and one of every q-th of them.
A window within k edits of a quote of n characters has at least n - q + 1 - q k grams of the quote, and of every q-th
(n - k - q + 1) / q - k.  So what has fewer need not be searched, and nothing is overlooked.
P. Jokinen, E. Ukkonen, "Two algorithms for approximate string matching in static texts", MFCS 1991; of every q-th:
E. Sutinen, J. Tarhio, "Filtration with q-samples in approximate string matching", CPM 1996.
"""

from functools import reduce

import numpy as np
import numpy.typing as npt

_Q = 3
_MULTIPLIERS = (1, 251, 40503)  # odd, of one gram's characters; equal codes only cost time
_CELL = (
    8 * _Q
)  # characters whose grams are counted together: every third of them is a byte of one integer
_SUM_OF_BYTES = np.uint64(0x0101010101010101)  # times that, the highest byte is the sum of all
_HIGHEST = np.uint64(56)
_MANY = (
    8  # stretches by every third gram: one among these costs more to search than all grams to count
)

_Codes = npt.NDArray[np.uint16]
_Counts = npt.NDArray[np.intp]
_Stretch = tuple[int, int]  # offsets of the text, half-open


class Grams:
    """The grams of a text, numbered once for all quotes: five bytes a character."""

    def __init__(self, text: str) -> None:
        codes = _codes(text)
        self.length = len(text)
        self.cells = np.zeros((-(-len(codes) // _CELL), _CELL), np.uint16)
        self.cells.reshape(-1)[: len(codes)] = codes
        # An index of another type takes twice the time.
        self.thirds = self.cells[:, ::_Q].astype(np.intp)

    def shared(self, quote: str) -> "Shared":
        """Count the grams that are the quote's."""
        return Shared(self, quote)


class Shared:
    """How many grams of one quote there are in each stretch of a text."""

    def __init__(self, grams: Grams, quote: str) -> None:
        self._grams, self._length = grams, len(quote)
        self._own = np.zeros(1 << 16, np.uint8)
        self._own[_codes(quote)] = 1
        self._thirds = _sums(self._count(grams.thirds))

    def likeliest(self) -> _Stretch:
        """Around the window that has the most, somewhat longer than the quote."""
        width = self._width(self._length // 8)
        first = int(np.argmax(_in_windows(self._thirds, width)))
        return self._stretch(max(0, first - 1), first + width + 1)

    def enough(self, edits: int) -> list[_Stretch] | None:
        """The stretches, from left to right, in which alone the quote may fit with so many edits; None: anywhere."""
        width = self._width(edits)
        least = (self._length - edits - _Q + 1) // _Q - edits
        if least <= 0:
            return None
        firsts, lasts = _runs(_in_windows(self._thirds, width) >= least, width)
        if len(firsts) > _MANY:
            inside = _inside(firsts, lasts, len(self._grams.cells))
            counts = np.zeros(len(inside), np.intp)
            counts[inside] = self._count(self._grams.cells[inside])
            least = self._length - _Q + 1 - _Q * edits
            firsts, lasts = _runs(_in_windows(_sums(counts), width) >= least, width)
        return list(map(self._stretch, firsts.tolist(), lasts.tolist()))

    def _count(self, cells: npt.NDArray[np.unsignedinteger | np.signedinteger]) -> _Counts:
        """How many grams of each cell, a row of eight or of several times eight, are the quote's."""
        own = self._own.take(cells, mode="wrap")  # checking each number takes half as long again
        return (reduce(np.add, own.view(np.uint64).T) * _SUM_OF_BYTES >> _HIGHEST).astype(np.intp)

    def _width(self, edits: int) -> int:
        """Cells that hold every window which starts in the first of them."""
        return -(-(self._length + edits - 1) // _CELL) + 1

    def _stretch(self, first: int, last: int) -> _Stretch:
        return first * _CELL, min(last * _CELL, self._grams.length)


def _sums(counts: _Counts) -> _Counts:
    """The sum of the first cells, of none to all."""
    sums = np.zeros(len(counts) + 1, np.intp)
    np.cumsum(counts, out=sums[1:])
    return sums


def _in_windows(sums: _Counts, width: int) -> _Counts:
    """The grams in the `width` cells from each on, fewer at the end of the text."""
    windows = sums[-1] - sums[:-1]
    if width < len(sums):
        windows[: len(sums) - width] = sums[width:] - sums[:-width]
    return windows


def _runs(chosen: npt.NDArray[np.bool_], width: int) -> tuple[_Counts, _Counts]:
    """The cells of chosen windows, as the firsts and the ends of rising ranges: those that touch are one."""
    firsts = np.flatnonzero(chosen)
    if not len(firsts):
        return firsts, firsts
    apart = np.flatnonzero(firsts[1:] - firsts[:-1] > width)
    starts = np.concatenate([firsts[:1], firsts[apart + 1]])
    return starts, np.concatenate([firsts[apart], firsts[-1:]]) + width


def _inside(firsts: _Counts, lasts: _Counts, cells: int) -> npt.NDArray[np.bool_]:
    """Whether each cell lies in one of the ranges, of which none touch."""
    steps = np.zeros(cells + 1, np.int8)
    steps[firsts] = 1
    steps[np.minimum(lasts, cells)] = -1
    return np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)


def _codes(text: str) -> _Codes:
    """A number for the gram at each offset of `text`, equal for equal grams."""
    chars = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint16)
    count = max(0, len(chars) - _Q + 1)
    codes = np.zeros(count, np.uint16)
    for place, multiplier in enumerate(_MULTIPLIERS):
        codes += chars[place : place + count] * np.uint16(multiplier)
    return codes
