"""Write a dataset as JSON lines, and the copy of its vault, each completely or not at all."""

import contextlib
import os
import shutil
from collections.abc import Collection, Generator, Iterable, Mapping
from pathlib import Path

from gigamind.datasets.schema import Row
from gigamind.errors import EvaluationError, InputError, NotesError, reason_of
from gigamind.runs.folders import whole_file, whole_folder


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write one line per row, without fields that have no value; EvaluationError if it cannot be written."""
    write_lines(path, (row.json_line() for row in rows))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write rows that are already JSON text; EvaluationError if the file cannot be written."""
    write_text(path, "".join(line + "\n" for line in lines))


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all; EvaluationError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise EvaluationError(
            "{file}: cannot be written ({reason})", file=path, reason=reason_of(error)
        ) from error


def refuse_places(
    notes: Path, out_notes: Path, dataset: Path, *, option: str = "--dataset"
) -> None:
    """Raise InputError, before any work, if a vault or a file would be overwritten; `option` names the dataset."""
    refuse_copy(notes, out_notes, option="--out-notes")
    rows = dataset.resolve()
    if any(rows.is_relative_to(place.resolve()) for place in (notes, out_notes)):
        raise InputError(
            "{option} {file}: is inside a vault. Name a file outside it.",
            option=option,
            file=dataset,
        )
    refuse_existing_file(option, dataset)


def refuse_copy(notes: Path, out: Path, *, option: str) -> None:
    """Raise InputError if a copy of a vault to `out`, which `option` names, would overlap the vault or files."""
    vault, copy = notes.resolve(), out.resolve()
    if copy.is_relative_to(vault) or vault.is_relative_to(copy):
        raise InputError(
            "{option} {folder}: overlaps the vault {vault}, which gigamind never changes. Name a folder"
            " outside the vault.",
            option=option,
            folder=out,
            vault=notes,
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(
            "{option} {folder}: exists already and is not an empty folder. Name a new folder, or remove this one.",
            option=option,
            folder=out,
        )


def refuse_existing_file(option: str, path: Path) -> None:
    """Raise InputError if a dataset would replace a file, which may contain hours of labelling."""
    if path.exists():
        raise InputError(
            "{option} {file}: exists already. Name a new file, or remove this one.",
            option=option,
            file=path,
        )


@contextlib.contextmanager
def copy_vault(
    root: Path, out: Path, changed: Mapping[str, str], without: Collection[str] = ()
) -> Generator[dict[str, Path]]:
    """Copy every file that `walk` finds; the block gets path -> file of the copied notes before they move to `out`.

    Notes are copied, with the text in `changed`; attachments are hard links if the file system allows.

    Raises:
        NotesError: something cannot be read or written.
    """
    from gigamind.vault.notes import walk  # loads the parser of Markdown

    try:
        with whole_folder(out) as aside:
            notes: dict[str, Path] = {}
            for file in walk(root).files:
                if file.path in without:
                    continue
                place = aside / file.location.relative_to(root)
                place.parent.mkdir(parents=True, exist_ok=True)
                if file.path in changed:
                    place.write_bytes(changed[file.path].encode())
                else:
                    _copy(file.location, place)
                notes[file.path] = place
            yield notes
    except OSError as error:
        raise NotesError(
            "{vault}: cannot be copied to {folder} ({reason})",
            vault=root,
            folder=out,
            reason=reason_of(error),
        ) from error


def _copy(source: Path, place: Path) -> None:
    if source.suffix.lower() != ".md" and not source.is_symlink():
        with contextlib.suppress(OSError):  # another disk, or a file system without links
            os.link(source, place)
            return
    shutil.copyfile(source, place)
