"""Takes links out of notes again, by a file that says what was put into each.

An undo file stands in `.gigamind/links/<time>/` of the vault, where no reader of notes looks, with the notes as they
were in `notes` beside it.  Its lines are `UndoRow`s, each written before its note is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from gigamind.datasets.schema import AnchorRange
from gigamind.errors import InputError, NotesError
from gigamind.linking.insertion import LinkedNote
from gigamind.linking.note_files import NoteFiles, content_hash
from gigamind.runs.store import read_journal
from gigamind.spans import Span, Utf16
from gigamind.vault.identity import leaves_vault

FOLDER = (".gigamind", "links")
UNDO_FILE, BACKUP = "undo.jsonl", "notes"


class UndoEdit(BaseModel):
    """One link in a note.

    Attributes:
        range: where it stands in the note as written, in UTF-16 code units.
        link: what was put there.
        anchor: what stood there before.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    range: AnchorRange
    link: str
    anchor: str


class UndoRow(BaseModel):
    """A line of an undo file: a note that was to be written.

    Attributes:
        note: path, relative to the vault.
        before: SHA-256 of the file without the links, in hexadecimal.
        after: of the file with them.
        edits: in the order of the text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str
    before: str
    after: str
    edits: tuple[UndoEdit, ...]


def undo_row(linked: LinkedNote) -> UndoRow:
    """What is to be known before the note is written."""
    return UndoRow(
        note=linked.note.path,
        before=linked.note.content_hash,
        after=content_hash(linked.text.encode()),
        edits=tuple(_edits(linked)),
    )


def _edits(linked: LinkedNote) -> Iterator[UndoEdit]:
    units = Utf16(linked.text)
    grown = 0
    for insertion in linked.insertions:
        start = insertion.span.start + grown
        grown += len(insertion.link) - len(insertion.span)
        first, end = units.span_from_code_points(Span(start, start + len(insertion.link)))
        yield UndoEdit(
            range=AnchorRange(start=first, end=end),
            link=insertion.link,
            anchor=insertion.suggestion.anchor,
        )


class Undone(NamedTuple):
    """What became of the notes of an undo file, each once.

    Attributes:
        restored: have their old bytes again.
        untouched: had them already.
        problems: what was left as it is, and why.
    """

    restored: tuple[str, ...]
    untouched: tuple[str, ...]
    problems: tuple[NotesError, ...]


def undo(file: Path) -> Undone:
    """Restore every note that has not been changed since links were written into it, byte by byte.

    It may be done again, say after it was killed: a note that has its old bytes is left alone.

    Raises:
        InputError: the file is no undo file, or stands elsewhere than where it was written.
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
    """Whether there was anything to restore."""
    now = files.read(row.note)
    if content_hash(now) == row.before:
        return False
    if content_hash(now) != row.after:
        raise NotesError(
            f"{row.note}: was changed since the links were written, so it is left as it is."
            f" As it was before, it stands in {backup}."
        )
    files.check_writable(row.note)
    before = _without_links(now.decode(), row.edits)
    if before is None or content_hash(before.encode()) != row.before:
        raise NotesError(
            f"{row.note}: its line of the undo file was changed by hand, so it is left as it is."
            f" As it was before, it stands in {backup}."
        )
    files.replace(row.note, before.encode())
    return True


def _without_links(text: str, edits: Sequence[UndoEdit]) -> str | None:
    """The text with each link's words in its place; None where a range cannot be."""
    units = Utf16(text)
    pieces: list[str] = []
    done = 0
    for edit in edits:
        try:
            span = units.span_to_code_points(edit.range.start, edit.range.end)
        except ValueError:
            return None
        pieces += [text[done : span.start], edit.anchor]
        done = span.end
    return "".join([*pieces, text[done:]])


def _vault_of(file: Path) -> Path:
    """The vault in whose folder the undo file stands."""
    if not file.is_file():
        raise InputError(
            f"--undo {file}: no such file. It is {'/'.join(FOLDER)}/<time>/{UNDO_FILE} in the vault."
        )
    place = file.resolve()
    if place.name != UNDO_FILE or place.parts[-4:-2] != FOLDER:
        raise InputError(
            f"--undo {file}: must stand where it was written, VAULT/{'/'.join(FOLDER)}/<time>/{UNDO_FILE},"
            " for its paths are those of that vault. Put it back."
        )
    return place.parents[3]


def _rows(file: Path) -> Iterator[UndoRow]:
    for number, fields in enumerate(read_journal(file), start=1):
        try:
            row = UndoRow.model_validate(fields)
        except ValidationError as error:
            raise InputError(
                f"{file}:{number}: no line of an undo file; it was changed by hand"
            ) from error
        if leaves_vault(row.note):
            raise InputError(f"{file}:{number}: {row.note} leaves the vault")
        yield row
