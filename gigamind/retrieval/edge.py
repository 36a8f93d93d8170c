"""Qdrant Edge: the vectors in this process, in one shard folder an index.

A shard is built beside its place without a write-ahead log, flushed, closed, and only then renamed to its name: what
stands in the cache is whole and never written again.  So any number of processes may read it at a time (with the log,
a shard opens in one process only), and one killed while building leaves nothing that looks like an index.

The engine finds the nearest chunks.  It is given unit vectors at 8 bits a number, a quarter of what a search would
read, so that of the distances it tells only a bound of the cosine follows.  Every cosine that is told comes from the
vectors at 32 bits, a matrix beside the shard, mapped into memory.  So do those of chunks that are named (which the
keyword leg likes): 1 000 of them cost less than asking the engine.
"""

import contextlib
import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import qdrant_edge as qdrant

from gigamind.errors import IndexingError
from gigamind.retrieval.embed import Vectors
from gigamind.retrieval.index import (
    LAST_DIGIT,
    Cosines,
    Ids,
    IndexContent,
    guarded,
    payload,
    rounded,
    unit,
)
from gigamind.retrieval.quantized import Quantizer, row_slices
from gigamind.runs.folders import private_folder

_ROWS = 128  # that are copied at once: they stay in the processor's cache, and in memory that is used again
_UNITS, _CHECKSUM = "units.npy", "units.blake2b"
_SPARE = 32  # chunks, and as many again as are wanted, that are asked for as well: the engine's order is not exact
_LISTED = 100  # one chunk of so many is shortlisted: the ceiling is loose, and the lower, the fewer are looked up
_WIDER = 8  # times as many where those do not settle which are the nearest
_NOISE = 1e-6  # share of a distance, of two float32 sums in another order
_guarded = partial(guarded, "vector index")
_EXACT = qdrant.SearchParams(exact=True)


