"""Evidence: the sentence of a found passage that speaks to the query.

Seed 4.1 takes evidence from the found chunks and from the sentences in them that match the query.  Words are compared
as keyword search does, so Korean particles do not hide a match, and rare words count more.
"""

from collections.abc import Callable

from gigamind.spans import Passage, Span
from gigamind.text import sentences, tokens


def highlight(passage: Passage, query: str, weight: Callable[[str], float]) -> Passage:
    """The sentence of `passage` with the heaviest query words, the first of equals; all of it when none has any.

    Args:
        weight: inverse document frequency of a token, >= 0.
    """
    wanted = {token: weight(token) for token in set(tokens(query))}
    best, best_weight = None, 0.0
    for span in sentences(passage.text):
        found = sum(
            wanted.get(token, 0.0) for token in sorted(set(tokens(span.slice(passage.text))))
        )
        if found > best_weight:
            best, best_weight = span, found
    if best is None:
        return passage
    start = passage.span.start + best.start
    return Passage(passage.note, best.slice(passage.text), Span(start, start + len(best)))
