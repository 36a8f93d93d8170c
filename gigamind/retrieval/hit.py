"""One scored note of a ranking; the order of rankings is that of `fuse.Scored.top`."""

from dataclasses import dataclass
from functools import cached_property

from gigamind.retrieval.index import Chunk
from gigamind.retrieval.passages import highlights
from gigamind.spans import Passage, Span


@dataclass(frozen=True)
class Hit:
    """One note in a ranking, with the two scores that must never be mixed.

    Attributes:
        note: path relative to the vault root, with "/" separators, NFC.
        base_score: relevance before the graph rerank, in [0, 1].  Answerability is judged on this one.  With balanced
            fusion: how far this note may be believed to answer (`balanced.WordPoints.answer_scores`); no order.
        final_score: base_score * (1 + β * centrality); may exceed 1.  Order only.  With balanced fusion the points of
            `balanced.py` take base_score's place.
        semantic_score: the note's best max(0, cosine) over its chunks, in [0, 1]; None in keyword mode.
        keyword_score: the note's best BM25 / max BM25 of the query over its chunks, in [0, 1]; None in semantic mode.
            With balanced fusion as `balanced.WordPoints.notes` has it.
        chunk: the note's best chunk.
        title: of the note.
        centrality: of the note in the link graph, in (0, 1]; without the graph rerank it moves nothing.
        words: tokens of the query.
    """

    note: str
    base_score: float
    final_score: float
    semantic_score: float | None
    keyword_score: float | None
    chunk: Chunk
    title: str
    centrality: float
    words: frozenset[str]

    @property
    def passage(self) -> Passage:
        """The chunk as it stands in the note's file."""
        return self.chunk.passage

    @cached_property
    def highlights(self) -> tuple[Span, ...]:
        """Where the query's words stand in the passage, rising, as spans of the note; found when first asked for."""
        return highlights(self.passage, self.words)
