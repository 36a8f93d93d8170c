"""The seam between retrieval and the engine that holds the vectors.

Two adapters stand behind it: `edge.py` (Qdrant's engine in this process, the default) and `server.py` (a Qdrant server
or cluster).  Both search exactly, never approximately: an evaluation must not measure the index's own misses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gigamind.errors import IndexingError
from gigamind.retrieval.chunk import Chunk
from gigamind.retrieval.embed import Vectors

Ids = npt.NDArray[np.int64]
Cosines = npt.NDArray[np.float64]

# A float32 cosine carries noise of about 1e-7 from the order of its sum, which differs between engines.  At six digits
# equal chunks tie, and two engines differ by no more than the last digit of one cosine in a hundred.
_DIGITS = 6


class VectorIndex(Protocol):
    """Chunks by vector; a chunk's id is its place in the list it was built from."""

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        """The `limit` chunks with the highest cosine, best first, each with its cosine in [-1, 1].

        Raises:
            IndexingError: the engine failed.
        """
        ...

    def cosines(self, query: Vectors, chunks: Sequence[int]) -> Cosines:
        """The cosine in [-1, 1] of each of these chunks, in their order.

        Raises:
            IndexingError: the engine failed.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class IndexContent:
    """What an index must hold.

    Attributes:
        name: from the embedder, the chunking and the notes' bytes: the same name means the same content.
        chunks: what is indexed, in order.
        vectors: computes the chunks' vectors, shape (len(chunks), dimensions); asked only if the index is not there.
    """

    name: str
    chunks: Sequence[Chunk]
    vectors: Callable[[], Vectors]


def payload(chunk: Chunk) -> dict[str, str | int]:
    """What is stored beside a vector, so that the index is of use to other readers too."""
    passage = chunk.passage
    return {"note": passage.note, "start": passage.span.start, "end": passage.span.end}


def rounded(cosines: Sequence[float]) -> Cosines:
    """Cosines at the precision that every engine agrees on."""
    return np.clip(np.round(np.asarray(cosines, dtype=np.float64), _DIGITS), -1.0, 1.0)


def in_order_of(chunks: Sequence[int], scored: dict[int, float]) -> Cosines:
    """Rounded scores of `chunks` in their order, from what an engine answered in its own.

    Raises:
        IndexingError: the engine lacks one of them.
    """
    if missing := set(chunks) - scored.keys():
        raise IndexingError(
            f"the vector index lacks {len(missing)} of its chunks: build it again with --cold-start"
        )
    return rounded([scored[chunk] for chunk in chunks])
