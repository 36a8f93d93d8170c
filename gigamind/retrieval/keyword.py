"""The keyword leg: BM25 fitted by rank-bm25 and served from sparse postings.

`BM25Okapi.get_scores` walks every document in Python for every query term (87 ms a query at 20 000 documents).  Here
each term's share of the score is worked out once, so that a query adds up a few short arrays (0.4 ms) to the same
scores.

One departure: a Korean word of one syllable shares no token with itself before a particle (책, 책을, 책은).  Where
rank-bm25 has no posting for such a word of a query, the word stands for all of its forms; see `KeywordIndex.terms`.
"""

import hashlib
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi  # pyright: ignore[reportMissingTypeStubs]

from gigamind.text import short_words, tokens

_SHORT = "^"  # before a word of one syllable, as a term: no token begins with it
_LAYOUT = b"2"  # of the file: an older one fails its checksum, and is built again
_CHECKSUM_BYTES = 16  # the archive's own checksums miss a damaged header


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """BM25 over chunks, by term.

    Attributes:
        rows: term -> its row in `starts`; terms are tokens, and words of one syllable behind a "^".
        starts: int64, shape (terms + 1,); term t owns `chunks[starts[t]:starts[t + 1]]` and the same of `shares`.
        chunks: int32, the chunks that hold the term, rising within a term.
        shares: float64, what one occurrence of the term in a query adds to the chunk's score.
        occurrences: int32, how often the chunk holds the term.
        idf: float64, shape (terms,), rank-bm25's inverse document frequency with its floor.
        lengths: int32, shape (size,), tokens of each chunk.
    """

    rows: dict[str, int]
    starts: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float64]
    occurrences: npt.NDArray[np.int32]
    idf: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int32]

    @property
    def size(self) -> int:
        """How many chunks there are."""
        return len(self.lengths)

    def terms(self, query: str) -> list[str]:
        """The query's tokens, with repetitions; a short word whose form no chunk has stands for all of its forms."""
        found = tokens(query)
        for word, token in short_words(query):
            if token not in self.rows and _SHORT + word in self.rows:
                found[found.index(token)] = _SHORT + word
        return found

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """Raw BM25 of every chunk, shape (size,); a repeated query word counts each time, as in rank-bm25."""
        total = np.zeros(self.size)
        for term in self.terms(query):
            if (row := self.rows.get(term)) is not None:
                own = slice(self.starts[row], self.starts[row + 1])
                total[self.chunks[own]] += self.shares[own]
        return total

    def relative_scores(self, query: str) -> npt.NDArray[np.float64]:
        """BM25 over the query's best BM25, in [0, 1]; all 0.0 when no chunk matches (seed 4.1)."""
        raw = self.scores(query)
        best = raw.max(initial=0.0)
        return np.maximum(raw, 0.0) / best if best > 0 else np.zeros(self.size)

    def postings(self, term: str) -> npt.NDArray[np.int64]:
        """Chunks that hold a token, rising."""
        row = self.rows.get(term)
        own = slice(0, 0) if row is None else slice(self.starts[row], self.starts[row + 1])
        return self.chunks[own].astype(np.int64)

    def weight(self, term: str) -> float:
        """Inverse document frequency of a token, never negative; 0.0 for one that no chunk holds."""
        row = self.rows.get(term)
        return 0.0 if row is None else max(0.0, float(self.idf[row]))

    def save(self, path: Path) -> None:
        """Write the index to `path`: a checksum, then an .npz archive without pickled objects."""
        terms = np.frombuffer("\n".join(self.rows).encode(), dtype=np.uint8)
        archive = io.BytesIO()
        np.savez(
            archive,
            terms=terms,
            starts=self.starts,
            chunks=self.chunks,
            shares=self.shares,
            occurrences=self.occurrences,
            idf=self.idf,
            lengths=self.lengths,
        )
        content = archive.getbuffer()
        with path.open("wb") as file:
            file.write(_checksum(content))
            file.write(content)

    @classmethod
    def load(cls, path: Path) -> "KeywordIndex":
        """Read what `save` wrote.

        Raises:
            OSError: the file is missing or unreadable.
            ValueError: it is cut short, damaged, or something else.
        """
        written = memoryview(path.read_bytes())
        checksum, content = written[:_CHECKSUM_BYTES], written[_CHECKSUM_BYTES:]
        if bytes(checksum) != _checksum(content):
            raise ValueError(f"{path}: no keyword index, a damaged one, or one of another version")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            joined = stored["terms"].tobytes().decode()
            return cls(
                rows={term: row for row, term in enumerate(joined.split("\n") if joined else ())},
                starts=stored["starts"],
                chunks=stored["chunks"],
                shares=stored["shares"],
                occurrences=stored["occurrences"],
                idf=stored["idf"],
                lengths=stored["lengths"],
            )


