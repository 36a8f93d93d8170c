"""Compare search with the strongest known opponents on equal data: CPU per query, CPU to build, peak memory.

    python benchmarks/strong.py --chunks 20000                     # all sides in turn, query by query, as ratios
    python benchmarks/strong.py --chunks 20000 --processes 5       # the same in five processes: their medians
    python benchmarks/strong.py --chunks 20000 --alone gigamind    # one side in its own process: its memory

One BLAS thread.  NumPy is one product over all vectors with our BM25.  bm25s and our BM25 rank chunks by words alone.
Qdrant Edge fuses its dense and sparse retrievers by reciprocal ranks, with our BM25 as sparse vectors: another
ranking.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import qdrant_edge as qdrant
from opponents import find_opponents

from gigamind.retrieval.edge import _unit, open_edge
from gigamind.retrieval.fuse import ChunkLayout, Fusion, highest, relative, score_notes
from gigamind.retrieval.index import Chunk, IndexContent, VectorIndex
from gigamind.retrieval.keyword import KeywordIndex
from gigamind.spans import Passage, Span
from gigamind.text import tokens

ALPHA, TOPK, DIMENSIONS, CHUNKS_A_NOTE = 0.7, 10, 512, 5
RUNS = 5
KEPT = Path(__file__).with_name("out") / "data"
_PREFETCHED, _RRF_K = 100, 60
Search = Callable[[str, np.ndarray], list[int]]
Side = Callable[["Generated"], AbstractContextManager[Search]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument(
        "--processes", type=int, default=1, help="where memory lies moves a ratio by a tenth"
    )
    parser.add_argument("--alone", choices=list(SIDES), help="this side alone, with its memory")
    parser.add_argument("--generate", action="store_true", help="only make the data")
    arguments = parser.parse_args()
    find_opponents()
    made = Generated(arguments.chunks, arguments.queries)
    if arguments.generate:
        made.generate()
        return
    if arguments.alone:
        figures = alone(made, arguments.alone)
    elif arguments.processes > 1:
        figures = in_processes(made, arguments.processes)
    else:
        here = {name: one for name, one in SIDES.items() if name != "bm25s" or find_spec("bm25s")}
        figures = in_turn(made, here)
    print(json.dumps(figures, indent=1))


def corpus(count: int, rng: np.random.Generator) -> list[str]:
    """Return texts of about 800 characters, half Korean and half English, with words by Zipf's law."""
    syllables = [chr(c) for c in range(0xAC00, 0xAC00 + 2000)]
    korean = ["".join(rng.choice(syllables, 3)) for _ in range(6000)]
    english = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 6)) for _ in range(6000)]
    texts: list[str] = []
    for i in range(count):
        words, length = (korean, 200) if i % 2 else (english, 115)
        texts.append(" ".join(words[min(r, 5999)] for r in rng.zipf(1.3, length) - 1))
    return texts


