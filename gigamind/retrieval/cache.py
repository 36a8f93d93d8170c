"""What later runs may use again: every vector ever computed, finished indexes, suggested links, in the user's folder.

Vectors are in one SQLite file.  One is found by the model and the SHA-256 of exactly the text that was embedded, so a
changed note costs only its changed chunks, and a renamed model starts afresh.  Each batch is committed as it ends:
breaking off loses nothing.  Each has a checksum, as SQLite has none: one that a disk has damaged is computed again.
"""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gigamind.errors import IndexingError
from gigamind.retrieval.embed import Embedder, Vectors
from gigamind.runs.folders import private_folder

_BATCH = 64
_LOOKUP = 500  # SQLite allows 999 variables in a statement of an old build
_WAIT_S = 60.0

Progress = Callable[[int, int], None]
"""Called with how many texts are embedded, and how many there are in all."""


def quiet(done: int, total: int) -> None:
    """Progress that nobody is told of."""
    del done, total


def embed_all(
    embedder: Embedder, texts: Sequence[str], cache: Path | None, progress: Progress
) -> Vectors:
    """Vectors of all texts, float32, shape (len(texts), dimensions); only those missing in the cache are computed.

    Args:
        cache: the SQLite file, made when absent; None computes everything and keeps nothing.
        progress: called with (texts done, texts in all).

    Raises:
        EmbeddingError: the model failed.
        IndexingError: the cache file cannot be read or written.
    """
    if cache is None:
        return _compute(embedder, texts, progress, len(texts), keep=lambda _texts, _vectors: None)
    with _opened(cache) as connection:
        return _embed_through(connection, embedder, texts, progress)


@contextmanager
def _opened(cache: Path) -> Generator[sqlite3.Connection]:
    try:
        private_folder(cache.parent)
    except OSError as error:
        raise IndexingError(
            f"{cache.parent}: the cache cannot be written ({error}): name another --cache-dir"
        ) from error
    try:
        with closing(sqlite3.connect(cache, timeout=_WAIT_S)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise IndexingError(
            f"{cache}: the embedding cache cannot be used ({error}): delete the file, or name another --cache-dir"
        ) from error


def _embed_through(
    connection: sqlite3.Connection, embedder: Embedder, texts: Sequence[str], progress: Progress
) -> Vectors:
    # No write-ahead log: turning it on fails at once while another run does the same, and it needs a local disk.
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
        raise sqlite3.DataError("its vectors differ in length: the model behind this name changed")
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


_KEPT = 8  # of each, those of the vaults and models used last; an older one is built again from the kept vectors
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache folder of one run."""

    folder: Path

    @property
    def embeddings(self) -> Path:
        """The SQLite file of all vectors."""
        return self.folder / "embeddings.sqlite"

    @property
    def indexes(self) -> Path:
        """One folder a vector index, named by its content."""
        return self.folder / "indexes"

    @property
    def keywords(self) -> Path:
        """One file a keyword index, named by its content."""
        return self.folder / "keywords"

    @property
    def links(self) -> Path:
        """One file a vault with what was suggested there, named by its content."""
        return self.folder / "links"

    def prune(self) -> None:
        """Remove all but the indexes and links used last, and what a killed run left half-built.

        An index that a reader has open stays whole for that reader.
        """
        for folder in (self.indexes, self.keywords, self.links):
            entries = sorted(folder.iterdir(), key=_last_use) if folder.is_dir() else []
            whole = [entry for entry in entries if not entry.name.startswith(".")]
            abandoned = [
                e for e in entries if e not in whole and _last_use(e) < time.time() - _DAY_S
            ]
            for old in [*abandoned, *whole[:-_KEPT]]:
                _remove(old)


def touch(entry: Path) -> None:
    """Mark an index as used now; one that another run has just pruned, or that is read-only, stays as it is."""
    with contextlib.suppress(OSError):
        os.utime(entry)


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            entry.unlink()


def _last_use(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:  # another run pruned it first
        return 0.0
