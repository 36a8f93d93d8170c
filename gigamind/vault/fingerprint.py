"""`notes_hash`: whether two runs saw the same vault."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from gigamind.errors import NotesError
from gigamind.vault.walk import DEFAULT_EXCLUDES, VaultFile, walk

HashMode = Literal["content", "mtime"]


def notes_hash(root: Path, mode: HashMode = "content", exclude: Sequence[str] = ()) -> str:
    """SHA-256, in hexadecimal, of all files of a vault, attachments too, in path order.

    "content" covers paths and bytes; "mtime" covers paths and modification times in nanoseconds.  `exclude` adds
    patterns (see `walk`) to the default ones.

    Raises:
        NotesError: the folder is missing, or something in it cannot be read.
    """
    total = hashlib.sha256(mode.encode())
    for file in walk(root, (*DEFAULT_EXCLUDES, *exclude)).files:
        path = file.path.encode()
        # The length keeps a byte from moving between path and content unseen.
        total.update(len(path).to_bytes(8, "big") + path + _state(file, mode))
    return total.hexdigest()


def _state(file: VaultFile, mode: HashMode) -> bytes:
    try:
        if mode == "mtime":
            return file.location.stat().st_mtime_ns.to_bytes(16, "big", signed=True)
        with file.location.open("rb") as content:
            return hashlib.file_digest(content, "sha256").digest()
    except OSError as error:
        raise NotesError(
            f"{file.path}: cannot be read ({error.strerror}). Check its permissions."
        ) from error
