"""Write notes with new links: into a copy of their vault, or in place, with a file to undo it (`undo`).

A note is written only if it is still the file that was read, and in place only after its old bytes are recorded.
"""

import contextlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Generator, Iterator, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from gigamind.datasets.write import copy_vault
from gigamind.errors import InputError, NotesError, reason_of
from gigamind.i18n import Text, _
from gigamind.linking.insertion import LinkedNote
from gigamind.runs.folders import whole_file
from gigamind.runs.store import Journal, read_journal
from gigamind.vault.identity import leaves_vault
from gigamind.vault.notes import Vault, content_hash, walk


class _NoteFiles:
    """Finds, reads and writes the notes of a vault by the paths of `Note`.

    Raises:
        NotesError: the vault cannot be read.
    """

    def __init__(self, root: Path) -> None:
        # Of two names that differ only in their Unicode form, the first is the note.
        self._locations = {file.path: file.location for file in reversed(walk(root).files)}

    def read(self, path: str) -> bytes:
        """Return the bytes of a note; NotesError if it is gone, or cannot be read."""
        with _as_notes_error(path):
            return self._location(path).read_bytes()

    def check_writable(self, path: str) -> None:
        """Raise NotesError for a symbolic link or a read-only note, which must not be replaced by a new file."""
        location = self._location(path)
        with _as_notes_error(path):
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
        with _as_notes_error(path), whole_file(location, aside) as target:
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
def _as_notes_error(what: Text) -> Generator[None]:
    """Convert errors of the operating system to errors of the notes."""
    try:
        yield
    except OSError as error:
        raise NotesError(
            "{file}: cannot be read or written ({reason}). The note is unchanged.",
            file=what,
            reason=reason_of(error),
        ) from error


_FOLDER = (".gigamind", "links")
UNDO_FILE, BACKUP = "undo.jsonl", "notes"
_UNDO_PLACE = f"{'/'.join(_FOLDER)}/<time>/{UNDO_FILE}"


class _UndoRow(BaseModel):
    """A line of an undo file: a note that was about to be written; `before` and `after` are SHA-256 of its file."""

    model_config = ConfigDict(frozen=True)  # files of older versions also list the links

    note: str  # path, relative to the vault
    before: str
    after: str


class _Undone(NamedTuple):
    """The result for the notes of an undo file, each once."""

    restored: tuple[str, ...]  # have their original bytes again
    untouched: tuple[str, ...]  # already had them
    problems: tuple[NotesError, ...]  # unchanged, with the reason


def undo(file: Path) -> _Undone:
    """Restore every note that has not changed since links were inserted, byte by byte; it can be repeated after a kill.

    Raises:
        InputError: the file is not an undo file, or not in its original place.
        NotesError: the vault cannot be read.
    """
    root, rows = _vault_of(file), list(_rows(file))
    files = _NoteFiles(root)
    restored: list[str] = []
    untouched: list[str] = []
    problems: list[NotesError] = []
    for row in rows:
        try:
            wrote = _restore(row, files, file.parent / BACKUP / row.note)
        except NotesError as error:
            problems.append(error)
        else:
            (restored if wrote else untouched).append(row.note)
    return _Undone(tuple(restored), tuple(untouched), tuple(problems))


def _restore(row: _UndoRow, files: _NoteFiles, backup: Path) -> bool:
    now = files.read(row.note)
    if content_hash(now) == row.before:
        return False
    if content_hash(now) != row.after:
        raise NotesError(
            "{note}: the note changed after the links were inserted, so gigamind did not restore it. The"
            " original note is in {file}.",
            note=row.note,
            file=backup,
        )
    files.check_writable(row.note)
    with _as_notes_error(_("{note}: the backup copy {file}", note=row.note, file=backup)):
        before = backup.read_bytes()
    if content_hash(before) != row.before:
        raise NotesError(
            "{note}: its backup copy {file} is not the original note, so gigamind did not restore it.",
            note=row.note,
            file=backup,
        )
    files.replace(row.note, before)
    return True


