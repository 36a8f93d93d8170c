"""What a search shows: scored notes, whose order is that of `fuse.Scored.top`, and figures of the query as a whole."""

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


@dataclass(frozen=True, slots=True)
class Signals:
    """The raw figures of one query over one retriever.

    Attributes:
        found: some note shares a word with the query or, with vectors, has a cosine above 0.
        notes: how many notes there are.
        candidates: how many of them share a word with the query.
        cross_lingual: the query is in another language than the nearest chunk, and both are known; False in keyword
            mode.
        bm25_top: BM25 of the best note, at least 0; it grows with the vault and with the query.
        peak: standard deviations of `bm25_top` above the mean of the candidates; 0 where they all score alike, or there
            is one at most.
        note_coverage: IDF share of the query's tokens in the best note by BM25, in [0, 1].
        word_coverage: squared-IDF share of the query's words in the best of the 3 best chunks, endings forgiven.
        cosine_top: that of the best chunk; None, as all below, in keyword mode.
        cosine_lead: `cosine_top` less the mean of notes 2 to 10.
        agreement: 1 / rank of the best note by BM25 among the nearest notes, 0 where it is not among them.
        nearest_coverage: `word_coverage` of the nearest chunk.
    """

    found: bool
    notes: int
    candidates: int
    cross_lingual: bool
    bm25_top: float
    peak: float
    note_coverage: float
    word_coverage: float
    cosine_top: float | None = None
    cosine_lead: float | None = None
    agreement: float | None = None
    nearest_coverage: float | None = None
