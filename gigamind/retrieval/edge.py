"""Qdrant Edge: vectors in this process, with one shard folder per index.

A shard is built in a temporary folder without a write-ahead log, closed, and then renamed.  Shards in the cache are
therefore complete and never written again.  Any number of processes can read one at a time (with a log only one could),
and a process killed while building leaves nothing that looks like an index.

The engine finds the nearest chunks.  It stores unit vectors with 8 bits per number, a quarter of the memory to read, so
its distances give only a bound of the cosine.  Reported cosines come from 32-bit vectors, a memory-mapped matrix beside
the shard.  Cosines of named chunks (the candidates of keyword search) come from there too: 1 000 of them cost less than
a query to the engine.
"""

import contextlib
import hashlib
import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import qdrant_edge as qdrant

from gigamind.errors import IndexingError, reason_of
from gigamind.retrieval.embed import Vectors, unit_rows
from gigamind.retrieval.index import (
    LAST_DIGIT,
    Cosines,
    Ids,
    IndexContent,
    flat_reason,
    rounded,
)
from gigamind.runs.folders import private_folder

_ROWS = 128  # rows processed at once: they fit into the processor's cache and reuse the same memory
_UNITS, _CHECKSUM = "units.npy", "units.blake2b"
_SPARE = 32  # extra chunks requested, besides twice as many as needed: the order of the engine is not exact
_LISTED = 100  # one chunk of this many is shortlisted: a longer list lowers the loose bound, so fewer are looked up
_WIDER = 8  # factor for the next attempt if those do not settle which chunks are nearest
_NOISE = 1e-6  # relative difference of two float32 distances summed in different order
_EXACT = qdrant.SearchParams(exact=True)
_STEPS = 255
_FLOAT_NOISE = 1e-5  # of distances summed as float32


@dataclass(frozen=True, slots=True)
class _Quantizer:
    """A grid with 8 bits per number that contains each of the given unit vectors up to `error`.

    Distances do not depend on the position of the range of a dimension, so a direction shared by all vectors of an
    encoder uses none of the 256 steps.
    """

    low: npt.NDArray[np.float32]  # value of step 0 in each dimension, shape (dimensions,)
    step: float  # difference between steps, above 0
    error: float  # largest distance of a vector from its grid point

    @classmethod
    def of(cls, units: Vectors) -> Self:
        """Return the finest grid for these vectors, shape (count, dimensions), at least one."""
        least, most = units.min(axis=0), units.max(axis=0)
        reach = float((most - least).max()) / 2
        low = (least + most) / 2 - np.float32(reach)
        grid = cls(low, 2 * reach / _STEPS or 1.0, 0.0)
        batches = (units[rows] for rows in _row_slices(len(units)))
        error = max(float(grid._errors(some, grid.points(some)).max()) for some in batches)
        return cls(low, grid.step, error)

    def points(self, vectors: Vectors) -> Vectors:
        """Return integers from 0 to 255 in the shape of the vectors; values outside the range are clipped."""
        steps = np.rint((vectors - self.low) * np.float32(1 / self.step))
        return np.minimum(np.maximum(steps, 0), _STEPS)

    def highest_cosine(self, query: Vectors, point: Vectors, distance: float) -> float:
        """Return an upper bound for the cosine of `query`, a unit vector with grid point `point`, and a stored vector.

        `distance` is the distance of their grid points.  By the triangle inequality the vectors are at most both errors
        nearer than that, and for unit vectors the cosine is 1 - distance**2 / 2.
        """
        errors = self.error + float(self._errors(query, point)) + _FLOAT_NOISE
        return 1.0 - max(0.0, distance * self.step - errors) ** 2 / 2

    def _errors(self, vectors: Vectors, points: Vectors) -> npt.NDArray[np.float32]:
        off = points * np.float32(self.step) + (self.low - vectors)
        return np.sqrt(np.einsum("...i,...i", off, off))


