"""Search results: scored notes in the order of `fuse.Scored.top`, and figures of the whole query."""

from dataclasses import dataclass
from functools import cached_property

from gigamind.retrieval.index import Chunk
from gigamind.retrieval.passages import highlights
from gigamind.spans import Passage, Span


@dataclass(frozen=True)
class Hit:
    """One note of a ranking, with two scores that must never be mixed.

    Attributes:
        note: Path relative to the vault root, with "/" separators, NFC.
        base_score: Relevance before the graph rerank, in [0, 1]; used for answerability.  With balanced fusion: whether
            this note answers the query (`balanced.WordPoints.answer_scores`), not used for the order.
        final_score: base_score * (1 + β * centrality); can exceed 1.  Only for the order.  With balanced fusion, the
            points of `balanced.py` replace base_score.
        semantic_score: The note's best max(0, cosine) over its chunks, in [0, 1]; None in keyword mode.
        keyword_score: The note's best BM25 / max BM25 of the query over its chunks, in [0, 1]; None in semantic mode.
            With balanced fusion see `balanced.WordPoints.notes`.
        chunk: The note's best chunk.
        title: Title of the note.
        centrality: Centrality of the note in the link graph, in (0, 1]; no effect without the graph rerank.
        words: Tokens of the query.
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
        """The text of the chunk in the note's file."""
        return self.chunk.passage

    @cached_property
    def highlights(self) -> tuple[Span, ...]:
        """Spans of the query's words in the passage, ascending, as spans of the note; computed at first use."""
        return highlights(self.passage, self.words)


@dataclass(frozen=True, slots=True)
class Signals:
    """Raw figures of one query over one retriever.

    Attributes:
        matched: Whether some note shares a word with the query or, with vectors, has a cosine above 0.
        notes: Number of notes.
        candidates: Number of notes that share a word with the query.
        cross_lingual: Whether query and nearest chunk are in different, known languages; False in keyword mode.
        bm25_top: BM25 of the best note, at least 0; grows with the size of vault and query.
        peak: Standard deviations of `bm25_top` above the mean of the candidates; 0 if their scores are equal or there
            is at most one.
        note_coverage: IDF share of the query's tokens in the best note by BM25, in [0, 1].
        word_coverage: Squared-IDF share of the query's words in the best of the 3 best chunks, ignoring endings.
        cosine_top: Cosine of the best chunk.  This and all below are None in keyword mode.
        cosine_lead: `cosine_top` minus the mean of notes 2 to 10.
        agreement: 1 / rank of the best note by BM25 among the nearest notes; 0 if it is not among them.
        nearest_coverage: `word_coverage` of the nearest chunk.
    """

    matched: bool
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
