"""How fast search and indexing are, beside the strongest opponents known, in one run and as ratios.

    make bench                                     # or: python benchmarks/search.py --chunks 20000 --queries 100

Search stands beside one NumPy product over all vectors with our own BM25, BM25 alone beside bm25s where that is
installed, and beside the same packages used plainly.  Everything is generated from a seed; nothing is downloaded.  All
sides run on one BLAS thread.  Quote the ratios: the times are this machine's, on this day.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from qdrant_client import QdrantClient, models
from rank_bm25 import BM25Okapi

from gigamind.evaluation.progress import Quiet
from gigamind.retrieval.balanced import NO_CHUNKS, Balance, cosine_scale
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.edge import open_edge
from gigamind.retrieval.embedders import UseMultilingual
from gigamind.retrieval.fuse import ChunkLayout, Fusion, highest, score_notes
from gigamind.retrieval.index import Chunk, IndexContent, VectorIndex, unit
from gigamind.retrieval.keyword import KeywordIndex, build_keyword_index
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, RetrievalSettings
from gigamind.spans import Passage, Span
from gigamind.text import tokens
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Note, read_vault

_RUNS = 3
ALPHA, TOPK, DIMENSIONS, CHUNKS_A_NOTE = 0.7, 10, 512, 5
ROOT = Path(__file__).resolve().parents[1]


Search = Callable[[str, np.ndarray], list[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--notes", type=int, default=400, help="of the indexing benchmark")
    parser.add_argument("--strong", action="store_true", help="the strongest opponents alone")
    arguments = parser.parse_args()
    strongest(arguments.chunks, arguments.queries)
    if arguments.strong:
        return
    search(arguments.chunks, arguments.queries)
    index(arguments.notes)
    command_line()


def corpus(count: int, rng: np.random.Generator) -> list[str]:
    """Texts of about 800 characters, half Korean and half English, words by Zipf's law."""
    syllables = [chr(c) for c in range(0xAC00, 0xAC00 + 2000)]
    korean = ["".join(rng.choice(syllables, 3)) for _ in range(6000)]
    english = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 6)) for _ in range(6000)]
    texts: list[str] = []
    for i in range(count):
        words, length = (korean, 200) if i % 2 else (english, 115)
        texts.append(" ".join(words[min(r, 5999)] for r in rng.zipf(1.3, length) - 1))
    return texts


