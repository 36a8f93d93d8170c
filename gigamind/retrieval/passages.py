"""Select what a chunk shows for a query: its best matching sentence, and the query's words in it.

Words are compared as in keyword search, so Korean particles do not hide a match, and rare words count more.  A chunk is
split into sentences once, at first use: splitting it for every query took 60 % of the CPU time of a keyword run.
"""

import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from gigamind.spans import Passage, Span
from gigamind.text import places_of, sentences, tokens, unwrapped


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a text."""

    span: Span
    tokens: tuple[str, ...]  # distinct, sorted; equal ones are one object, which saves memory


def cut(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text in order, with their tokens."""
    return tuple(
        Sentence(span, tuple(map(sys.intern, sorted(set(tokens(span.slice(text)))))))
        for span in sentences(unwrapped(text))
    )


def evidence(
    passage: Passage, sentences: Sequence[Sentence], weights: Mapping[str, float]
) -> Passage:
    """Return the sentence (from `cut`) with the highest weight of query words (the first if equal), or the passage.

    `weights` are inverse document frequencies of the query's tokens, >= 0.
    """
    best, best_weight = None, 0.0
    for sentence in sentences:
        if weights.keys().isdisjoint(sentence.tokens):  # true for most, and fast
            continue
        total = sum(weights[token] for token in sentence.tokens if token in weights)
        if total > best_weight:
            best, best_weight = sentence.span, total
    if best is None:
        return passage
    start = passage.span.start + best.start
    return Passage(passage.note, best.slice(passage.text), Span(start, start + len(best)))


def highlights(passage: Passage, words: AbstractSet[str]) -> tuple[Span, ...]:
    """Return where tokens of the query occur in a passage, ascending, as spans of its note; see `places_of`."""
    start = passage.span.start
    return tuple(
        Span(start + place.start, start + place.end) for place in places_of(words, passage.text)
    )
