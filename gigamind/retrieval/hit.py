"""One scored note, and the one order that rankings are in."""

from collections.abc import Iterable
from dataclasses import dataclass

from gigamind.spans import Passage


@dataclass(frozen=True, slots=True)
class Hit:
    """One note in a ranking, with the two scores that must never be mixed.

    Attributes:
        note: path relative to the vault root, with "/" separators, NFC.
        base_score: relevance before the graph rerank, in [0, 1].  Answerability is judged on this one.
        final_score: base_score * (1 + β * centrality); may exceed 1.  Order only.
        semantic_score: the note's best max(0, cosine) over its chunks, in [0, 1]; None in keyword mode.
        keyword_score: the note's best BM25 / max BM25 of the query over its chunks, in [0, 1]; None in semantic mode.
        passage: the note's best chunk.
    """

    note: str
    base_score: float
    final_score: float
    semantic_score: float | None
    keyword_score: float | None
    passage: Passage


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Hits by falling final_score.

    Equal scores fall by path, which is trec_eval's rule: a ranking exported to it keeps its figures.
    """
    return sorted(hits, key=lambda hit: (hit.final_score, hit.note), reverse=True)