def _row_slices(count: int) -> list[slice]:
    """Return slices of consecutive rows."""
    return [slice(first, min(first + _ROWS, count)) for first in range(0, count, _ROWS)]


@dataclass(frozen=True, slots=True, eq=False)
class _EdgeIndex:
    """A shard open for reading; several threads can query it."""

    _shard: qdrant.EdgeShard
    _units: npt.NDArray[np.float32]  # no np.memmap, which would look up rows in Python
    _quantizer: _Quantizer
    _release: Callable[[], object]

    def nearest(self, query: Vectors, limit: int) -> tuple[Ids, Cosines]:
        direction, wanted = _unit(query), 2 * limit + _SPARE
        while True:
            wanted = min(wanted, len(self._units))
            ids, products, ceiling = self._shortlist(direction, wanted)
            if wanted == len(self._units) or np.partition(products, -limit)[-limit] > ceiling:
                order = np.lexsort((ids, -products))[:limit]
                return ids[order], rounded(products[order])
            wanted *= _WIDER

    def shortlist(self, query: Vectors, limit: int) -> tuple[Ids, Cosines, float]:
        most = max(limit, len(self._units) // _LISTED)
        ids, products, ceiling = self._shortlist(_unit(query), most)
        return ids, rounded(products), ceiling + LAST_DIGIT

    def cosines(self, query: Vectors, chunks: Ids) -> Cosines:
        return rounded(self._products(_unit(query), chunks))

    def _shortlist(self, direction: Vectors, limit: int) -> tuple[Ids, Vectors, float]:
        point = self._quantizer.points(direction)
        points = self._points(point, limit)
        ids = _ids(points)
        ceiling = self._quantizer.highest_cosine(direction, point, points[-1].score)
        return ids, self._products(direction, ids), ceiling

    def _products(self, direction: Vectors, chunks: Ids) -> Vectors:
        products = np.empty(len(chunks), np.float32)
        for first in range(0, len(chunks), _ROWS):
            rows = self._units.take(chunks[first : first + _ROWS], axis=0)
            # Row by row: a matrix product would sum a row in an order that depends on its place.
            np.matmul(
                rows[:, np.newaxis], direction, out=products[first : first + _ROWS, np.newaxis]
            )
        return products

    def agrees(self, chunks: int) -> bool:
        """Return whether there are `chunks` chunks and the engine has the vectors of the matrix."""
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
            for rows in _row_slices(chunks)
        )

    def close(self) -> None:
        self._shard.close()
        self._release()

    def _points(self, point: Vectors, limit: int) -> list[qdrant.ScoredPoint]:
        nearest = qdrant.Query.Nearest(point.tolist())
        return _guarded(self._shard.search, qdrant.SearchRequest(nearest, limit, params=_EXACT))


