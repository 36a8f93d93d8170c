"""How files are written whole; and folders of caches and stores, for the user alone who runs gigamind.

They hold texts of notes and replies.
"""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_OWN = 0o700
_OWN_FILE = 0o600


@contextmanager
def private_file(place: Path) -> Generator[Path]:
    """Where to write a file that nobody else can read: it takes its place whole once that is done, or not at all.

    Raises:
        OSError: it cannot be made.
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
def whole_file(place: Path, aside: Path) -> Generator[BinaryIO]:
    """A new file `aside` to write to, which takes the place of another whole once it is on the disk, or not at all.

    Raises:
        OSError: it cannot be made.
    """
    try:
        with aside.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        aside.replace(place)
    finally:
        aside.unlink(missing_ok=True)


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, that nobody else can open; one that is there stays as it is.

    Raises:
        OSError: it cannot be made, or is a file.
    """
    try:
        folder.mkdir(mode=_OWN)
    except FileNotFoundError:
        private_folder(folder.parent)
        folder.mkdir(mode=_OWN, exist_ok=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