class EdgeIndex:
    """A shard that is open for reading; queries may come from several threads."""

    def __init__(
        self, shard: qdrant.EdgeShard, units: npt.NDArray[np.float32], release: Callable[[], None]
    ) -> None:
        """`units` are the chunks' vectors of length 1, or 0, shape (chunks, dimensions)."""
        self._shard = shard
        self._units = np.asarray(units)  # a row of np.memmap is looked up in Python
        self._quantizer = Quantizer.of(self._units)
        self._release = weakref.finalize(self, release)  # runs at exit too, where nobody closed

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        asked, wanted = unit(query), 2 * limit + _SPARE
        while True:
            wanted = min(wanted, len(self._units))
            ids, products, ceiling = self._shortlist(asked, wanted)
            if wanted == len(self._units) or np.partition(products, -limit)[-limit] > ceiling:
                order = np.lexsort((ids, -products))[:limit]
                return ids[order], rounded(products[order])
            wanted *= _WIDER

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        most = max(limit, len(self._units) // _LISTED)
        ids, products, ceiling = self._shortlist(unit(query), most)
        return ids, rounded(products), ceiling + LAST_DIGIT

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
        return rounded(self._products(unit(query), chunks))

    def _shortlist(self, asked: Vectors, limit: int) -> tuple[Ids, Vectors, float]:
        point = self._quantizer.points(asked)
        points = self._points(point, limit)
        ids = _ids(points)
        ceiling = self._quantizer.highest_cosine(asked, point, points[-1].score)
        return ids, self._products(asked, ids), ceiling

    def _products(self, asked: Vectors, chunks: Ids) -> Vectors:
        found = np.empty(len(chunks), np.float32)
        for first in range(0, len(chunks), _ROWS):
            rows = self._units.take(chunks[first : first + _ROWS], axis=0)
            # Row by row: a product with the matrix would sum a row in another order by its place among the others.
            np.matmul(rows[:, np.newaxis], asked, out=found[first : first + _ROWS, np.newaxis])
        return found

    def agrees(self, chunks: int) -> bool:
        """Whether there are so many chunks, and the engine has the vectors of the matrix."""
        if len(self._units) != chunks:
            return False
        probe = np.rint(127 + 127 * np.cos(np.arange(self._units.shape[1], dtype=np.float32)))
        points = self._points(probe, chunks)
        distances = np.full(chunks, np.nan)
        distances[_ids(points)] = [point.score for point in points]
        return all(
            np.allclose(
                np.linalg.norm(self._quantizer.points(self._units[rows]) - probe, axis=1),
                distances[rows],
                rtol=_NOISE,
                atol=0,
            )
            for rows in row_slices(chunks)
        )

    def close(self) -> None:
        self._shard.close()
        self._release()

    def _points(self, point: Vectors, limit: int) -> list[qdrant.ScoredPoint]:
        nearest = qdrant.Query.Nearest(point.tolist())
        return _guarded(self._shard.search, qdrant.SearchRequest(nearest, limit, params=_EXACT))


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
    if place.is_dir():
        with contextlib.suppress(IndexingError):
            return _whole(place, len(content.chunks))
        shutil.rmtree(place, ignore_errors=True)
    _build_aside(place, content)
    return _open(place, lambda: None)


def _whole(place: Path, chunks: int) -> EdgeIndex:
    """The index of so many chunks that stands there, once the engine was seen to hold what was put into it.

    The engine reads a damaged shard, or half of one, as if it were whole.  So the matrix is checked by its checksum,
    and the shard by the matrix: the distance of every chunk from one point, which a change of a vector changes.

    Raises:
        IndexingError: it is damaged, or of a version that kept no matrix.
    """
    index = _open(place, lambda: None)
    try:
        if (place / _CHECKSUM).read_bytes() == _checksum(place / _UNITS) and index.agrees(chunks):
            return index
    except OSError as error:
        index.close()
        raise _unreadable(place, error) from error
    except BaseException:
        index.close()
        raise
    index.close()
    raise _unreadable(place, "it is damaged")


def _unreadable(place: Path, why: object) -> IndexingError:
    return IndexingError(f"{place}: the index cannot be read ({why}): delete this folder")


def _checksum(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.blake2b).digest()


def _open(place: Path, release: Callable[[], None]) -> EdgeIndex:
    try:
        units = np.load(place / _UNITS, mmap_mode="r", allow_pickle=False)
        return EdgeIndex(qdrant.EdgeShard.load(str(place)), units, release)
    except Exception as error:
        release()
        raise _unreadable(place, error) from error


def _build_aside(place: Path, content: IndexContent) -> None:
    """Build in a folder of this process's own, then rename; whoever comes second keeps the first one's shard."""
    try:
        private_folder(place.parent)
        aside = Path(tempfile.mkdtemp(prefix=".building-", dir=place.parent))
    except OSError as error:
        raise IndexingError(
            f"{place.parent}: no index can be written here ({error}): name another --cache-dir"
        ) from error
    try:
        _build(aside, content)
        if not place.is_dir():
            aside.rename(place)
    except OSError as error:
        if not place.is_dir():  # else another process was first, with the same content
            raise IndexingError(
                f"{place}: no index can be written here ({error}): name another --cache-dir"
            ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _build(place: Path, content: IndexContent) -> None:
    units = unit(content.vectors())
    quantizer = Quantizer.of(units)
    vectors = qdrant.EdgeVectorParams(
        size=units.shape[1],
        distance=qdrant.Distance.Euclid,
        datatype=qdrant.VectorStorageDatatype.Uint8,
    )
    config = qdrant.EdgeConfig(
        vectors=vectors,
        optimizers=qdrant.EdgeOptimizersConfig(
            indexing_threshold=0
        ),  # 0: no graph, searches are exact
        wal_enabled=False,
        max_search_threads=1,  # there is one segment: more threads only hand it over, for 7 % of a search
    )
    shard = _guarded(qdrant.EdgeShard.create, str(place), config)
    try:
        for rows in row_slices(len(units)):
            points = [
                qdrant.Point(i, vector, payload(content.chunks[i]))
                for i, vector in enumerate(quantizer.points(units[rows]).tolist(), start=rows.start)
            ]
            _guarded(shard.update, qdrant.UpdateOperation.upsert_points(points))
        shard.flush()
    finally:
        shard.close()
    np.save(place / _UNITS, units)
    (place / _CHECKSUM).write_bytes(_checksum(place / _UNITS))


def _ids(points: Sequence[qdrant.ScoredPoint]) -> Ids:
    return np.array([point.id for point in points], np.int64)
