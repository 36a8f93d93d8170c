"""The seam between retrieval and the engine that holds the vectors.

Two adapters stand behind it: `edge.py` (Qdrant's engine in this process, the default) and `server.py` (a Qdrant server
or cluster).  Both search exactly, never approximately: an evaluation must not measure the index's own misses.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gigamind.errors import IndexingError
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.passages import Sentence, cut
from gigamind.spans import Passage

Ids = npt.NDArray[np.int64]
Cosines = npt.NDArray[np.float64]

# A float32 cosine carries noise of about 1e-7 from the order of its sum, which differs between engines.  At six digits
# equal chunks tie, and two engines differ by no more than the last digit of one cosine in a hundred.
_DIGITS = 6
LAST_DIGIT = 10**-_DIGITS


@dataclass(frozen=True)
class Chunk:
    """One indexed piece of a note.

    Attributes:
        passage: the piece as it stands in the file; empty for a note without a body.
        context: the note's title and the headings above the piece, " › " between them.
    """

    passage: Passage
    context: str

    @property
    def indexed_text(self) -> str:
        """What the keyword and vector legs see: the context, then the piece."""
        return f"{self.context}\n{self.passage.text}"

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of the piece, cut once; those of the context are apart."""
        return cut(self.passage.text)

    @cached_property
    def indexed_sentences(self) -> tuple[Sentence, ...]:
        """Those of the context, then those of the piece: the end of a line between them ends a sentence.

        Spans are in the text that each is of.
        """
        return (*cut(self.context), *self.sentences)


class VectorIndex(Protocol):
    """Chunks by vector; a chunk's id is its place in the list it was built from."""

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        """The `limit` chunks with the highest cosine, best first, each with its cosine in [-1, 1].

        Raises:
            IndexingError: the engine failed.
        """
        ...

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        """The `limit` nearest chunks or more, in any order, each with its cosine, and what that of no other is above.

        Raises:
            IndexingError: the engine failed.
        """
        ...

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
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


def rounded(cosines: npt.ArrayLike) -> Cosines:
    """Cosines at the precision that every engine agrees on."""
    found = np.asarray(cosines, dtype=np.float64).round(_DIGITS)
    return np.minimum(1.0, np.maximum(-1.0, found))


def unit(vectors: Vectors) -> Vectors:
    """The same directions at length 1, float32; a vector without one stays 0."""
    if vectors.ndim == 1:
        length = math.sqrt(vectors @ vectors)
        return np.asarray(vectors / (length or 1.0), np.float32)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), np.float32)


def guarded(engine: str, call: Callable[..., Any], *arguments: object, **options: object) -> Any:  # noqa: ANN401
    """Call an engine, whose errors have no root of their own.

    Raises:
        IndexingError: it failed.
    """
    try:
        return call(*arguments, **options)
    except Exception as error:
        said = (
            " ".join(str(error).split()) or type(error).__name__
        )  # a server's answer has several lines
        raise IndexingError(f"the {engine} failed: {said}") from error