@dataclass(frozen=True)
class Generated:
    """Hold chunks with vectors, and queries of eight words of a chunk with a similar vector; kept on disk."""

    count: int
    queries: int

    @cached_property
    def folder(self) -> Path:
        """Generate in a separate process, whose memory does not count."""
        folder = KEPT / f"{self.count}-{self.queries}"
        if not folder.is_dir():
            sizes = ("--chunks", str(self.count), "--queries", str(self.queries))
            subprocess.run([sys.executable, __file__, *sizes, "--generate"], check=True)
        return folder

    def generate(self) -> None:
        folder = KEPT / f"{self.count}-{self.queries}"
        if not folder.is_dir():
            rng = np.random.default_rng(7)
            texts = corpus(self.count, rng)
            vectors = rng.normal(size=(self.count, DIMENSIONS)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            picked = rng.integers(0, self.count, self.queries)
            asked = [" ".join(rng.choice(texts[i].split(), 8)) for i in picked]
            noise = rng.normal(size=(self.queries, DIMENSIONS)).astype(np.float32) * 0.05
            folder.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder.parent) as place:
                aside = Path(place) / "data"
                aside.mkdir()
                (aside / "texts.txt").write_text("\n".join(texts), "utf-8")
                (aside / "asked.txt").write_text("\n".join(asked), "utf-8")
                np.save(aside / "vectors.npy", vectors)
                np.save(aside / "asked.npy", vectors[picked] + noise)
                aside.rename(folder)

    @cached_property
    def texts(self) -> list[str]:
        with (self.folder / "texts.txt").open(encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file]

    @property
    def vectors(self) -> np.ndarray:
        """Read the vectors; callers that need them keep them."""
        return np.load(self.folder / "vectors.npy")

    @cached_property
    def asked(self) -> list[tuple[str, np.ndarray]]:
        words = (self.folder / "asked.txt").read_text("utf-8").split("\n")
        return list(zip(words, np.load(self.folder / "asked.npy"), strict=True))

    @cached_property
    def layout(self) -> ChunkLayout:
        return ChunkLayout.of([CHUNKS_A_NOTE] * (self.count // CHUNKS_A_NOTE))

    @cached_property
    def keyword(self) -> KeywordIndex:
        return KeywordIndex.of(self.texts)


def vector_index(made: Generated) -> VectorIndex:
    chunks = [Chunk(Passage(str(i), "", Span(0, 0)), "") for i in range(made.count)]
    return open_edge(IndexContent("bench", chunks, lambda: made.vectors), None)


@contextmanager
def gigamind(made: Generated) -> Iterator[Search]:
    """Run exact hybrid search."""
    keyword, layout, index = made.keyword, made.layout, vector_index(made)
    fusion = Fusion(ALPHA, np.ones(len(layout.starts) - 1), TOPK)

    def search(query: str, vector: np.ndarray) -> list[int]:
        return score_notes(keyword.scores(query), layout, fusion, index, vector).top(TOPK).tolist()

    yield search
    index.close()


@contextmanager
def numpy(made: Generated) -> Iterator[Search]:
    """Run the same by one product over all vectors, with our BM25."""
    keyword, layout, vectors = made.keyword, made.layout, made.vectors

    def search(query: str, vector: np.ndarray) -> list[int]:
        semantic = layout.best(np.maximum(0.0, vectors @ _unit(vector)))
        notes = ALPHA * semantic + (1 - ALPHA) * layout.best(relative(keyword.scores(query)))
        top = np.argpartition(notes, -TOPK)[-TOPK:]
        return top[np.lexsort((top, notes[top]))[::-1]].tolist()

    yield search


@contextmanager
def edge_fusion(made: Generated) -> Iterator[Search]:
    """Run Qdrant Edge's fusion of dense and sparse retrievers, over chunks."""
    keyword, vectors = made.keyword, made.vectors
    terms = np.repeat(np.arange(len(keyword.rows)), np.diff(keyword.starts))
    order = np.argsort(keyword.chunks, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(keyword.chunks, minlength=made.count))])
    config = qdrant.EdgeConfig(
        vectors={"dense": qdrant.EdgeVectorParams(DIMENSIONS, qdrant.Distance.Cosine)},
        sparse_vectors={"words": qdrant.EdgeSparseVectorParams()},
        optimizers=qdrant.EdgeOptimizersConfig(indexing_threshold=0),
        wal_enabled=False,
    )
    with TemporaryDirectory() as folder:
        shard = qdrant.EdgeShard.create(folder, config)
        for first in range(0, made.count, 1000):
            points: list[qdrant.Point] = []
            for chunk in range(first, min(first + 1000, made.count)):
                own = order[bounds[chunk] : bounds[chunk + 1]]
                words = qdrant.SparseVector(terms[own].tolist(), keyword.shares[own].tolist())
                vector = {"dense": vectors[chunk].tolist(), "words": words}
                points.append(qdrant.Point(chunk, vector, {}))
            shard.update(qdrant.UpdateOperation.upsert_points(points))
        shard.flush()
        del vectors, points

        def search(query: str, vector: np.ndarray) -> list[int]:
            rows = [keyword.rows[term] for term in keyword.terms(query) if term in keyword.rows]
            distinct, times = np.unique(np.array(rows, np.int64), return_counts=True)
            words = qdrant.SparseVector(distinct.tolist(), times.astype(float).tolist())
            exact = qdrant.SearchParams(exact=True)
            legs = [
                qdrant.Prefetch(_PREFETCHED, qdrant.Query.Nearest(of, using), params=exact)
                for of, using in ((vector.tolist(), "dense"), (words, "words"))
            ]
            request = qdrant.QueryRequest(TOPK, query=qdrant.Fusion.Rrf(_RRF_K), prefetches=legs)
            return [int(str(point.id)) for point in shard.query(request)]

        yield search
        shard.close()


