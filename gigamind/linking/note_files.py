"""Read and write the files of a vault's notes atomically."""

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
from gigamind.i18n import Text
from gigamind.runs.folders import whole_file
from gigamind.vault.walk import walk


class NoteFiles:
    """Finds, reads and writes the notes of a vault by the paths of `Note`.

    Raises:
        NotesError: the vault cannot be read.
    """

    def __init__(self, root: Path) -> None:
        self._locations: dict[str, Path] = {}
        for file in walk(root).files:
            # Of two names that differ only in their Unicode form, the first is the note.
            self._locations.setdefault(file.path, file.location)

    def read(self, path: str) -> bytes:
        """Return the bytes of a note.

        Raises:
            NotesError: it is gone, or cannot be read.
        """
        with as_notes_error(path):
            return self._location(path).read_bytes()

    def check_writable(self, path: str) -> None:
        """Refuse notes that must not be replaced by a new file.

        Raises:
            NotesError: it is a symbolic link, or read-only.
        """
        location = self._location(path)
        with as_notes_error(path):
            if location.is_symlink():
                raise NotesError(
                    "{note}: is a symbolic link to {target}. gigamind inserts links only into regular files;"
                    " name the target note instead.",
                    note=path,
                    target=location.readlink(),
                )
            bits = stat.S_IMODE(location.stat().st_mode) & 0o222
            if not bits or not os.access(location, os.W_OK):
                raise NotesError(
                    "{note}: is read-only. Make it writable, and try again.", note=path
                )

    def replace(self, path: str, content: bytes) -> None:
        """Write a note atomically; owner, permissions and extended attributes stay.

        Raises:
            NotesError: it cannot be written; it is unchanged.
        """
        location = self._location(path)
        # Short, as a name may have the maximum length already; vaults ignore *.tmp files that are left behind.
        aside = location.with_name(f".{secrets.token_hex(8)}.tmp")
        with as_notes_error(path), whole_file(location, aside) as target:
            if sys.platform != "win32":
                owner = location.stat()
                with contextlib.suppress(PermissionError):  # only root gives files away
                    os.chown(aside, owner.st_uid, owner.st_gid)
            shutil.copystat(location, aside)  # writing then updates the times
            target.write(content)

    def _location(self, path: str) -> Path:
        if path not in self._locations:
            raise NotesError("{note}: no longer in the vault", note=path)
        return self._locations[path]


@contextlib.contextmanager
def as_notes_error(what: Text) -> Generator[None]:
    """Convert errors of the operating system to errors of the notes."""
    try:
        yield
    except OSError as error:
        raise NotesError(
            "{file}: cannot be read or written ({reason}). The note is unchanged.",
            file=what,
            reason=reason_of(error),
        ) from error


def content_hash(content: bytes) -> str:
    """Return the hash of `Note.content_hash`."""
    return hashlib.sha256(content).hexdigest()
