"""Where indexes and vectors are kept between runs, and how old ones go."""

import contextlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

FOLDER_VARIABLE = "GIGAMIND_CACHE_DIR"
_KEPT = 8  # indexes of the vaults and models used last; an older one is built again from the kept vectors
_DAY_S = 86_400.0


def default_cache_folder() -> Path:
    """`$GIGAMIND_CACHE_DIR`, else the user's cache folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen) if chosen else user_cache_path("gigamind", appauthor=False)


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

    def prune(self) -> None:
        """Remove all but the indexes used last, and what a killed run left half-built.

        An index that a reader has open stays whole for that reader.
        """
        for folder in (self.indexes, self.keywords):
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
