"""Signals for whether the vault answers a query, as features of the `calibrated` judge.

One of them is the share of the query's words in a text, weighted by rarity and ignoring endings.  A word of Hangul
counts by its character bigrams, the first one most.  A word of letters also matches a word with the same beginning.
"""

import math
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from gigamind.retrieval.fuse import ChunkLayout, Floats, Ints
from gigamind.retrieval.hit import Signals
from gigamind.retrieval.index import Chunk, cut
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.retrieval.retriever import Retriever, SemanticLeg
from gigamind.text import tokens
from gigamind.vault.language import known_language

# White space and ASCII punctuation; `tokens` drops the rest.
_BETWEEN_WORDS = re.compile(r"[\s!-/:-@\[-`{-~]+")
_LATER_TOKEN = 0.5  # weight of each token of a word relative to the one before it
_SAME_BEGINNING = 0.8  # weight of a word that the text has with another ending
_LONGEST_ENDING = 3
_SHORTEST_STEM = 4


@dataclass(frozen=True, slots=True)
class _QueryWords:
    """The words of a query, weighted by one vault."""

    chunks: Ints  # chunks with one of its tokens, ascending, without the hidden ones
    idf: dict[str, float]  # ln(1 + (N - n + 1/2) / (n + 1/2)) for a token in n of N chunks
    mass: float
    weights: dict[str, float]  # of each token; their sum is 1, or 0 without words

    def share_in(self, keyword: KeywordIndex, chunks: Ints) -> float:
        """Return the IDF share of the tokens in these consecutive chunks, in [0, 1]."""
        matched = 0.0
        for token, idf in self.idf.items():
            first, behind = np.searchsorted(keyword.postings(token), (chunks[0], chunks[-1] + 1))
            matched += idf * bool(first < behind)
        return matched / self.mass if self.mass else 0.0

    def coverage(self, text: AbstractSet[str], forms: Mapping[str, AbstractSet[str]]) -> float:
        """Return the share of the words in a text, in [0, 1]; `forms` are theirs in this text or a larger one."""
        return sum(
            weight * (1.0 if token in text else _SAME_BEGINNING)
            for token, weight in self.weights.items()
            if not forms[token].isdisjoint(text)
        )

    def forms(self, text: AbstractSet[str]) -> dict[str, AbstractSet[str]]:
        """Return the tokens of a text that match each token of the query: itself, or those with the same beginning."""
        return {token: _forms(token, text) for token in self.weights}


def _read_query_words(query: str, keyword: KeywordIndex, hidden: Ints) -> _QueryWords:
    """Return the words of `query`, weighted as if the chunks `hidden` (ascending) were not indexed."""
    split = _BETWEEN_WORDS.split(unicodedata.normalize("NFC", query).lower())
    words = [own for word in split if (own := tokens(word))]
    size = keyword.size - len(hidden)
    idf: dict[str, float] = {}
    sharing = np.zeros(keyword.size, dtype=bool)
    for token in dict.fromkeys(token for word in words for token in word):
        postings = keyword.postings(token)
        sharing[postings] = True
        count = len(postings) - (int(np.isin(postings, hidden).sum()) if len(hidden) else 0)
        idf[token] = math.log(1 + (size - count + 0.5) / (count + 0.5))
    sharing[hidden] = False
    return _QueryWords(np.flatnonzero(sharing), idf, sum(idf.values()), _weights(words, idf))


def _weights(words: Sequence[Sequence[str]], idf: Mapping[str, float]) -> dict[str, float]:
    weights = dict.fromkeys(idf, 0.0)
    for word in words:
        whole = max(idf[token] for token in word) ** 2
        places = [_LATER_TOKEN**place for place in range(len(word))]
        for token, place in zip(word, places, strict=True):
            weights[token] += whole * place / sum(places)
    total = sum(weights.values())
    return {token: weight / total for token, weight in weights.items()} if total else weights


def _forms(token: str, text: AbstractSet[str]) -> AbstractSet[str]:
    if token in text or len(token) <= _SHORTEST_STEM:  # true for all bigrams of Hangul
        return {token}
    stem = token[: max(_SHORTEST_STEM, len(token) - _LONGEST_ENDING)]
    return {token, *(other for other in text if other.startswith(stem))}


