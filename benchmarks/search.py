"""Compare search and indexing with the same packages used plainly, and indexing with the encoder alone, as ratios.

    python benchmarks/search.py            # --chunks 20000 --queries 100; the strongest opponents: benchmarks/strong.py

Everything is generated from a seed; nothing is downloaded.  All sides use one BLAS thread.  Quote ratios, not times.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
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
    corpus,
    gigamind,
    vector_index,
)

from gigamind.evaluation.progress import Quiet
from gigamind.retrieval.balanced import Balance, cosine_scale
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.embedders import UseMultilingual
from gigamind.retrieval.fuse import ChunkLayout, Fusion
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, RetrievalSettings
from gigamind.text import tokens
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Note, read_vault


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--notes", type=int, default=400, help="of the indexing benchmark")
    arguments = parser.parse_args()
    search(arguments.chunks, arguments.queries)
    index(arguments.notes)


def search(count: int, queries: int) -> None:
    """Run hybrid search, one query at a time, with the query's vector given to both sides."""
    made = Generated(count, queries)
    texts, vectors, layout = made.texts, made.vectors, made.layout
    with tempfile.TemporaryDirectory() as folder, gigamind(made) as ours:
        plain = plain_search(texts, vectors, layout, Path(folder) / "qdrant")
        print(f"search, {count} chunks x {DIMENSIONS}, hybrid, one at a time, {queries} queries")
        for name, limit in (("all scores", count), ("the 100 nearest", 100)):

            def peer(query: str, vector: np.ndarray, limit: int = limit) -> list[int]:
                return plain(query, vector, limit)

            pairs = [paired(ours, peer, q, v) for q, v in made.asked]
            mine, theirs = (statistics.median(p[i] for p in pairs) for i in (0, 1))
            print(f"  gigamind {mine:.2f} ms ({1000 / mine:.0f} queries/s)", end="; ")
            print(f"the packages plainly, {name}: {theirs:.1f} ms ({1000 / theirs:.1f} queries/s)")
            print(
                f"    {statistics.median(p[1] / p[0] for p in pairs):.1f} times (median of pairs)",
                end="; ",
            )
            print(f"same top {TOPK}: {sum(pair[2] for pair in pairs)} of {queries}")
        balanced = balanced_search(made)
        pairs = [paired(ours, balanced, q, v) for q, v in made.asked]
        more = statistics.median(theirs - mine for mine, theirs, _ in pairs)
        print(f"  balanced fusion: {more:+.2f} ms against weighted (median of pairs)")


def balanced_search(made: Generated) -> Search:
    """Run balanced search; half of the notes are Korean, each with a title of two words."""
    index = vector_index(made)
    notes = [
        Note(str(i), text, " ".join(text.split()[:2]), (), (), "", parse(text), "")
        for i, text in enumerate(made.texts[::CHUNKS_A_NOTE])
    ]
    balance = Balance(made.keyword, made.layout, notes, cosine_scale(DEFAULT_EMBEDDER))
    balance.prepare()
    fusion = Fusion(ALPHA, np.ones(len(notes)), TOPK)

    def run(query: str, vector: np.ndarray) -> list[int]:
        words = balance.read(query)
        return balance.score(words, fusion, index, vector).top(TOPK).tolist()

    return run


def plain_search(
    texts: list[str], vectors: np.ndarray, layout: ChunkLayout, path: Path
) -> Callable[[str, np.ndarray, int], list[int]]:
    """Run qdrant-client's local mode and `BM25Okapi.get_scores`, for that many nearest chunks.

    With all of them the top 10 is exact; with a hundred, as one would write it, a chunk outside the list counts 0.
    """
    client = QdrantClient(path=str(path))
    params = models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)
    client.create_collection("bench", vectors_config=params)
    client.upload_collection("bench", vectors=vectors, ids=range(len(texts)), batch_size=1000)
    bm25 = BM25Okapi([tokens(text) for text in texts])

    def run(query: str, vector: np.ndarray, limit: int) -> list[int]:
        points = client.query_points("bench", query=vector, limit=limit, with_payload=False).points
        semantic = np.zeros(len(texts))
        for point in points:
            semantic[int(point.id)] = max(0.0, point.score)
        keyword = bm25.get_scores(tokens(query))
        keyword = keyword / keyword.max() if keyword.max() > 0 else keyword
        notes = ALPHA * layout.best(semantic.round(6)) + (1 - ALPHA) * layout.best(keyword)
        return np.lexsort((np.arange(len(notes)), notes))[::-1][:TOPK].tolist()

    return run


def paired(ours: Search, peer: Search, query: str, vector: np.ndarray) -> tuple[float, float, bool]:
    start = time.perf_counter()
    mine = ours(query, vector)
    middle = time.perf_counter()
    theirs = peer(query, vector)
    end = time.perf_counter()
    return 1000 * (middle - start), 1000 * (end - middle), mine == theirs


def index(count: int) -> None:
    """Index a generated vault: the encoder alone, then two runs with the cache, including reading."""
    rng = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as folder:
        vault_folder, cache = Path(folder) / "vault", Path(folder) / "cache"
        vault_folder.mkdir()
        for i, text in enumerate(corpus(count * 2, rng)[:count]):
            (vault_folder / f"note {i:05}.md").write_text(f"# Note {i}\n\n{text}\n", "utf-8")
        encoder = UseMultilingual()
        texts = [chunk.indexed_text for chunk in chunk_notes(read_vault(vault_folder).notes)]
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
    vault = read_vault(vault_folder)
    settings = RetrievalSettings(cache=cache)
    quiet = Quiet()
    progress = lambda done, total: quiet.stage("", done, total)  # noqa: E731
    open_retriever(vault, Identities(vault.notes), settings, progress).close()


def used(call: Callable[[], object]) -> float:
    """Return the CPU seconds of this process, which exclude other load."""
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    main()
