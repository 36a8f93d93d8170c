"""How much of a query's words a text holds, rare words counting more and endings forgiven.

An ending is what Korean particles and European inflection change: a word of Hangul counts by its character bigrams, the
first one most, and a word of letters still counts when a word of the text begins as it does.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from gigamind.retrieval.fuse import Ints
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.text import tokens

_BETWEEN_WORDS = re.compile(
    r"[\s!-/:-@\[-`{-~]+"
)  # white space and ASCII punctuation; `tokens` drops the rest
_LATER_TOKEN = 0.5  # what each token of one word counts of the one before it
_SAME_BEGINNING = 0.8  # what a word counts that the text has with another ending
_LONGEST_ENDING = 3
_SHORTEST_STEM = 4


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query, weighed by one vault.

    Attributes:
        idf: ln(1 + (N - n + 1/2) / (n + 1/2)) of each token, over N chunks of which n hold it; never negative.
        mass: sum of `idf`.
        weights: of each token in `coverage`; they add up to 1, or are all 0 for a query without words.
    """

    idf: dict[str, float]
    mass: float
    weights: dict[str, float]

    def share_in(self, keyword: KeywordIndex, chunks: Ints) -> float:
        """Share of the tokens' IDF in these chunks, which lie side by side, in [0, 1]."""
        held = (idf for token, idf in self.idf.items() if _held(keyword.postings(token), chunks))
        return sum(held) / self.mass if self.mass else 0.0

    def coverage(self, text: AbstractSet[str], forms: Mapping[str, AbstractSet[str]]) -> float:
        """How much of the words a text with these tokens holds, in [0, 1].

        Args:
            forms: the `forms` of the query's words in this text or a larger one.
        """
        return sum(
            weight * (1.0 if token in text else _SAME_BEGINNING)
            for token, weight in self.weights.items()
            if not forms[token].isdisjoint(text)
        )

    def forms(self, text: AbstractSet[str]) -> dict[str, AbstractSet[str]]:
        """The tokens of a text that count for each token of the query: itself, else those that begin as it does."""
        return {token: _forms(token, text) for token in self.weights}


def read_query_words(query: str, keyword: KeywordIndex, hidden: Ints) -> QueryWords:
    """The words of `query`, weighed as if the chunks `hidden`, rising, were not indexed."""
    split = _BETWEEN_WORDS.split(unicodedata.normalize("NFC", query).lower())
    words = [own for word in split if (own := tokens(word))]
    size = keyword.size - len(hidden)
    idf: dict[str, float] = {}
    for token in dict.fromkeys(token for word in words for token in word):
        held = keyword.postings(token)
        count = len(held) - (int(np.isin(held, hidden).sum()) if len(hidden) else 0)
        idf[token] = math.log(1 + (size - count + 0.5) / (count + 0.5))
    return QueryWords(idf, sum(idf.values()), _weights(words, idf))


def _weights(words: Sequence[Sequence[str]], idf: Mapping[str, float]) -> dict[str, float]:
    """Each word weighs the square of its rarest token's IDF, shared among its tokens by place; normalised."""
    weights = dict.fromkeys(idf, 0.0)
    for word in words:
        whole = max(idf[token] for token in word) ** 2
        places = [_LATER_TOKEN**place for place in range(len(word))]
        for token, place in zip(word, places, strict=True):
            weights[token] += whole * place / sum(places)
    total = sum(weights.values())
    return {token: weight / total for token, weight in weights.items()} if total else weights


def _held(postings: Ints, chunks: Ints) -> bool:
    place = int(np.count_nonzero(postings < chunks[0]))
    return place < len(postings) and int(postings[place]) <= int(chunks[-1])


def _forms(token: str, text: AbstractSet[str]) -> AbstractSet[str]:
    if token in text or len(token) <= _SHORTEST_STEM:  # a bigram of Hangul is always this short
        return {token}
    stem = token[: max(_SHORTEST_STEM, len(token) - _LONGEST_ENDING)]
    return {token, *(other for other in text if other.startswith(stem))}
