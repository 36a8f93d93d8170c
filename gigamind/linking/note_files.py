"""The files of a vault's notes as links are written into them: each put in its place whole or not at all."""

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Generator
from pathlib import Path

from gigamind.errors import NotesError, reason_of
from gigamind.runs.folders import whole_file
from gigamind.vault.walk import walk


class NoteFiles:
    """Finds, reads and writes the notes of a vault by their paths, as they are named in `Note`.

    Raises:
        NotesError: the vault cannot be read.
    """

    def __init__(self, root: Path) -> None:
        self._locations: dict[str, Path] = {}
        for file in walk(root).files:
            # Of two names that differ in their Unicode form alone, the first is the note.
            self._locations.setdefault(file.path, file.location)

    def read(self, path: str) -> bytes:
        """The bytes of a note.

        Raises:
            NotesError: it is gone, or cannot be read.
        """
        with as_notes_error(path):
            return self._location(path).read_bytes()

    def check_writable(self, path: str) -> None:
        """Refuse what a new file could be put in the place of, against the will of its owner.

        Raises:
            NotesError: it is a symbolic link, or read-only.
        """
        location = self._location(path)
        with as_notes_error(path):
            if location.is_symlink():
                raise NotesError(
                    f"{path}: is a symbolic link to {location.readlink()}, and links are written into files alone."
                    " Name that note."
                )
            bits = stat.S_IMODE(location.stat().st_mode) & 0o222
            if not bits or not os.access(location, os.W_OK):
                raise NotesError(f"{path}: is read-only. Allow writing it, and try again.")

    def replace(self, path: str, content: bytes) -> None:
        """Write a note: whoever reads it sees the old bytes or the new ones.

        Owner, permissions and extended attributes stay; the time of change is now.

        Raises:
            NotesError: it cannot be written; it is as it was.
        """
        location = self._location(path)
        # Short, for a name may be as long as the file system allows; *.tmp is in no vault, should it be left behind.
        aside = location.with_name(f".{secrets.token_hex(8)}.tmp")
        with as_notes_error(path), whole_file(location, aside) as target:
            _take_over(location, aside)  # the times are set anew by what follows
            target.write(content)

    def _location(self, path: str) -> Path:
        if path not in self._locations:
            raise NotesError(f"{path}: is not in the vault any more.")
        return self._locations[path]


def _take_over(old: Path, new: Path) -> None:
    if sys.platform != "win32":
        owner = old.stat()
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.chown(new, owner.st_uid, owner.st_gid)
    shutil.copystat(old, new)


@contextlib.contextmanager
def as_notes_error(what: str) -> Generator[None]:
    """What the operating system refuses, as an error of the notes."""
    try:
        yield
    except OSError as error:
        said = f"{what}: cannot be read or written ({reason_of(error)}), so it is left as it is."
        raise NotesError(said) from error


def content_hash(content: bytes) -> str:
    """As in `Note.content_hash`."""
    return hashlib.sha256(content).hexdigest()
