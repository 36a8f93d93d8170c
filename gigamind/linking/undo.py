"""Remove links from notes again, using a file that records every insertion before its note is written.

It is in `.gigamind/links/<time>/` of the vault, which readers of notes ignore, beside the original `notes`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from gigamind.datasets.schema import AnchorRange
from gigamind.errors import InputError, NotesError
from gigamind.i18n import _
from gigamind.linking.insertion import LinkedNote
from gigamind.linking.note_files import NoteFiles, content_hash
from gigamind.runs.store import read_journal
from gigamind.spans import Span, Utf16, spliced
from gigamind.vault.identity import leaves_vault

FOLDER = (".gigamind", "links")
UNDO_FILE, BACKUP = "undo.jsonl", "notes"
_UNDO_PLACE = f"{'/'.join(FOLDER)}/<time>/{UNDO_FILE}"


class UndoEdit(BaseModel):
    """A link in a note."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    range: AnchorRange  # in the note as written, in UTF-16 code units
    link: str  # inserted text
    anchor: str  # original text


class UndoRow(BaseModel):
    """A line of an undo file: a note that was about to be written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str  # path, relative to the vault
    before: str  # SHA-256 of the file without the links, in hexadecimal
    after: str  # of the file with them
    edits: tuple[UndoEdit, ...]  # in the order of the text


def undo_row(linked: LinkedNote) -> UndoRow:
    """Return the row to record before the note is written."""
    units = Utf16(linked.text)
    edits: list[UndoEdit] = []
    grown = 0
    for insertion in linked.insertions:
        start = insertion.span.start + grown
        grown += len(insertion.link) - len(insertion.span)
        first, end = units.span_from_code_points(Span(start, start + len(insertion.link)))
        place, anchor = AnchorRange(start=first, end=end), insertion.suggestion.anchor
        edits.append(UndoEdit(range=place, link=insertion.link, anchor=anchor))
    return UndoRow(
        note=linked.note.path,
        before=linked.note.content_hash,
        after=content_hash(linked.text.encode()),
        edits=tuple(edits),
    )


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
            _(
                "{note}: the note changed after the links were inserted, so gigamind did not restore it. The"
                " original note is in {file}.",
                note=row.note,
                file=backup,
            )
        )
    files.check_writable(row.note)
    before = _without_links(now.decode(), row.edits)
    if before is None or content_hash(before.encode()) != row.before:
        raise NotesError(
            _(
                "{note}: the line for this note in the undo file was edited, so gigamind did not restore the note."
                " The original note is in {file}.",
                note=row.note,
                file=backup,
            )
        )
    files.replace(row.note, before.encode())
    return True


def _without_links(text: str, edits: Sequence[UndoEdit]) -> str | None:
    """Return the text with each link replaced by its words; None if a range is invalid."""
    units = Utf16(text)
    try:
        spans = [units.span_to_code_points(edit.range.start, edit.range.end) for edit in edits]
    except ValueError:
        return None
    return spliced(text, zip(spans, (edit.anchor for edit in edits), strict=True))


def _vault_of(file: Path) -> Path:
    if not file.is_file():
        raise InputError(
            _(
                "--undo {file}: no such file. gigamind stores undo files as VAULT/{place}.",
                file=file,
                place=_UNDO_PLACE,
            )
        )
    place = file.resolve()
    if place.name != UNDO_FILE or place.parts[-4:-2] != FOLDER:
        raise InputError(
            _(
                "--undo {file}: the undo file must be in its original place VAULT/{place}, because its paths are"
                " relative to the vault. Move the file back.",
                file=file,
                place=_UNDO_PLACE,
            )
        )
    return place.parents[3]


def _rows(file: Path) -> Iterator[UndoRow]:
    for number, fields in enumerate(read_journal(file), start=1):
        try:
            row = UndoRow.model_validate(fields)
        except ValidationError as error:
            raise InputError(
                _(
                    "{file}:{line}: invalid line; the undo file was edited or damaged",
                    file=file,
                    line=number,
                )
            ) from error
        if leaves_vault(row.note):
            raise InputError(
                _(
                    "{file}:{line}: {note} is outside the vault",
                    file=file,
                    line=number,
                    note=row.note,
                )
            )
        yield row
