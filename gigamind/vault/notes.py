"""Read a vault: a folder of Markdown notes, with an order and names that are the same on every platform."""

import contextlib
import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import cast

from gigamind.errors import NotesError
from gigamind.i18n import Message, _, joined, n_
from gigamind.vault.frontmatter import aliases, list_field, text_field
from gigamind.vault.markdown import Document, parse
from gigamind.vault.walk import DEFAULT_EXCLUDES, VaultFile, unreadable, walk

_TEMPLATE_SETTINGS = {
    "templates.json": "folder",
    "plugins/templater-obsidian/data.json": "templates_folder",
}


@dataclass(frozen=True, slots=True)
class Note:
    """A note."""

    path: str  # relative to the vault root, with "/" separators, NFC
    text: str  # the decoded file, unchanged: offsets count its byte order mark and CR LF
    title: str  # `title` of the frontmatter, otherwise the file name without suffix
    aliases: tuple[str, ...]
    tags: tuple[str, ...]  # of the frontmatter, without "#"
    language: str  # `lang` of the frontmatter, otherwise ""
    document: Document
    content_hash: str  # SHA-256 of the file's bytes, in hexadecimal

    @property
    def stem(self) -> str:
        """Return the file name without suffix."""
        return PurePosixPath(self.path).stem


@dataclass(frozen=True, slots=True)
class Vault:
    """All notes of a folder."""

    root: Path
    notes: tuple[Note, ...]  # in path order (code points)
    warnings: tuple[Message, ...]  # files left out or not readable as written, with paths

    def note(self, path: str) -> Note | None:
        """Return the note at exactly this path."""
        at = bisect_left(self.notes, path, key=lambda note: note.path)
        return self.notes[at] if at < len(self.notes) and self.notes[at].path == path else None


def read_vault(
    root: Path,
    exclude: Sequence[str] = (),
    progress: Callable[[int, int], object] = lambda _read, _all: None,
) -> Vault:
    """Read every `.md` file under `root`, except hidden ones, templates and what `exclude` names (see `walk`).

    `progress` gets (read files, all files).

    Raises:
        NotesError: the folder is missing or unreadable, or has no readable note.
    """
    walked = walk(root, (*DEFAULT_EXCLUDES, *exclude, ".*"))
    files: dict[str, VaultFile] = {}
    warnings = list(walked.warnings)
    templates = _template_folders(root)
    kept = [file for file in walked.files if not file.path.casefold().startswith(templates)]
    if skipped := len(walked.files) - len(kept):
        warnings.append(
            n_(
                "{n} file in the folder of templates is not read as a note ({folders})",
                "{n:,} files in the folders of templates are not read as notes ({folders})",
                n=skipped,
                folders=templates,
            )
        )
    for file in kept:
        if file.path in files:
            warnings.append(
                _(
                    "{file}: two files have this name in different Unicode forms; gigamind reads only one of them",
                    file=file.path,
                )
            )
        elif file.path.lower().endswith(".md"):
            files[file.path] = file
    if not files:
        raise NotesError(
            "{folder}: no Markdown notes. Give the folder that contains the *.md files.",
            folder=root,
        )
    notes: list[Note] = []
    for number, file in enumerate(files.values()):
        progress(number, len(files))
        try:
            note, problems = _read_note(file)
        except OSError as error:
            warnings.append(unreadable(file.path, error))
            continue
        notes.append(note)
        warnings += [_("{place}: {reason}", place=note.path, reason=reason) for reason in problems]
    if not notes:
        raise NotesError(joined(warnings))
    return Vault(root, tuple(notes), tuple(warnings))


def _template_folders(root: Path) -> tuple[str, ...]:
    """Return the folders of templates, case-folded and with "/": `templates`, and those that Obsidian is set to."""
    found = ["templates"]
    for file, name in _TEMPLATE_SETTINGS.items():
        with contextlib.suppress(OSError, ValueError, RecursionError):  # no such settings
            settings: object = json.loads((root / ".obsidian" / file).read_text("utf-8"))
            if isinstance(settings, dict):
                found.append(text_field(cast("dict[str, object]", settings), name))
    return tuple(f"{folder.strip('/').casefold()}/" for folder in found if folder.strip("/"))


def _read_note(file: VaultFile) -> tuple[Note, tuple[Message, ...]]:
    content = file.location.read_bytes()
    text, problems = _decoded(content)
    document = parse(text)
    fields = document.frontmatter
    tags = (tag for text in list_field(fields, "tags") for tag in re.split(r"[,\s]+", text))
    note = Note(
        path=file.path,
        text=text,
        title=text_field(fields, "title") or PurePosixPath(file.path).stem,
        aliases=aliases(fields),
        tags=tuple(dict.fromkeys(filter(None, (tag.removeprefix("#") for tag in tags)))),
        language=text_field(fields, "lang"),
        document=document,
        content_hash=content_hash(content),
    )
    return note, (*problems, *document.warnings)


def content_hash(content: bytes) -> str:
    """Return the hash of `Note.content_hash`."""
    return hashlib.sha256(content).hexdigest()


def _decoded(content: bytes) -> tuple[str, tuple[Message, ...]]:
    """Return a text in UTF-8, in UTF-16 with a byte order mark, or in the encoding that it most likely has."""
    try:
        return content.decode(), ()
    except UnicodeDecodeError as error:
        place = error.start
    from charset_normalizer import from_bytes  # most vaults need none

    replaced = content.decode(errors="replace")
    damaged = replaced.count("\ufffd")
    is_utf8 = sum(not char.isascii() for char in replaced) > 2 * damaged
    if not is_utf8 and (found := from_bytes(content).best()):
        problem = _(
            "is not UTF-8, and was read as {encoding}. Save the file as UTF-8.",
            encoding=found.encoding,
        )
        return content.decode(found.encoding), (problem,)
    problem = _(
        "invalid UTF-8 at byte {byte}, replaced by U+FFFD. Save the file as UTF-8.", byte=place
    )
    return replaced, (problem,)
