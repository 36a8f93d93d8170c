"""Compare search and indexing with the same packages used plainly, and indexing with the encoder alone, as ratios.

    python benchmarks/search.py            # --chunks 20000 --queries 100; the strongest opponents: benchmarks/strong.py

Everything is generated from a seed; nothing is downloaded.  All sides use one BLAS thread.  Quote ratios, not times.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from qdrant_client import QdrantClient, models
from rank_bm25 import BM25Okapi
from strong import (
    ALPHA,
    CHUNKS_A_NOTE,
    DIMENSIONS,
    TOPK,
    Generated,
    Search,
    Side,
    corpus,
    gigamind,
    in_turn,
    vector_index,
)

from gigamind.retrieval.balanced import Balance, cosine_scale
from gigamind.retrieval.cache import quiet
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.embedders import UseMultilingual
from gigamind.retrieval.fuse import Fusion
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, RetrievalSettings
from gigamind.text import tokens
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Note, Vault


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--notes", type=int, default=400, help="of the indexing benchmark")
    arguments = parser.parse_args()
    sides = {
        "gigamind": gigamind,
        "gigamind, balanced fusion": balanced,
        "the packages plainly, all scores": plainly(arguments.chunks),
        "the packages plainly, the 100 nearest": plainly(100),
    }
    print(json.dumps(in_turn(Generated(arguments.chunks, arguments.queries), sides), indent=1))
    index(arguments.notes)


def plainly(limit: int) -> Side:
    """Run qdrant-client's local mode and `BM25Okapi.get_scores`, for that many nearest chunks.

    With all of them the top 10 is exact; with a hundred, as one would write it, a chunk outside the list counts 0.
    """

    @contextmanager
    def opened(made: Generated) -> Iterator[Search]:
        with tempfile.TemporaryDirectory() as folder:
            client = QdrantClient(path=folder)
            params = models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)
            client.create_collection("bench", vectors_config=params)
            client.upload_collection("bench", made.vectors, ids=range(made.count), batch_size=1000)
            bm25 = BM25Okapi([tokens(text) for text in made.texts])

            def search(query: str, vector: np.ndarray) -> list[int]:
                found = client.query_points("bench", vector, limit=limit, with_payload=False)
                semantic = np.zeros(made.count)
                for point in found.points:
                    semantic[int(point.id)] = max(0.0, point.score)
                keyword = bm25.get_scores(tokens(query))
                keyword = keyword / keyword.max() if keyword.max() > 0 else keyword
                best = made.layout.best
                notes = ALPHA * best(semantic.round(6)) + (1 - ALPHA) * best(keyword)
                return np.lexsort((np.arange(len(notes)), notes))[::-1][:TOPK].tolist()

            yield search

    return opened


@contextmanager
def balanced(made: Generated) -> Iterator[Search]:
    """Run balanced search; half of the notes are Korean, each with a title of two words."""
    index = vector_index(made)
    notes = [
        Note(str(i), text, " ".join(text.split()[:2]), (), (), "", Document.parse(text), "")
        for i, text in enumerate(made.texts[::CHUNKS_A_NOTE])
    ]
    balance = Balance(made.keyword, made.layout, notes, cosine_scale(DEFAULT_EMBEDDER))
    balance.prepare()
    fusion = Fusion(ALPHA, np.ones(len(notes)), TOPK)

    def search(query: str, vector: np.ndarray) -> list[int]:
        words = balance.read(query)
        return balance.score(words, fusion, index, vector).top(TOPK).tolist()

    yield search
    index.close()


def index(count: int) -> None:
    """Index a generated vault: the encoder alone, then two runs with the cache, including reading."""
    rng = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as folder:
        vault_folder, cache = Path(folder) / "vault", Path(folder) / "cache"
        vault_folder.mkdir()
        for i, text in enumerate(corpus(count * 2, rng)[:count]):
            (vault_folder / f"note {i:05}.md").write_text(f"# Note {i}\n\n{text}\n", "utf-8")
        encoder = UseMultilingual()
        texts = [chunk.indexed_text for chunk in chunk_notes(Vault.read(vault_folder).notes)]
        alone = used(lambda: encoder.embed_passages(texts))
        first = used(lambda: prepare(vault_folder, cache))
        second = min(used(lambda: prepare(vault_folder, cache)) for _ in range(3))
        loading = used(UseMultilingual)
    rest = max(second - loading, 0.001)
    print(
        f"indexing, {count} notes, {len(texts)} chunks: CPU seconds (loading the encoder, {loading:.2f}, taken off)"
    )
    print(f"  encoder alone {alone:7.2f}")
    print(
        f"  first run     {first - loading:7.2f}  {(first - loading) / alone:.2f} times the encoder"
    )
    print(
        f"  second run    {rest:7.2f}  {(first - loading) / rest:.0f} times faster than the first"
    )


def prepare(vault_folder: Path, cache: Path) -> None:
    vault = Vault.read(vault_folder)
    settings = RetrievalSettings(cache=cache)
    open_retriever(vault, Identities(vault.notes), settings, quiet).close()


def used(call: Callable[[], object]) -> float:
    """Return the CPU seconds of this process, which exclude other load."""
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    main()
