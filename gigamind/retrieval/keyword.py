"""Keyword search: BM25 fitted by rank-bm25 and served from sparse postings.

`BM25Okapi.get_scores` loops over every document in Python for each query term (87 ms a query for 20 000 documents).
Here each term's part of the score is computed once, so that a query adds a few short arrays (0.4 ms) to the same
scores.

One difference: a Korean word of one syllable shares no token with its forms with particles (책, 책을, 책은).  If the
index has no posting for this query word, the word matches all of its forms; see `KeywordIndex.terms`.
"""

import io
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from gigamind.checksum import seal, unsealed
from gigamind.text import short_words, tokens

_POSITION_BITS = 32
_MOST_REMEMBERED = 500_000  # words
_LONGEST_REMEMBERED = 40  # characters; longer strings are seldom words and seldom recur
_SHORT = "^"  # prefix of one-syllable words used as terms; no token starts with it
_ARRAYS = ("starts", "chunks", "shares", "occurrences", "idf", "lengths")
_LAYOUT = b"2"  # version of the file: an older file fails the checksum and is rebuilt


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """BM25 over chunks, by term; `chunks`, `shares` and `occurrences` are concatenated by term."""

    rows: dict[str, int]  # term -> row in `starts`; terms are tokens, and short words after "^"
    starts: npt.NDArray[np.int64]  # shape (terms + 1,); term t owns `starts[t]:starts[t + 1]`
    chunks: npt.NDArray[np.int32]  # that contain the term, ascending within a term
    shares: npt.NDArray[np.float64]  # scores for one occurrence in a query
    occurrences: npt.NDArray[np.int32]  # of the term in the chunk
    idf: npt.NDArray[np.float64]  # shape (terms,), as in rank-bm25 with its floor
    lengths: npt.NDArray[np.int32]  # shape (size,), tokens in each chunk

    @property
    def size(self) -> int:
        """Number of chunks."""
        return len(self.lengths)

    def terms(self, query: str) -> list[str]:
        """Return the query's tokens, with repetitions; a short word in an unindexed form matches all its forms."""
        query_tokens = tokens(query)
        for word, token in short_words(query):
            if token not in self.rows and _SHORT + word in self.rows:
                query_tokens[query_tokens.index(token)] = _SHORT + word
        return query_tokens

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """Return raw BM25 of every chunk, shape (size,); a repeated query word counts each time, as in rank-bm25."""
        total = np.zeros(self.size)
        known = (row for term in self.terms(query) if (row := self.rows.get(term)) is not None)
        owned = [slice(*self.starts[row : row + 2].tolist()) for row in known]
        # Indexes of another type than intp halve the speed; one buffer serves all terms.
        room = np.empty(max((own.stop - own.start for own in owned), default=0), np.intp)
        for own in owned:
            chunks = room[: own.stop - own.start]
            chunks[:] = self.chunks[own]
            np.add.at(total, chunks, self.shares[own])
        return total

    def postings(self, term: str) -> npt.NDArray[np.int64]:
        """Return the chunks that contain a token, ascending."""
        row = self.rows.get(term)
        own = slice(0, 0) if row is None else slice(self.starts[row], self.starts[row + 1])
        return self.chunks[own].astype(np.int64)

    def weight(self, term: str) -> float:
        """Return the inverse document frequency of a token, never negative; 0.0 if no chunk contains it."""
        row = self.rows.get(term)
        return 0.0 if row is None else max(0.0, float(self.idf[row]))

    def save(self, path: Path) -> None:
        """Write a checksum, as the archive's own miss a damaged header, then an .npz without pickled objects."""
        terms = np.frombuffer("\n".join(self.rows).encode(), dtype=np.uint8)
        archive = io.BytesIO()
        np.savez(archive, terms=terms, **{name: getattr(self, name) for name in _ARRAYS})
        content = archive.getbuffer()
        with path.open("wb") as file:
            file.write(seal(content, _LAYOUT))
            file.write(content)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file written by `save`.

        Raises:
            OSError: The file is missing or unreadable.
            ValueError: It is incomplete, damaged, or another kind of file.
        """
        try:
            content = unsealed(path.read_bytes(), _LAYOUT)
        except ValueError as error:
            raise ValueError(f"{path}: not a keyword index of this version, or damaged") from error
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            joined = stored["terms"].tobytes().decode()
            return cls(
                rows={term: row for row, term in enumerate(joined.split("\n") if joined else ())},
                **{name: stored[name] for name in _ARRAYS},
            )

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Fit `BM25Okapi` on the tokens of `texts`, and compile its counts and weights into postings.

        Scores equal `BM25Okapi.get_scores` to 1e-9, as tests verify.
        """
        from rank_bm25 import BM25Okapi

        if not any(map(tokens, texts)):  # BM25Okapi would divide by zero
            starts, lengths = np.zeros(1, np.int64), np.zeros(len(texts), np.int32)
            numbers, weights = np.empty(0, np.int32), np.empty(0)
            return cls({}, starts, numbers, weights, numbers, weights, lengths)
        counts, short = _Counts(), dict[int, Counter[str]]()
        fitted = cast("Any", BM25Okapi.__new__(BM25Okapi))  # has no types

        def counted() -> Iterator[list[str]]:
            for words in _tokenized(texts, short):
                yield words
                # BM25Okapi would keep a dictionary per chunk: most of the memory of a build.
                counts.append(fitted.doc_freqs.pop())

        fitted.__init__(counted())
        for of_chunk in short.values():
            counts.append(of_chunk)
        starts, chunks, occurrences = counts.postings([*range(len(texts)), *short])
        found = np.diff(starts)[len(fitted.idf) :]  # chunks with a short word
        of_short = np.log(len(texts) - found + 0.5) - np.log(found + 0.5)
        of_short[of_short < 0] = fitted.epsilon * fitted.average_idf
        idf = np.concatenate([list(fitted.idf.values()), of_short])
        lengths = np.array(fitted.doc_len, np.int32)
        saturation = fitted.k1 * (1 - fitted.b + fitted.b * lengths / fitted.avgdl)
        shares = np.repeat(idf, np.diff(starts))
        frequencies = occurrences * (fitted.k1 + 1)
        frequencies /= occurrences + saturation[chunks]
        shares *= frequencies
        counts.rows.default_factory = None  # else its memory is freed only by the garbage collector
        return cls(counts.rows, starts, chunks, shares, occurrences, idf, lengths)