@contextmanager
def bm25(made: Generated) -> Iterator[Search]:
    """Run our BM25 alone."""
    keyword = made.keyword

    def search(query: str, _vector: np.ndarray) -> list[int]:
        return highest(keyword.scores(query), TOPK).tolist()

    yield search


@contextmanager
def bm25s(made: Generated) -> Iterator[Search]:
    """Run bm25s with NumPy over the same tokens, as Okapi with the same constants."""
    import bm25s

    known: dict[str, int] = {}
    ids = [[known.setdefault(token, len(known)) for token in tokens(text)] for text in made.texts]
    index = bm25s.BM25(k1=1.5, b=0.75, method="atire", backend="numpy")
    index.index(bm25s.tokenization.Tokenized(ids, known), show_progress=False)
    del ids

    def search(query: str, _vector: np.ndarray) -> list[int]:
        found, _ = index.retrieve([tokens(query)], k=TOPK, show_progress=False)
        return found[0].tolist()

    yield search


SIDES = {
    "gigamind": gigamind,
    "NumPy": numpy,
    "Qdrant Edge": edge_fusion,
    "BM25": bm25,
    "bm25s": bm25s,
}


def in_turn(made: Generated, sides: Mapping[str, Side]) -> dict[str, object]:
    """Return CPU ms per query, all sides in random turns, and how often each finds the same as gigamind."""
    spent: dict[str, list[float]] = {name: [] for name in sides}
    same, shuffled = Counter[str](), random.Random(7)
    with ExitStack() as opened:
        order = [(name, opened.enter_context(side(made))) for name, side in sides.items()]
        for _ in range(RUNS):
            for query, vector in made.asked:
                found: dict[str, list[int]] = {}
                # Who comes behind another finds the query's postings in the processor's cache.
                shuffled.shuffle(order)
                for name, search in order:
                    found[name], taken = timed(search, query, vector)
                    spent[name].append(taken)
                same.update(name for name in found if found[name] == found["gigamind"])
    return {
        "chunks": made.count,
        "queries": made.queries,
        "runs": RUNS,
        "same": same,
        "ms": {name: dict(zip(("p50", "p95"), both(t), strict=True)) for name, t in spent.items()},
    }


def in_processes(made: Generated, processes: int) -> dict[str, object]:
    """Run `in_turn` in that many processes; return medians of their p50 and p95."""
    sizes = ("--chunks", str(made.count), "--queries", str(made.queries))
    command = [sys.executable, __file__, *sizes]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(processes)
    ]
    return {
        **found[0],
        "runs": sum(one["runs"] for one in found),
        "same": {name: sum(one["same"].get(name, 0) for one in found) for name in found[0]["ms"]},
        "ms": {
            name: {p: median(one["ms"][name][p] for one in found) for p in ("p50", "p95")}
            for name in found[0]["ms"]
        },
    }


def alone(made: Generated, name: str) -> dict[str, object]:
    """Return CPU seconds to build with texts in memory, CPU per query, and peak memory of the process."""
    texts, asked = len(made.texts), made.asked
    with_texts = peak_gb()
    start = time.process_time()
    with SIDES[name](made) as search:
        built = time.process_time() - start
        after_build = peak_gb()
        spent = [timed(search, *one)[1] for _ in range(RUNS) for one in asked]
        p50, p95 = both(spent)
    return {
        "side": name,
        "chunks": texts,
        "build_s": built,
        "p50": p50,
        "p95": p95,
        "texts_gb": with_texts,
        "built_gb": after_build,
        "peak_gb": peak_gb(),
    }


def timed(search: Search, query: str, vector: np.ndarray) -> tuple[list[int], float]:
    start = time.process_time()
    found = search(query, vector)
    return found, 1000 * (time.process_time() - start)


def both(times: list[float]) -> list[float]:
    return [float(value) for value in np.quantile(times, (0.5, 0.95))]


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