class Generated(NamedTuple):
    """Texts with a vector each, and queries of eight words of one of them, with a vector near its own."""

    texts: list[str]
    vectors: np.ndarray
    asked: list[str]
    asked_vectors: np.ndarray
    layout: ChunkLayout

    @classmethod
    def of(cls, count: int, queries: int) -> "Generated":
        rng = np.random.default_rng(7)
        texts = corpus(count, rng)
        vectors = rng.normal(size=(count, DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        picked = rng.integers(0, count, queries)
        asked = [" ".join(rng.choice(texts[i].split(), 8)) for i in picked]
        noise = rng.normal(size=(queries, DIMENSIONS)).astype(np.float32) * 0.05
        layout = ChunkLayout.of([CHUNKS_A_NOTE] * (count // CHUNKS_A_NOTE))
        return cls(texts, vectors, asked, vectors[picked] + noise, layout)


def strongest(count: int, queries: int) -> None:
    """Hybrid search beside one NumPy product, and BM25 beside bm25s: CPU of each query, median and p95 of all runs."""
    made = Generated.of(count, queries)
    before = peak_gb()
    built: list[tuple[VectorIndex, KeywordIndex]] = []
    seconds = used(lambda: built.append(indexes(made.texts, made.vectors)))
    [(index, keyword)] = built
    notes = len(made.layout.starts) - 1
    fusion = Fusion(ALPHA, np.ones(notes), TOPK)

    def ours(query: str, vector: np.ndarray) -> list[int]:
        lexical = keyword.relative_scores(query)
        return score_notes(lexical, made.layout, fusion, index, vector).top(TOPK).tolist()

    def numpy(query: str, vector: np.ndarray) -> list[int]:
        semantic = made.layout.best(np.maximum(0.0, made.vectors @ unit(vector)))
        lexical = made.layout.best(keyword.relative_scores(query))
        return best(ALPHA * semantic + (1 - ALPHA) * lexical)

    def words(query: str, _vector: np.ndarray) -> list[int]:
        return highest(keyword.scores(query), TOPK).tolist()

    sides = {"gigamind": ours, "NumPy": numpy, "BM25": words} | bm25s_of(made.texts, keyword)
    spent: dict[str, list[float]] = {name: [] for name in sides}
    same = 0
    for _ in range(_RUNS):
        for query, vector in zip(made.asked, made.asked_vectors, strict=True):
            found: dict[str, list[int]] = {}
            for name, side in sides.items():
                start = time.process_time()
                found[name] = side(query, vector)
                spent[name].append(1000 * (time.process_time() - start))
            same += found["gigamind"] == found["NumPy"]
    print(f"{count} chunks x {DIMENSIONS}, {queries} queries, {_RUNS} runs: CPU ms a query")
    print(f"  built in {seconds:.1f} s of CPU; peak memory {before:.2f} -> {peak_gb():.2f} GB")
    for name, times in spent.items():
        print(f"  {name:<10} {statistics.median(times):7.2f}  p95 {np.quantile(times, 0.95):7.2f}")
    for name, peer in (("gigamind", "NumPy"), ("BM25", "bm25s")):
        if peer in spent:
            mine, theirs = (np.quantile(spent[side], (0.5, 0.95)) for side in (name, peer))
            ratio = mine / theirs
            print(f"  {name} / {peer}: {ratio[0]:.2f} times, p95 {ratio[1]:.2f} times")
    print(f"  same top {TOPK} as NumPy: {same} of {queries * _RUNS}")
    index.close()


def best(scores: np.ndarray) -> list[int]:
    """The ten highest, best first."""
    top = np.argpartition(scores, -TOPK)[-TOPK:]
    return top[np.lexsort((top, scores[top]))[::-1]].tolist()


def bm25s_of(texts: list[str], keyword: KeywordIndex) -> dict[str, Search]:
    """bm25s with NumPy over the same tokens, as Okapi with the same constants; nothing where it is not installed."""
    try:
        import bm25s
    except ImportError:
        print("bm25s is not installed here: pip install --no-deps bm25s")
        return {}
    known = {token: number for number, token in enumerate(keyword.rows)}
    corpus = bm25s.tokenization.Tokenized(
        [[known[token] for token in tokens(text)] for text in texts], known
    )
    index = bm25s.BM25(k1=1.5, b=0.75, method="atire", backend="numpy")
    index.index(corpus, show_progress=False)

    def run(query: str, _vector: np.ndarray) -> list[int]:
        found, _ = index.retrieve([tokens(query)], k=TOPK, show_progress=False)
        return found[0].tolist()

    return {"bm25s": run}


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def search(count: int, queries: int) -> None:
    """Hybrid search, one query at a time, the query's vector given to both sides."""
    texts, vectors, asked, asked_vectors, layout = Generated.of(count, queries)
    with tempfile.TemporaryDirectory() as folder:
        ours = our_search(texts, vectors, layout)
        plain = plain_search(texts, vectors, layout, Path(folder) / "qdrant")
        print(f"search, {count} chunks x {DIMENSIONS}, hybrid, one at a time, {queries} queries")
        for name, limit in (("all scores", count), ("the 100 nearest", 100)):

            def peer(query: str, vector: np.ndarray, limit: int = limit) -> list[int]:
                return plain(query, vector, limit)

            pairs = [paired(ours, peer, q, v) for q, v in zip(asked, asked_vectors, strict=True)]
            mine, theirs = (statistics.median(p[i] for p in pairs) for i in (0, 1))
            print(f"  gigamind {mine:.2f} ms ({1000 / mine:.0f} queries/s)", end="; ")
            print(f"the packages plainly, {name}: {theirs:.1f} ms ({1000 / theirs:.1f} queries/s)")
            print(
                f"    {statistics.median(p[1] / p[0] for p in pairs):.1f} times (median of pairs)",
                end="; ",
            )
            print(f"same top {TOPK}: {sum(pair[2] for pair in pairs)} of {queries}")
        balanced = balanced_search(texts, vectors, layout)
        pairs = [paired(ours, balanced, q, v) for q, v in zip(asked, asked_vectors, strict=True)]
        more = statistics.median(theirs - mine for mine, theirs, _ in pairs)
        print(f"  balanced fusion: {more:+.2f} ms against weighted (median of pairs)")


def our_search(texts: list[str], vectors: np.ndarray, layout: ChunkLayout) -> Search:
    index, keyword = indexes(texts, vectors)
    fusion = Fusion(ALPHA, np.ones(len(layout.starts) - 1), TOPK)

    def run(query: str, vector: np.ndarray) -> list[int]:
        scored = score_notes(keyword.relative_scores(query), layout, fusion, index, vector)
        return scored.top(TOPK).tolist()

    return run


def balanced_search(texts: list[str], vectors: np.ndarray, layout: ChunkLayout) -> Search:
    """Half of the notes are in Korean, each with a title of two words."""
    index, keyword = indexes(texts, vectors)
    notes = [
        Note(str(i), text, " ".join(text.split()[:2]), (), (), "", parse(text), "")
        for i, text in enumerate(texts[::CHUNKS_A_NOTE])
    ]
    balance = Balance(keyword, layout, notes, cosine_scale(DEFAULT_EMBEDDER))
    balance.prepare()
    fusion = Fusion(ALPHA, np.ones(len(notes)), TOPK)

    def run(query: str, vector: np.ndarray) -> list[int]:
        words = balance.read(query, NO_CHUNKS)
        return balance.score(words, fusion, index, vector, NO_CHUNKS).top(TOPK).tolist()

    return run


def indexes(texts: list[str], vectors: np.ndarray) -> tuple[VectorIndex, KeywordIndex]:
    chunks = [Chunk(Passage(str(i), "", Span(0, 0)), "") for i in range(len(texts))]
    index = open_edge(IndexContent("bench", chunks, lambda: vectors), None)
    return index, build_keyword_index(texts)


def plain_search(
    texts: list[str], vectors: np.ndarray, layout: ChunkLayout, path: Path
) -> Callable[[str, np.ndarray, int], list[int]]:
    """qdrant-client's local mode and `BM25Okapi.get_scores`, with so many nearest chunks asked for.

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
            semantic[point.id] = max(0.0, point.score)
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
    """A generated vault: the encoder alone, then two runs with the cache, reading the vault included."""
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
    told = lambda done, total: quiet.stage("", done, total)  # noqa: E731
    open_retriever(vault, Identities(vault.notes), settings, told).close()


def command_line() -> None:
    """`--help`, and the example run without Prefect once its index is cached."""
    program = [sys.executable, "-m", "gigamind"]
    helped = statistics.median(timed(lambda: run_quietly([*program, "--help"])) for _ in range(5))
    with tempfile.TemporaryDirectory() as folder:
        environment = {"GIGAMIND_CACHE_DIR": f"{folder}/cache"}
        example = [*program, "eval", "search", "--dataset", str(ROOT / "examples/queries.jsonl")]
        example += ["--notes", str(ROOT / "examples/vault")]
        runs = [
            timed(lambda n=n: run_quietly([*example, "--out", f"{folder}/{n}"], environment))
            for n in range(4)
        ]
        summary = json.loads(Path(f"{folder}/3/summary.json").read_text("utf-8"))
    print(f"command line: --help {helped:.2f} s (median of 5)")
    queries = summary["counts"]["queries_total"]
    print(
        f"  example run, {queries} queries: first {runs[0]:.2f} s, warm {statistics.median(runs[1:]):.2f} s"
    )


def run_quietly(command: list[str], environment: dict[str, str] | None = None) -> None:
    subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, **(environment or {})}
    )


def used(call: Callable[[], object]) -> float:
    """CPU seconds of this process: all of this work is in it, and what else the machine does is not."""
    start = time.process_time()
    call()
    return time.process_time() - start


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
