"""A vector index that is no engine, vaults written to disk, the real default encoder, and a tiny real ONNX model."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from qdrant_server import Standing, qdrant
from tiny_model import write_tiny_model

from gigamind.retrieval.cache import quiet
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.embedders import UseMultilingual, load_embedder
from gigamind.retrieval.index import Cosines
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, RetrievalSettings
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault


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


@pytest.fixture
def standing() -> Iterator[Standing]:
    """A Qdrant server."""
    with qdrant() as server:
        yield server


@pytest.fixture
def opened(
    vault_of: Callable[[Mapping[str, str]], Vault], tmp_path: Path
) -> Callable[..., Retriever]:
    """Opens notes for a search under some settings, with a cache of the test's own unless told."""

    def open_(notes: Mapping[str, str], **settings: object) -> Retriever:
        vault = vault_of(notes)
        chosen = RetrievalSettings(**({"cache": tmp_path / "cache"} | settings))
        return open_retriever(vault, Identities(vault.notes), chosen, quiet)

    return open_


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
