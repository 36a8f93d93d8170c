"""Write files atomically, and create folders that only the user may read, for texts of notes and replies."""

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_OWN = 0o700
_OWN_FILE = 0o600


@contextmanager
def private_file(place: Path) -> Generator[Path]:
    """Yield a path to write a private file to; it replaces `place` when the block succeeds.

    Raises:
        OSError: it cannot be created.
    """
    private_folder(place.parent)
    aside = place.with_name(f".{place.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        aside.touch(mode=_OWN_FILE)
        yield aside
        aside.replace(place)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def whole_file(place: Path, aside: Path | None = None) -> Generator[BinaryIO]:
    """Yield a new file, `aside` or beside it, which replaces `place` once it is on the disk.

    Raises:
        OSError: it cannot be created.
    """
    aside = aside or place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        with aside.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        aside.replace(place)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def whole_folder(out: Path, *, replace: bool = False) -> Generator[Path]:
    """Yield a folder to write into, which becomes or replaces `out` when the block succeeds."""
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    replaced = aside.with_name(f"{aside.name}.replaced")
    aside.mkdir()
    try:
        yield aside
        if replace and out.exists():
            out.rename(replaced)
        elif out.exists():
            out.rmdir()  # empty, as checked at the start
        aside.rename(out)
        shutil.rmtree(replaced, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def private_folder(folder: Path) -> None:
    """Create a private folder and its missing parents; an existing one is left unchanged.

    Raises:
        OSError: it cannot be created, or is a file.
    """
    try:
        folder.mkdir(mode=_OWN)
    except FileNotFoundError:
        private_folder(folder.parent)
        folder.mkdir(mode=_OWN, exist_ok=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
