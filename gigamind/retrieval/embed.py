"""The protocol of embedding models (providers: `embedders.py`)."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

_MOST_THREADS = 8  # models read text under Python's lock; more threads would wait


class Embedder(Protocol):
    """A model that maps text to unit vectors; its name has all that can change them: provider, model and version."""

    @property
    def name(self) -> str: ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32, shape (len(texts), dimensions), len > 0; EmbeddingError if the model failed."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector, float32, shape (dimensions,); EmbeddingError if the model failed."""
        ...


def unit_rows(vectors: Vectors) -> Vectors:
    """Return the vectors scaled to length 1; a zero vector stays zero (its cosine with anything is 0)."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def embed_each(embed: Callable[[str], Vectors], texts: Sequence[str]) -> Vectors:
    """Embed texts one by one, on all cores, so that no vector depends on other texts; raises as `embed`."""
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as threads:
        return np.stack(list(threads.map(embed, texts)))
