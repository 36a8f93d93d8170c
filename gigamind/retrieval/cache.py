"""The user's cache folder: vectors, finished indexes and suggested links, for reuse by later runs.

Vectors are in one SQLite file, by model and SHA-256 of the embedded text.  A changed note therefore costs only its
changed chunks, and a renamed model starts empty.  Each batch is committed when it ends, so an interruption loses
nothing.  Each vector has a checksum, because SQLite has none; a damaged one is computed again.
"""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gigamind.errors import IndexingError, reason_of
from gigamind.i18n import Message, _
from gigamind.retrieval.embed import Embedder, Vectors
from gigamind.runs.folders import private_folder

_BATCH = 64
_LOOKUP = 500  # old builds of SQLite allow 999 variables per statement
_WAIT_S = 60.0

Progress = Callable[[int, int], None]
"""Called with the number of embedded texts and the total number of texts."""


def quiet(done: int, total: int) -> None:
    """Ignore progress."""
    del done, total


def embed_all(
    embedder: Embedder, texts: Sequence[str], cache: Path | None, progress: Progress
) -> Vectors:
    """Return float32 vectors of all texts, shape (len(texts), dimensions); only uncached ones are computed.

    Args:
        cache: SQLite file, created if missing; None stores nothing.
        progress: Called with (embedded texts, all texts).

    Raises:
        EmbeddingError: The model failed.
        IndexingError: The cache file cannot be read or written.
    """
    if cache is None:
        return _compute(embedder, texts, progress, len(texts), keep=lambda _texts, _vectors: None)
    try:
        private_folder(cache.parent)
    except OSError as error:
        raise IndexingError(cache_not_writable(cache.parent, error)) from error
    try:
        with closing(sqlite3.connect(cache, timeout=_WAIT_S)) as connection:
            return _embed_through(connection, embedder, texts, progress)
    except sqlite3.Error as error:
        raise IndexingError(
            "{file}: the embedding cache cannot be used: {reason}. Delete the file, or set another --cache-dir.",
            file=cache,
            reason=error.args[0],
        ) from error


def cache_not_writable(folder: Path, error: OSError) -> Message:
    """Return the message for a cache folder that cannot be written."""
    return _(
        "{folder}: the cache cannot be written: {reason}. Set another --cache-dir.",
        folder=folder,
        reason=reason_of(error),
    )


def _embed_through(
    connection: sqlite3.Connection, embedder: Embedder, texts: Sequence[str], progress: Progress
) -> Vectors:
    # No write-ahead log: switching it on fails if another run does so too, and it needs a local disk.
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS vectors (model TEXT, text_hash BLOB, vector BLOB, checksum BLOB,"
        " PRIMARY KEY (model, text_hash)) WITHOUT ROWID"
    )
    hashes = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    known = _stored(connection, embedder.name, list(set(hashes)))
    missing = {h: text for h, text in zip(hashes, texts, strict=True) if h not in known}
    hash_of = {text: h for h, text in missing.items()}

    def keep(batch: Sequence[str], vectors: Vectors) -> None:
        hashed = [(hash_of[text], vector) for text, vector in zip(batch, vectors, strict=True)]
        rows = [
            (embedder.name, h, content := vector.tobytes(), _checksum(h, content))
            for h, vector in hashed
        ]
        with connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
        known.update(hashed)

    if missing:
        _compute(embedder, list(missing.values()), progress, len(texts), keep)
    if len({len(vector) for vector in known.values()}) > 1:
        raise sqlite3.DataError(
            _("the cached vectors differ in length, because the model with this name has changed")
        )
    return np.stack([known[h] for h in hashes])


def _stored(
    connection: sqlite3.Connection, model: str, hashes: Sequence[bytes]
) -> dict[bytes, Vectors]:
    stored: dict[bytes, Vectors] = {}
    for i in range(0, len(hashes), _LOOKUP):
        part = hashes[i : i + _LOOKUP]
        marks = ",".join("?" * len(part))
        query = f"SELECT text_hash, vector, checksum FROM vectors WHERE model = ? AND text_hash IN ({marks})"  # noqa: S608
        for text_hash, vector, checksum in connection.execute(query, (model, *part)):
            if checksum == _checksum(text_hash, vector):
                stored[text_hash] = np.frombuffer(vector, dtype=np.float32)
    return stored


def _checksum(text_hash: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(vector, digest_size=8, key=text_hash).digest()


def _compute(
    embedder: Embedder,
    texts: Sequence[str],
    progress: Progress,
    total: int,
    keep: Callable[[Sequence[str], Vectors], None],
) -> Vectors:
    done = total - len(texts)
    parts: list[Vectors] = []
    for i in range(0, len(texts), _BATCH):
        batch = texts[i : i + _BATCH]
        parts.append(embedder.embed_passages(batch))
        keep(batch, parts[-1])
        progress(done + i + len(batch), total)
    return np.concatenate(parts)


_KEPT = 8  # most recently used entries of each kind; older indexes are built again
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache folder of one run."""

    folder: Path

    @property
    def embeddings(self) -> Path:
        """SQLite file of all vectors."""
        return self.folder / "embeddings.sqlite"

    @property
    def indexes(self) -> Path:
        """Folder with one folder per vector index, named by its content."""
        return self.folder / "indexes"

    @property
    def keywords(self) -> Path:
        """Folder with one file per keyword index, named by its content."""
        return self.folder / "keywords"

    @property
    def links(self) -> Path:
        """Folder with one file of suggested links per vault, named by its content."""
        return self.folder / "links"

    @property
    def forecasts(self) -> Path:
        """Folder with one file of forecast judge errors per vault and search settings."""
        return self.folder / "forecasts"

    def prune(self) -> None:
        """Remove all but the most recently used entries of each kind; an open index stays usable."""
        for folder in (self.indexes, self.keywords, self.links, self.forecasts):
            entries = sorted(folder.iterdir(), key=_last_use) if folder.is_dir() else []
            whole = [entry for entry in entries if not entry.name.startswith(".")]
            abandoned = [
                e for e in entries if e not in whole and _last_use(e) < time.time() - _DAY_S
            ]
            for old in [*abandoned, *whole[:-_KEPT]]:
                if old.is_dir():
                    shutil.rmtree(old, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        old.unlink()


def touch(entry: Path) -> None:
    """Mark an index as just used, unless another run removed it or it is read-only."""
    with contextlib.suppress(OSError):
        os.utime(entry)


def _last_use(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:  # removed by another run
        return 0.0