_NEAREST = 64  # chunks
_RUNNERS_UP = 9  # notes after the first, for comparison
_PIECES = 3  # best chunks whose text is read
_READ_CHARS = 50_000  # of one chunk: a table or a code block can have any length
_LANGUAGE_CHARS = 600  # of the nearest chunk, enough to detect its language


def signals_of(retriever: Retriever, query: str, *, without: Collection[str] = ()) -> Signals:
    """Return the signals of a query as if the notes `without` were not in the vault.

    Raises:
        EmbeddingError: The query could not be embedded.
        IndexingError: The vector index failed.
    """
    places = [at for at, note in enumerate(retriever.notes) if note in without] if without else []
    hidden = retriever.layout.chunks(np.array(places, dtype=np.int64))
    raw = retriever.keyword.scores(query)
    raw[hidden] = -np.inf
    words = _read_query_words(query, retriever.keyword, hidden)
    # Scores can be negative: in a vault of one or two notes rank-bm25 gives every word a negative weight.
    sharing = np.full_like(raw, -np.inf)
    sharing[words.chunks] = raw[words.chunks]
    leading = [chunk for chunk in _best(sharing, _PIECES) if np.isfinite(sharing[chunk])]
    pieces = {chunk: _read(words, retriever.chunks[chunk]) for chunk in leading}
    notes = retriever.layout.best(raw)
    leader = int(notes.argmax())
    own = np.flatnonzero(np.isfinite(retriever.layout.best(sharing)))
    candidates = len(own)
    top = max(0.0, float(notes[leader]))
    of_candidates = np.maximum(notes[own], 0.0)
    spread = float(of_candidates.std()) if candidates else 0.0
    leading_chunks = retriever.layout.chunks(np.array([leader]))
    by_words = Signals(
        matched=candidates > 0,
        notes=int(np.isfinite(notes).sum()),
        candidates=candidates,
        cross_lingual=False,
        bm25_top=top,
        peak=(top - float(of_candidates.mean())) / spread if spread else 0.0,
        note_coverage=words.share_in(retriever.keyword, leading_chunks) if top else 0.0,
        word_coverage=max(pieces.values(), default=0.0),
    )
    if retriever.semantic is None or len(hidden) == len(raw):
        return by_words
    nearest = _nearest(retriever.semantic, retriever.layout, query, hidden)
    chunk, cosine = nearest[0]
    covered = pieces.get(chunk)
    if covered is None:
        covered = _read(words, retriever.chunks[chunk])
    text = retriever.chunks[chunk].indexed_text[:_LANGUAGE_CHARS]
    rest = [cosine for _, cosine in nearest[1 : _RUNNERS_UP + 1]]
    found = [int(retriever.layout.note_of[chunk]) for chunk, _ in nearest]
    languages = {known_language(query), known_language(text)}
    return replace(
        by_words,
        matched=candidates > 0 or cosine > 0,
        cross_lingual=len(languages - {None}) > 1,
        nearest_coverage=covered,
        cosine_top=cosine,
        cosine_lead=cosine - sum(rest) / len(rest) if rest else 0.0,
        agreement=1 / (1 + found.index(leader)) if leader in found else 0.0,
    )


def _best(scores: Floats, count: int) -> list[int]:
    left = scores.copy()
    places: list[int] = []
    for _place in range(min(count, len(left))):  # cheaper for a few places than a partition
        places.append(int(left.argmax()))
        left[places[-1]] = -np.inf
    return places


def _read(words: _QueryWords, chunk: Chunk) -> float:
    text = chunk.indexed_text
    long = len(text) > _READ_CHARS
    sentences = cut(text[:_READ_CHARS]) if long else chunk.indexed_sentences
    every = {token for sentence in sentences for token in sentence.tokens}
    return words.coverage(every, words.forms(every))


def _nearest(
    leg: SemanticLeg, layout: ChunkLayout, query: str, hidden: Ints
) -> list[tuple[int, float]]:
    """Return the nearest chunk of each note among the nearest chunks, with its cosine, best first."""
    every = int(layout.starts[-1])
    limit = min(every, _NEAREST + len(hidden))
    ids, cosines = leg.index.nearest(leg.embedder.embed_query(query), limit)
    seen = ~np.isin(ids, hidden)
    first: dict[int, tuple[int, float]] = {}
    shortlist = zip(ids[seen][:_NEAREST].tolist(), cosines[seen].tolist(), strict=False)
    for chunk, cosine in shortlist:
        first.setdefault(int(layout.note_of[chunk]), (chunk, cosine))
    return list(first.values())
