"""A vector index that is no engine, vaults written to disk, and the real default encoder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from gigamind.retrieval.chunk import Chunk
from gigamind.retrieval.embed import UseMultilingual, Vectors
from gigamind.retrieval.index import Cosines, Ids, IndexContent, rounded
from gigamind.spans import Passage, Span
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault


class PlainIndex:
    """The index protocol over a matrix, and how often it was asked for the cosines of which chunks."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors.astype(np.float64)
        self.asked: list[int] = []
        self.closed = False

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        every = rounded((self._vectors @ query.astype(np.float64)).tolist())
        best = np.argsort(-every, kind="stable")[:limit]
        return best.astype(np.int64), every[best]

    def cosines(self, query: Vectors, chunks: Sequence[int]) -> Cosines:
        self.asked += chunks
        return rounded((self._vectors[list(chunks)] @ query.astype(np.float64)).tolist())

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def plain_index() -> type[PlainIndex]:
    return PlainIndex


@pytest.fixture
def content_of() -> Callable[..., IndexContent]:
    """What an index of these unit vectors is to hold; counts how often the vectors were asked for."""

    def content(vectors: Vectors, name: str = "model-content") -> IndexContent:
        chunks = [
            Chunk(Passage(f"note{i // 3}.md", "text", Span(i, i + 4)), "context")
            for i in range(len(vectors))
        ]
        return IndexContent(name, chunks, lambda: vectors)

    return content


@pytest.fixture
def write_vault(tmp_path: Path) -> Callable[[Mapping[str, str]], Vault]:
    """Writes notes (path -> text) into a folder, whose other notes stay, and reads it as a vault."""

    def write(notes: Mapping[str, str]) -> Vault:
        root = tmp_path / "vault"
        for path, text in notes.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        return read_vault(root)

    return write


@pytest.fixture
def identities_of() -> Callable[[Vault], Identities]:
    return lambda vault: Identities(vault.notes)


@pytest.fixture(scope="session")
def encoder() -> UseMultilingual:
    """The real default encoder, read once."""
    return UseMultilingual()
