"""Preselects the parts of a long text where a quote may occur, by the q-grams that both share.

The q-gram lemma: a window within k edits of a quote of n characters has at least n - q + 1 - q k of its q-grams.  Of
every q-th, it has (n - k - q + 1) / q - k. Parts with fewer need not be searched; no match is missed.

P. Jokinen, E. Ukkonen, "Two algorithms for approximate string matching in static texts", MFCS 1991; for every q-th:
E. Sutinen, J. Tarhio, "Filtration with q-samples in approximate string matching", CPM 1996.
"""

from functools import reduce

import numpy as np
import numpy.typing as npt

_Q = 3
_MULTIPLIERS = (1, 251, 40503)  # combine the characters of a q-gram; collisions only cost time
_CELL = 8 * _Q  # characters counted together; every third one becomes a byte of an integer
_SUM_OF_BYTES = np.uint64(0x0101010101010101)  # a factor: the highest byte is the sum of all
_HIGHEST = np.uint64(56)
_MANY = 8  # stretches; with more of them, counting all q-grams is cheaper than searching

_Codes = npt.NDArray[np.uint16]
_Counts = npt.NDArray[np.intp]
_Stretch = tuple[int, int]  # half-open offsets of the text


class Grams:
    """The q-grams of a text, numbered once for all quotes; five bytes per character."""

    def __init__(self, text: str) -> None:
        codes = _codes(text)
        self.length = len(text)
        self.cells = np.zeros((-(-len(codes) // _CELL), _CELL), np.uint16)
        self.cells.reshape(-1)[: len(codes)] = codes
        # Any other index type doubles the time.
        self.thirds = self.cells[:, ::_Q].astype(np.intp)


class Shared:
    """The number of a quote's q-grams in each part of a text."""

    def __init__(self, grams: Grams, quote: str) -> None:
        self._grams, self._length = grams, len(quote)
        self._own = np.zeros(1 << 16, np.uint8)
        self._own[_codes(quote)] = 1
        self._thirds = _sums(self._count(grams.thirds))

    def likeliest(self) -> _Stretch:
        """Return the range around the window with the most shared q-grams, slightly longer than the quote."""
        width = self._width(self._length // 8)
        first = int(np.argmax(_in_windows(self._thirds, width)))
        return self._stretch(max(0, first - 1), first + width + 1)

    def enough(self, edits: int) -> list[_Stretch] | None:
        """Return the ranges, in order, where the quote may occur with this many edits; None: anywhere."""
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
        """Return the number of the quote's q-grams per cell; the rows of `cells` are multiples of eight."""
        own = self._own.take(cells, mode="wrap")  # mode "raise" takes 1.5 times as long
        return (reduce(np.add, own.view(np.uint64).T) * _SUM_OF_BYTES >> _HIGHEST).astype(np.intp)

    def _width(self, edits: int) -> int:
        return -(-(self._length + edits - 1) // _CELL) + 1

    def _stretch(self, first: int, last: int) -> _Stretch:
        return first * _CELL, min(last * _CELL, self._grams.length)


def _sums(counts: _Counts) -> _Counts:
    sums = np.zeros(len(counts) + 1, np.intp)
    np.cumsum(counts, out=sums[1:])
    return sums


def _in_windows(sums: _Counts, width: int) -> _Counts:
    windows = sums[-1] - sums[:-1]
    if width < len(sums):
        windows[: len(sums) - width] = sums[width:] - sums[:-width]
    return windows


def _runs(chosen: npt.NDArray[np.bool_], width: int) -> tuple[_Counts, _Counts]:
    """Return the firsts and ends of the ranges of chosen windows, in order; touching ranges are merged."""
    firsts = np.flatnonzero(chosen)
    if not len(firsts):
        return firsts, firsts
    apart = np.flatnonzero(firsts[1:] - firsts[:-1] > width)
    starts = np.concatenate([firsts[:1], firsts[apart + 1]])
    return starts, np.concatenate([firsts[apart], firsts[-1:]]) + width


def _inside(firsts: _Counts, lasts: _Counts, cells: int) -> npt.NDArray[np.bool_]:
    steps = np.zeros(cells + 1, np.int8)
    steps[firsts] = 1
    steps[np.minimum(lasts, cells)] = -1
    return np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)


def _codes(text: str) -> _Codes:
    chars = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint16)
    count = max(0, len(chars) - _Q + 1)
    codes = np.zeros(count, np.uint16)
    for place, multiplier in enumerate(_MULTIPLIERS):
        codes += chars[place : place + count] * np.uint16(multiplier)
    return codes
