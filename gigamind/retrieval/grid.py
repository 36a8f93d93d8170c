"""Rank notes for a query under many settings at once: dense and sparse scores are computed once, only fusion differs.

Settings can differ in what no index depends on: mode, fusion, alpha, title weight and graph rerank.  Rankings are
equal to `Retriever.search` under each setting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gigamind.retrieval.fuse import Floats, Fusion, Ints, boosts, nearest_notes, relative
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.settings import RetrievalSettings


@dataclass(frozen=True)
class Grid:
    """Many settings over one retriever, which is in hybrid mode if any of them needs vectors."""

    retriever: Retriever
    settings: Sequence[RetrievalSettings]  # with the retriever's embedder, chunks and topk

    def rankings(self, query: str) -> list[list[str]]:
        """Return the note paths that each setting finds, best first, in the order of the settings.

        Raises:
            EmbeddingError: The query could not be embedded.
            IndexingError: The vector index failed.
        """
        leg, by_row = self.retriever.semantic, dict[int, Ints]()
        words = relative(self.retriever.layout.best(self.retriever.keyword.scores(query)))
        if self._by_words:
            # Keyword settings need no cosines; together with the others they would require all of them.
            places = np.arange(len(words))
            best = _best(np.minimum(1.0, words) * self._boosts[self._by_words], self._topk)
            by_row |= {row: places[own] for row, own in zip(self._by_words, best, strict=True)}
        if leg is not None and self._joined:
            lexical = (1 - self._fusion.alpha) * words
            balance = self.retriever.balance
            if balance is not None and self._balanced:
                lexical[self._balanced] = balance.read(query).order_points(self._titles)
            cosines, known = nearest_notes(
                lexical,
                self.retriever.layout,
                self._fusion,
                leg.index,
                leg.embedder.embed_query(query),
            )
            places = np.flatnonzero(known)
            joined = self._fusion.join(cosines[places], lexical[:, places])
            best = _best(joined * self._fusion.boosts[:, places], self._topk)
            by_row |= {row: places[own] for row, own in zip(self._joined, best, strict=True)}
        notes = self.retriever.notes
        return [
            [notes[place] for place in by_row[row].tolist()] for row in range(len(self.settings))
        ]

    @property
    def _topk(self) -> int:
        return self.settings[0].topk

    @cached_property
    def _by_words(self) -> list[int]:
        return [row for row, setting in enumerate(self.settings) if setting.mode == "keyword"]

    @cached_property
    def _joined(self) -> list[int]:
        return [row for row, setting in enumerate(self.settings) if setting.mode != "keyword"]

    @cached_property
    def _balanced(self) -> list[int]:
        return [place for place, row in enumerate(self._joined) if self.settings[row].balanced]

    @cached_property
    def _titles(self) -> Floats:
        return _column(
            [self.settings[self._joined[place]].title_weight for place in self._balanced]
        )

    @cached_property
    def _boosts(self) -> Floats:
        moved = _column([float(setting.graph_rerank) for setting in self.settings])
        return boosts(moved * self.retriever.centralities)

    @cached_property
    def _fusion(self) -> Fusion[Floats]:
        alpha = _column([self.settings[row].semantic_share for row in self._joined])
        low, ceiling = np.zeros_like(alpha), np.ones_like(alpha)
        if self.retriever.balance is not None:
            scale = self.retriever.balance.scale
            alpha[self._balanced], low[self._balanced] = scale.slope, scale.low
            ceiling[self._balanced] = np.inf
        return Fusion(alpha, self._boosts[self._joined], self._topk, low, ceiling)


def _column(values: Sequence[float]) -> Floats:
    return np.array(values, np.float64)[:, np.newaxis]


def _best(scores: Floats, count: int) -> list[Ints]:
    columns: Ints = np.arange(scores.shape[1], dtype=np.int64)
    if columns.size > count:  # sort only the few columns that can be among the best of a row
        bars = np.partition(scores, -count, axis=1)[:, [-count]]
        columns = np.flatnonzero(np.any((scores >= bars) & (scores > 0), axis=0))
    columns = np.flip(columns)
    scores = scores[:, columns]
    ordered = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    kept = np.take_along_axis(scores, ordered, axis=1) > 0
    return [columns[row[own]] for row, own in zip(ordered, kept, strict=True)]