def _tokenized(texts: Sequence[str], short: dict[int, Counter[str]]) -> Iterator[list[str]]:
    """Yield the tokens of each text, and count its short words in `short`, by the text's number."""
    known = _TokensOfWord()
    with_short = known.short.keys()
    for number, text in enumerate(texts):
        words = text.split()  # no token contains white space
        yield list(chain.from_iterable(map(known.__getitem__, words)))
        if not with_short.isdisjoint(words):
            terms = map(known.short.__getitem__, filter(with_short.__contains__, words))
            short[number] = Counter(chain.from_iterable(terms))


class _Counts:
    """Occurrences of terms in chunks, in place of a list of dictionaries."""

    def __init__(self) -> None:
        self.rows: defaultdict[str, int] = defaultdict()  # term -> row, in order of first use
        self.rows.default_factory = self.rows.__len__
        self._sizes, self._rows, self._occurrences = array("i"), array("i"), array("i")

    def append(self, counts: Mapping[str, int]) -> None:
        """Add the counts of the next chunk."""
        self._sizes.append(len(counts))
        self._rows.extend(map(self.rows.__getitem__, counts))
        self._occurrences.extend(counts.values())

    def postings(
        self, numbers: Sequence[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return starts, chunks and occurrences, as in `KeywordIndex`; `numbers` are the chunks of each `append`."""
        row = np.array(self._rows, np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(self.rows)))])
        # Sorting distinct numbers is several times faster than a stable argsort.
        row <<= _POSITION_BITS
        row |= np.arange(len(row))
        row.sort()
        row &= (1 << _POSITION_BITS) - 1
        chunks = np.repeat(np.array(numbers, np.int32), self._sizes)[row]
        return starts, chunks, np.array(self._occurrences, np.int32)[row]


class _TokensOfWord(dict[str, list[str]]):
    """Tokens of strings without white space: most words of a vault recur, so seen ones are kept in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.short: dict[str, list[str]] = {}  # terms of the strings that contain short words

    def __missing__(self, word: str) -> list[str]:
        found = [intern(token) for token in tokens(word)]
        if short := [_SHORT + syllable for syllable, _ in short_words(word)]:
            self.short[word] = short
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = found
        return found
