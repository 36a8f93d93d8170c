"""Writes notes that have got links: into a copy of their vault, or in place, so that it can be undone.

A note is written only while it is the file that was read.  In place, its old bytes are copied first, and what is put
into it goes into the undo file: a process that is killed has written no note that this file does not tell (`undo.py`).
"""

import contextlib
from collections.abc import Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Self

from gigamind.datasets.write import copy_vault
from gigamind.errors import NotesError
from gigamind.linking.insertion import LinkedNote
from gigamind.linking.note_files import NoteFiles, as_notes_error, content_hash
from gigamind.linking.undo import BACKUP, FOLDER, UNDO_FILE, undo_row
from gigamind.runs.store import Journal
from gigamind.vault.notes import Vault


def write_copy(
    vault: Vault, out: Path, linked: Sequence[LinkedNote]
) -> tuple[list[LinkedNote], list[NotesError]]:
    """Copy a vault, with the links; a note that cannot have them is copied as it is by now.

    The notes that have them, and why the others have not.

    Raises:
        NotesError: the vault cannot be read, or the copy not be written.
    """
    files = NoteFiles(vault.root)
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


class InPlaceWriter:
    """Writes into the notes of a vault.  Use it as a context manager; nothing is made before the first note is written.

    Attributes:
        undo_file: what `undo` takes; None before the first note.
    """

    def __init__(self, vault: Vault) -> None:
        self.undo_file: Path | None = None
        self._folder = vault.root.joinpath(*FOLDER)
        self._files = NoteFiles(vault.root)
        self._journal: Journal | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._journal is not None:
            self._journal.close()

    def write(self, linked: LinkedNote) -> None:
        """Write one note.

        Raises:
            NotesError: it was changed since it was read, or cannot be written; it is as it was.
            UnwrittenError: the undo file cannot be written, so the note is not.
        """
        path = linked.note.path
        self._files.check_writable(path)
        before = _unchanged_bytes(linked, self._files)
        if self.undo_file is None or self._journal is None:
            with as_notes_error(f"{path}: the undo file in {self._folder}"):
                self.undo_file = _new_folder(self._folder) / UNDO_FILE
            self._journal = Journal(self.undo_file, sync=True)
        backup = self.undo_file.parent / BACKUP / path
        with as_notes_error(f"{path}: its copy {backup}"):
            backup.parent.mkdir(parents=True, exist_ok=True)
            backup.write_bytes(before)
        self._journal.append(undo_row(linked).model_dump(mode="json"))
        self._files.replace(path, linked.text.encode())


def _unchanged_bytes(linked: LinkedNote, files: NoteFiles) -> bytes:
    """The bytes that the links are put into: those that were read.

    Raises:
        NotesError: they are others by now, or no valid UTF-8.
    """
    note = linked.note
    now = files.read(note.path)
    if content_hash(now) != note.content_hash:
        raise NotesError(f"{note.path}: was changed since it was read. Try again.")
    if note.text.encode() != now:
        raise NotesError(f"{note.path}: is not valid UTF-8. Save it as UTF-8, and try again.")
    return now


def _new_folder(parent: Path) -> Path:
    """A folder named by the time, made now."""
    parent.mkdir(parents=True, exist_ok=True)
    time = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    for name in (time if number == 1 else f"{time}-{number}" for number in count(1)):
        with contextlib.suppress(FileExistsError):
            (parent / name).mkdir()
            return parent / name
    raise AssertionError  # `count` has no end
