"""A vector index that is no engine, vaults written to disk, the real default encoder, and a tiny real ONNX model."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from qdrant_server import Standing, qdrant
from tiny_model import LETTERS, tiny_matrix, write_tiny_model
from vault_files import write_files

from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.embedders import UseMultilingual, load_embedder
from gigamind.retrieval.index import Chunk, Cosines, Ids, IndexContent, rounded
from gigamind.retrieval.settings import DEFAULT_EMBEDDER
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

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        """By cosines of two digits, as an engine may know them."""
        every = rounded((self._vectors @ query.astype(np.float64)).tolist())
        hazy = every.round(2)
        best = np.argsort(-hazy, kind="stable")[:limit]
        return best.astype(np.int64), every[best], float(hazy[best[-1]]) + 0.005001

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
        self.asked += chunks.tolist()
        return rounded((self._vectors[chunks] @ query.astype(np.float64)).tolist())

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def plain_index() -> type[PlainIndex]:
    return PlainIndex


class Known(NamedTuple):
    """Unit vectors of chunks and of a query, and their cosines."""

    vectors: Vectors
    query: Vectors
    exact: Cosines


@pytest.fixture(scope="session")
def known() -> Known:
    def unit_vectors(count: int, dimensions: int = 16) -> Vectors:
        vectors = np.random.default_rng(7).normal(size=(count, dimensions))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    vectors = unit_vectors(1_200)  # more than one batch of either engine
    query = unit_vectors(1_201)[-1]
    return Known(vectors, query, vectors.astype(np.float64) @ query.astype(np.float64))


@pytest.fixture(scope="session")
def content_of() -> Callable[..., IndexContent]:
    """What an index of these unit vectors is to hold."""

    def content(vectors: Vectors, name: str = "model-content") -> IndexContent:
        chunks = [
            Chunk(Passage(f"note{i // 3}.md", "text", Span(i, i + 4)), "context")
            for i in range(len(vectors))
        ]
        return IndexContent(name, chunks, lambda: vectors)

    return content


@pytest.fixture
def standing() -> Iterator[Standing]:
    """A Qdrant server."""
    with qdrant() as server:
        yield server


@pytest.fixture
def write_vault(tmp_path: Path) -> Callable[[Mapping[str, str]], Vault]:
    """Writes notes (path -> text) into a folder, whose other notes stay, and reads it as a vault."""
    return lambda notes: read_vault(write_files(tmp_path / "vault", notes))


@pytest.fixture
def identities_of() -> Callable[[Vault], Identities]:
    return lambda vault: Identities(vault.notes)


@pytest.fixture(scope="session")
def encoder() -> UseMultilingual:
    """The real default encoder, read once."""
    encoder = load_embedder(DEFAULT_EMBEDDER)
    assert isinstance(encoder, UseMultilingual)
    return encoder


@pytest.fixture
def tiny_model(tmp_path: Path) -> Callable[..., Path]:
    """Writes the tiny model into a folder and gives it; further files (name -> JSON) may be added or replaced."""

    def write(name: str = "tiny", **files: object) -> Path:
        folder = tmp_path / name
        if not folder.is_dir():
            folder.mkdir()
            write_tiny_model(folder)
        for file, content in files.items():
            path = folder / file.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.with_name(path.name + ".json").write_text(json.dumps(content))
        return folder

    return write


@pytest.fixture
def tiny_vector() -> Callable[[str], np.ndarray]:
    """What the tiny model says of a text, by hand: the mean of its letters' vectors, at length 1."""

    def vector(text: str) -> np.ndarray:
        rows = [LETTERS.find(c) + 2 if c in LETTERS else 1 for c in text.lower() if c != " "]
        mean = tiny_matrix()[rows].mean(axis=0)
        return mean / np.linalg.norm(mean)

    return vector