def _guarded(call: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
    try:
        return call(*arguments)
    except Exception as error:
        reason = flat_reason(error)
        raise IndexingError("the vector index failed: {reason}", reason=reason) from error


def open_edge(content: IndexContent, folder: Path | None) -> _EdgeIndex:
    """Open the shard of this content in `folder`; build it there if it is missing.

    Args:
        folder: Folder of shards; None builds one in a temporary folder that `close` removes.

    Raises:
        IndexingError: The shard cannot be written or read.
        EmbeddingError: The vectors of a new shard cannot be computed.
    """
    if folder is None:
        place = Path(tempfile.mkdtemp(prefix="gigamind-index-"))
        try:
            quantizer = _build(place, content)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return _open(place, lambda: shutil.rmtree(place, ignore_errors=True), quantizer)
    place = folder / content.name
    if place.is_dir():
        if index := _whole(place, len(content.chunks)):
            return index
        shutil.rmtree(place, ignore_errors=True)
    _build_aside(place, content)
    return _open(place, lambda: None)


def _whole(place: Path, chunks: int) -> _EdgeIndex | None:
    """Open an index of `chunks` chunks; None if it is damaged, or from a version that stored no matrix.

    The engine reads a damaged or incomplete shard without an error.  So the matrix is verified by its checksum, and the
    shard by the distances of all chunks from one point, which change if any vector does.
    """
    with contextlib.suppress(IndexingError, OSError), contextlib.ExitStack() as opened:
        index = _open(place, lambda: None)
        opened.callback(index.close)
        if (place / _CHECKSUM).read_bytes() == _checksum(place / _UNITS) and index.agrees(chunks):
            opened.pop_all()
            return index
    return None


def _not_writable(folder: Path, error: OSError) -> IndexingError:
    return IndexingError(
        "{folder}: the index cannot be written: {reason}. Set another --cache-dir.",
        folder=folder,
        reason=reason_of(error),
    )


def _checksum(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.blake2b).digest()


def _open(
    place: Path, release: Callable[[], None], quantizer: _Quantizer | None = None
) -> _EdgeIndex:
    try:
        units = np.asarray(np.load(place / _UNITS, mmap_mode="r", allow_pickle=False))
        shard = qdrant.EdgeShard.load(str(place))
        gone = weakref.finalize(units, release)  # also runs at exit if nobody called close
        return _EdgeIndex(shard, units, quantizer or _Quantizer.of(units), gone)
    except Exception as error:
        release()
        raise IndexingError(
            "{folder}: the index cannot be read: {reason}. Delete this folder.",
            folder=place,
            reason=str(error),
        ) from error


def _build_aside(place: Path, content: IndexContent) -> None:
    """Build in a temporary folder, then rename it; if another process was first, keep its shard."""
    try:
        private_folder(place.parent)
        aside = Path(tempfile.mkdtemp(prefix=".building-", dir=place.parent))
    except OSError as error:
        raise _not_writable(place.parent, error) from error
    try:
        _build(aside, content)
        if not place.is_dir():
            aside.rename(place)
    except OSError as error:
        if not place.is_dir():  # else another process was first with the same content
            raise _not_writable(place, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _build(place: Path, content: IndexContent) -> _Quantizer:
    units = content.vectors()
    for rows in _row_slices(len(units)):  # `unit` needs three times the memory of its rows
        units[rows] = _unit(units[rows])
    quantizer = _Quantizer.of(units)
    vectors = qdrant.EdgeVectorParams(
        size=units.shape[1],
        distance=qdrant.Distance.Euclid,
        datatype=qdrant.VectorStorageDatatype.Uint8,
    )
    config = qdrant.EdgeConfig(
        vectors=vectors,
        optimizers=qdrant.EdgeOptimizersConfig(indexing_threshold=0),  # no graph: exact searches
        wal_enabled=False,
        max_search_threads=1,  # with one segment, more threads only cost 7 % of a search
    )
    shard = _guarded(qdrant.EdgeShard.create, str(place), config)
    try:
        for rows in _row_slices(len(units)):
            # Row by row: Python numbers of many rows would take new memory each time.
            points = [
                qdrant.Point(i, row.tolist(), content.chunks[i].payload)
                for i, row in enumerate(quantizer.points(units[rows]), start=rows.start)
            ]
            _guarded(shard.update, qdrant.UpdateOperation.upsert_points(points))
        shard.flush()
    finally:
        shard.close()
    np.save(place / _UNITS, units)
    (place / _CHECKSUM).write_bytes(_checksum(place / _UNITS))
    return quantizer


def _ids(points: Sequence[qdrant.ScoredPoint]) -> Ids:
    return np.array([point.id for point in points], np.int64)


def _unit(vectors: Vectors) -> Vectors:
    """Return the vectors scaled to length 1, float32; a zero vector stays 0."""
    if vectors.ndim == 1:
        length = math.sqrt(vectors @ vectors)
        return np.asarray(vectors / (length or 1.0), np.float32)
    return unit_rows(vectors)