def _checksum(content: memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM_BYTES, key=_LAYOUT).digest()


def build_keyword_index(texts: Sequence[str]) -> KeywordIndex:
    """Fit BM25 (Okapi, k1 1.5, b 0.75, rank-bm25's defaults) on the tokens of `texts` and compile its postings."""
    corpus = [tokens(text) for text in texts]
    if not any(corpus):  # rank-bm25 divides by the number of documents and of terms
        none, nothing = np.zeros(0), np.zeros(0, np.int32)
        starts, lengths = np.zeros(1, np.int64), np.zeros(len(texts), np.int32)
        return KeywordIndex({}, starts, nothing, none, nothing, none, lengths)
    short: list[dict[str, int]] = [
        Counter(_SHORT + word for word, _ in short_words(text)) for text in texts
    ]
    return _compile(cast("_Fitted", BM25Okapi(corpus)), short)


class _Fitted(Protocol):
    """The fields of a fitted BM25Okapi that its `get_scores` reads, and those of its floor for the IDF."""

    corpus_size: int
    avgdl: float
    k1: float
    b: float
    epsilon: float
    average_idf: float
    idf: dict[str, float]
    doc_freqs: list[dict[str, int]]
    doc_len: list[int]


def _compile(bm25: _Fitted, short: Sequence[dict[str, int]]) -> KeywordIndex:
    """Postings with exactly the shares that `bm25.get_scores` adds up, term by term.

    Args:
        short: of each chunk the words of one syllable; they join the postings, and no statistic.
    """
    every_idf = bm25.idf | _idf_of_short(bm25, short)
    rows = {term: row for row, term in enumerate(every_idf)}
    frequencies = [own | words for own, words in zip(bm25.doc_freqs, short, strict=True)]
    lengths = np.asarray(bm25.doc_len, dtype=np.int32)
    counts = np.fromiter((len(f) for f in frequencies), np.int64, len(frequencies))
    entries = int(counts.sum())
    term_of = np.fromiter((rows[t] for f in frequencies for t in f), np.int64, entries)
    occurrences = np.fromiter((n for f in frequencies for n in f.values()), np.int32, entries)
    chunk_of = np.repeat(np.arange(len(frequencies)), counts)
    order = np.argsort(term_of, kind="stable")
    term_of, occurrences, chunk_of = term_of[order], occurrences[order], chunk_of[order]
    idf = np.fromiter(every_idf.values(), np.float64, len(rows))
    saturation = bm25.k1 * (1 - bm25.b + bm25.b * lengths[chunk_of] / bm25.avgdl)
    return KeywordIndex(
        rows=rows,
        starts=np.searchsorted(term_of, np.arange(len(rows) + 1)),
        chunks=chunk_of.astype(np.int32),
        shares=idf[term_of] * (occurrences * (bm25.k1 + 1) / (occurrences + saturation)),
        occurrences=occurrences,
        idf=idf,
        lengths=lengths,
    )


def _idf_of_short(bm25: _Fitted, short: Sequence[dict[str, int]]) -> dict[str, float]:
    """Inverse document frequencies by rank-bm25's formula."""
    held = Counter(word for words in short for word in words)
    idf = {n: math.log(bm25.corpus_size - n + 0.5) - math.log(n + 0.5) for n in held.values()}
    floor = bm25.epsilon * bm25.average_idf
    return {word: idf[n] if idf[n] >= 0 else floor for word, n in held.items()}
