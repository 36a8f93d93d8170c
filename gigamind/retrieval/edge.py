"""Qdrant Edge: the vectors in this process, in one shard folder an index.

A shard is built beside its place without a write-ahead log, flushed, closed, and only then renamed to its name: what
stands in the cache is whole and never written again.  So any number of processes may read it at a time (with the log,
a shard opens in one process only), and one killed while building leaves nothing that looks like an index.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import qdrant_edge as qdrant

from gigamind.errors import IndexingError
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import EngineIndex, IndexContent, guarded, payload

_BATCH = 1_000
_guarded = partial(guarded, "vector index")
_EXACT = qdrant.SearchParams(exact=True)


class EdgeIndex(EngineIndex):
    """A shard that is open for reading; queries may come from several threads."""

    def __init__(self, shard: qdrant.EdgeShard, release: Callable[[], None]) -> None:
        self._shard = shard
        self._release = weakref.finalize(self, release)  # runs at exit too, where nobody closed

    def close(self) -> None:
        self._shard.close()
        self._release()

    def _points(
        self, query: Vectors, limit: int, only: Sequence[int] | None
    ) -> list[qdrant.ScoredPoint]:
        these = None if only is None else qdrant.Filter(must=[qdrant.HasIdCondition(set(only))])
        nearest = qdrant.Query.Nearest(query.tolist())
        request = qdrant.QueryRequest(limit=limit, query=nearest, params=_EXACT, filter=these)
        return _guarded(self._shard.query, request)


def open_edge(content: IndexContent, folder: Path | None) -> EdgeIndex:
    """The shard of this content, opened if it stands in `folder`, else built there.

    Args:
        folder: where shards are kept; None builds one in a temporary folder that `close` removes.

    Raises:
        IndexingError: the shard cannot be written or read.
        EmbeddingError: the vectors of a new shard cannot be computed.
    """
    if folder is None:
        place = Path(tempfile.mkdtemp(prefix="gigamind-index-"))
        try:
            _build(place, content)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return _open(place, lambda: shutil.rmtree(place, ignore_errors=True))
    place = folder / content.name
    if not place.is_dir():
        _build_aside(place, content)
    return _open(place, lambda: None)


def _open(place: Path, release: Callable[[], None]) -> EdgeIndex:
    try:
        return EdgeIndex(qdrant.EdgeShard.load(str(place)), release)
    except Exception as error:
        release()
        raise IndexingError(
            f"{place}: the index cannot be read ({error}): delete this folder"
        ) from error


def _build_aside(place: Path, content: IndexContent) -> None:
    """Build in a folder of this process's own, then rename; whoever comes second keeps the first one's shard."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".building-", dir=place.parent))
    except OSError as error:
        raise IndexingError(f"{place.parent}: no index can be written here ({error})") from error
    try:
        _build(aside, content)
        if not place.is_dir():
            aside.rename(place)
    except OSError as error:
        if not place.is_dir():  # else another process was first, with the same content
            raise IndexingError(f"{place}: no index can be written here ({error})") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _build(place: Path, content: IndexContent) -> None:
    vectors = content.vectors()
    config = qdrant.EdgeConfig(
        vectors=qdrant.EdgeVectorParams(size=vectors.shape[1], distance=qdrant.Distance.Cosine),
        optimizers=qdrant.EdgeOptimizersConfig(
            indexing_threshold=0
        ),  # 0: no graph, searches are exact
        wal_enabled=False,
    )
    shard = _guarded(qdrant.EdgeShard.create, str(place), config)
    try:
        for start in range(0, len(vectors), _BATCH):
            rows = range(start, min(start + _BATCH, len(vectors)))
            points = [
                qdrant.Point(i, vectors[i].tolist(), payload(content.chunks[i])) for i in rows
            ]
            _guarded(shard.update, qdrant.UpdateOperation.upsert_points(points))
        shard.flush()
    finally:
        shard.close()