def _vault_of(file: Path) -> Path:
    if not file.is_file():
        raise InputError(
            "--undo {file}: no such file. gigamind stores undo files as VAULT/{place}.",
            file=file,
            place=_UNDO_PLACE,
        )
    place = file.resolve()
    if place.name != UNDO_FILE or place.parts[-4:-2] != _FOLDER:
        raise InputError(
            "--undo {file}: the undo file must be in its original place VAULT/{place}, because its paths are"
            " relative to the vault. Move the file back.",
            file=file,
            place=_UNDO_PLACE,
        )
    return place.parents[3]


def _rows(file: Path) -> Iterator[_UndoRow]:
    for number, fields in enumerate(read_journal(file), start=1):
        try:
            row = _UndoRow.model_validate(fields)
        except ValidationError as error:
            raise InputError(
                "{file}:{line}: invalid line; the undo file was edited or damaged",
                file=file,
                line=number,
            ) from error
        if leaves_vault(row.note):
            raise InputError(
                "{file}:{line}: {note} is outside the vault", file=file, line=number, note=row.note
            )
        yield row


def write_copy(
    vault: Vault, out: Path, linked: Sequence[LinkedNote]
) -> tuple[list[LinkedNote], list[NotesError]]:
    """Copy a vault with the links; return the notes that have them and the errors of the others, copied unchanged.

    Raises:
        NotesError: the vault cannot be read, or the copy cannot be written.
    """
    files = _NoteFiles(vault.root)
    written: list[LinkedNote] = []
    problems: list[NotesError] = []
    for note in linked:
        try:
            _unchanged_bytes(note, files)
        except NotesError as error:
            problems.append(error)
        else:
            written.append(note)
    with copy_vault(vault.root, out, {note.note.path: note.text for note in written}):
        return written, problems


class InPlaceWriter(contextlib.AbstractContextManager["InPlaceWriter"]):
    """Writes into the notes of a vault, and `undo_file` from the first note on. Use it as a context manager."""

    def __init__(self, vault: Vault) -> None:
        self.undo_file: Path | None = None
        self._folder = vault.root.joinpath(*_FOLDER)
        self._files = _NoteFiles(vault.root)
        self._journal: Journal | None = None

    def __exit__(self, *error: object) -> None:
        if self._journal is not None:
            self._journal.close()

    def write(self, linked: LinkedNote) -> None:
        """Write one note.

        Raises:
            NotesError: it has changed since it was read, or cannot be written; it is unchanged.
            UnwrittenError: the undo file cannot be written; the note is unchanged.
        """
        path = linked.note.path
        self._files.check_writable(path)
        before = _unchanged_bytes(linked, self._files)
        if self.undo_file is None or self._journal is None:
            with _as_notes_error(
                _("{note}: the undo file in {folder}", note=path, folder=self._folder)
            ):
                self.undo_file = _new_folder(self._folder) / UNDO_FILE
            self._journal = Journal(self.undo_file, sync=True)
        backup = self.undo_file.parent / BACKUP / path
        with _as_notes_error(_("{note}: the backup copy {file}", note=path, file=backup)):
            backup.parent.mkdir(parents=True, exist_ok=True)
            backup.write_bytes(before)
        content = linked.text.encode()
        row = _UndoRow(note=path, before=linked.note.content_hash, after=content_hash(content))
        self._journal.append(row.model_dump())
        self._files.replace(path, content)


def _unchanged_bytes(linked: LinkedNote, files: _NoteFiles) -> bytes:
    """Return the bytes of a note if they are still those that the links are inserted into."""
    note = linked.note
    now = files.read(note.path)
    if content_hash(now) != note.content_hash:
        raise NotesError(
            "{note}: the note changed after gigamind read it. Run the command again.",
            note=note.path,
        )
    if note.text.encode() != now:
        raise NotesError(
            "{note}: not valid UTF-8. Save it as UTF-8, and try again.", note=note.path
        )
    return now


def _new_folder(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    time = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    for name in (time if number == 1 else f"{time}-{number}" for number in count(1)):
        with contextlib.suppress(FileExistsError):
            (parent / name).mkdir()
            return parent / name
    raise AssertionError  # `count` has no end
