"""Restore the notes from before links were inserted, by a file that lists each note before it is written.

It is in `.gigamind/links/<time>/` of the vault, which readers of notes ignore, beside the original `notes`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from gigamind.errors import InputError, NotesError
from gigamind.i18n import _
from gigamind.linking.note_files import NoteFiles, as_notes_error, content_hash
from gigamind.runs.store import read_journal
from gigamind.vault.identity import leaves_vault

FOLDER = (".gigamind", "links")
UNDO_FILE, BACKUP = "undo.jsonl", "notes"
_UNDO_PLACE = f"{'/'.join(FOLDER)}/<time>/{UNDO_FILE}"


class UndoRow(BaseModel):
    """A line of an undo file: a note that was about to be written; `before` and `after` are SHA-256 of its file."""

    model_config = ConfigDict(frozen=True)  # files of older versions also list the links

    note: str  # path, relative to the vault
    before: str
    after: str


class Undone(NamedTuple):
    """The result for the notes of an undo file, each once."""

    restored: tuple[str, ...]  # have their original bytes again
    untouched: tuple[str, ...]  # already had them
    problems: tuple[NotesError, ...]  # unchanged, with the reason


def undo(file: Path) -> Undone:
    """Restore every note that has not changed since links were inserted, byte by byte; it can be repeated after a kill.

    Raises:
        InputError: the file is not an undo file, or not in its original place.
        NotesError: the vault cannot be read.
    """
    root, rows = _vault_of(file), list(_rows(file))
    files = NoteFiles(root)
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
    return Undone(tuple(restored), tuple(untouched), tuple(problems))


def _restore(row: UndoRow, files: NoteFiles, backup: Path) -> bool:
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
    with as_notes_error(_("{note}: the backup copy {file}", note=row.note, file=backup)):
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
    if place.name != UNDO_FILE or place.parts[-4:-2] != FOLDER:
        raise InputError(
            "--undo {file}: the undo file must be in its original place VAULT/{place}, because its paths are"
            " relative to the vault. Move the file back.",
            file=file,
            place=_UNDO_PLACE,
        )
    return place.parents[3]


def _rows(file: Path) -> Iterator[UndoRow]:
    for number, fields in enumerate(read_journal(file), start=1):
        try:
            row = UndoRow.model_validate(fields)
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
