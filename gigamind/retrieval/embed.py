"""Turns text into vectors: the protocol that every provider follows (see `embedders.py` for them)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """A model that maps text to unit vectors.

    Attributes:
        name: provider, model and version: what may change the vectors, so what caches, reports and snapshots go by.
    """

    @property
    def name(self) -> str: ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts to be found (at least one), float32, shape (len(texts), dimensions).

        Raises:
            EmbeddingError: the model failed.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Unit vector of a question, float32, shape (dimensions,).

        Raises:
            EmbeddingError: the model failed.
        """
        ...


def unit_rows(vectors: Vectors) -> Vectors:
    """The vectors at length 1; a zero vector stays zero (its cosine with anything is 0)."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)
