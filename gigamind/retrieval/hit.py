"""Search results: scored notes in the order of `fuse.Scored.top`, and figures of the whole query."""

from dataclasses import dataclass
from functools import cached_property

from gigamind.retrieval.index import Chunk, highlights
from gigamind.spans import Passage, Span


@dataclass(frozen=True)
class Hit:
    """One note of a ranking, with two scores that must never be mixed."""

    note: str  # path relative to the vault root, with "/" separators, NFC
    # Relevance before the graph rerank, in [0, 1]; used for answerability.  With balanced fusion: whether this note
    # answers the query (`balanced.WordPoints.answer_scores`), not used for the order.
    base_score: float
    # base_score * (1 + β * centrality); can exceed 1.  Only for the order.  With balanced fusion, the points of
    # `balanced.py` replace base_score.
    final_score: float
    semantic_score: float | None  # best max(0, cosine) of a chunk, in [0, 1]; None in keyword mode
    # The best BM25 / max BM25 of the query over its chunks, in [0, 1]; None in semantic mode.  With balanced fusion see
    # `balanced.WordPoints.notes`.
    keyword_score: float | None
    chunk: Chunk  # the best one
    title: str
    centrality: float  # in the link graph, in (0, 1]; no effect without the graph rerank
    words: frozenset[str]  # tokens of the query

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
    """Raw figures of one query over one retriever; those after `word_coverage` are None in keyword mode."""

    matched: bool  # some note shares a word with the query or has a cosine above 0
    notes: int
    candidates: int  # notes that share a word with the query
    cross_lingual: bool  # query and nearest chunk are in different, known languages
    bm25_top: float  # BM25 of the best note, >= 0; grows with the size of vault and query
    peak: float  # standard deviations of `bm25_top` above the candidates' mean; 0 if undefined
    note_coverage: float  # IDF share of the query's tokens in the best note by BM25
    word_coverage: float  # squared-IDF share of words, without endings, in the best of 3 chunks
    cosine_top: float | None = None  # of the best chunk
    cosine_lead: float | None = None  # `cosine_top` minus the mean of notes 2 to 10
    agreement: float | None = None  # 1 / rank of the best note by BM25 by cosine; 0 if absent
    nearest_coverage: float | None = None  # `word_coverage` of the nearest chunk
