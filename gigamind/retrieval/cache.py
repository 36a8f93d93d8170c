"""Where indexes and vectors are kept between runs, and how old ones go."""

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

FOLDER_VARIABLE = "GIGAMIND_CACHE_DIR"
_KEPT = 8  # indexes of the vaults and models used last; an older one is built again from the kept vectors


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
        """Remove all but the indexes used last.  One that a reader has open stays whole for that reader."""
        for folder in (self.indexes, self.keywords):
            for old in sorted(_entries(folder), key=_last_use, reverse=True)[_KEPT:]:
                if old.is_dir():
                    shutil.rmtree(old, ignore_errors=True)
                else:
                    old.unlink(missing_ok=True)


def touch(entry: Path) -> None:
    """Mark an index as used now; one that another run has just pruned, or that is read-only, stays as it is."""
    with contextlib.suppress(OSError):
        os.utime(entry)


def _entries(folder: Path) -> list[Path]:
    return [e for e in folder.iterdir() if not e.name.startswith(".")] if folder.is_dir() else []


def _last_use(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:  # another run pruned it first
        return 0.0
