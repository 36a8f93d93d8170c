"""Write notes with new links: into a copy of their vault, or in place, with a file to undo it (`undo.py`).

A note is written only if it is still the file that was read, and in place only after its old bytes are recorded.
"""

import contextlib
from collections.abc import Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Self

from gigamind.datasets.write import copy_vault
from gigamind.errors import NotesError
from gigamind.i18n import _
from gigamind.linking.insertion import LinkedNote
from gigamind.linking.note_files import NoteFiles, as_notes_error, content_hash
from gigamind.linking.undo import BACKUP, FOLDER, UNDO_FILE, UndoRow
from gigamind.runs.store import Journal
from gigamind.vault.notes import Vault


def write_copy(
    vault: Vault, out: Path, linked: Sequence[LinkedNote]
) -> tuple[list[LinkedNote], list[NotesError]]:
    """Copy a vault with the links; return the notes that have them and the errors of the others, copied unchanged.

    Raises:
        NotesError: the vault cannot be read, or the copy cannot be written.
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
    """Writes into the notes of a vault, and `undo_file` from the first note on. Use it as a context manager."""

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
            NotesError: it has changed since it was read, or cannot be written; it is unchanged.
            UnwrittenError: the undo file cannot be written; the note is unchanged.
        """
        path = linked.note.path
        self._files.check_writable(path)
        before = _unchanged_bytes(linked, self._files)
        if self.undo_file is None or self._journal is None:
            with as_notes_error(
                _("{note}: the undo file in {folder}", note=path, folder=self._folder)
            ):
                self.undo_file = _new_folder(self._folder) / UNDO_FILE
            self._journal = Journal(self.undo_file, sync=True)
        backup = self.undo_file.parent / BACKUP / path
        with as_notes_error(_("{note}: the backup copy {file}", note=path, file=backup)):
            backup.parent.mkdir(parents=True, exist_ok=True)
            backup.write_bytes(before)
        content = linked.text.encode()
        row = UndoRow(note=path, before=linked.note.content_hash, after=content_hash(content))
        self._journal.append(row.model_dump())
        self._files.replace(path, content)


def _unchanged_bytes(linked: LinkedNote, files: NoteFiles) -> bytes:
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
