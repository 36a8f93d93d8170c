"""Read or hash a vault: a folder of Markdown notes, with an order and names that are the same on every platform."""

import contextlib
import hashlib
import json
import os
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal, Self, cast

from gigamind.errors import NotesError, reason_of
from gigamind.i18n import Message, Text, _, joined, n_
from gigamind.vault.frontmatter import aliases, list_field, text_field
from gigamind.vault.markdown import Document

DEFAULT_EXCLUDES = (".git/", ".gigamind/", "node_modules/", ".DS_Store", "*.tmp", "*.swp")
_EVALUATION = "eval"  # default folder of datasets and results; only its notes count
# Files that occur only in folders of results.
_RESULTS = ({"run.json", "per_item.jsonl"}, {"judge_card.json"})
# How Python represents the bytes of a name that is not UTF-8.
_UNDECODABLE = re.compile("[\udc80-\udcff]")
_TEMPLATE_SETTINGS = {
    "templates.json": "folder",
    "plugins/templater-obsidian/data.json": "templates_folder",
}


@dataclass(frozen=True, slots=True)
class _VaultFile:
    """A file of a vault."""

    path: str  # relative to the root, with "/" separators, NFC
    location: Path  # path to open; its name may be in another Unicode form


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

    @classmethod
    def read(
        cls,
        root: Path,
        exclude: Sequence[str] = (),
        progress: Callable[[int, int], object] = lambda _read, _all: None,
    ) -> Self:
        """Read every `.md` file under `root`, except hidden ones, templates and what `exclude` names (see `walk`).

        `progress` gets (read files, all files).

        Raises:
            NotesError: the folder is missing or unreadable, or has no readable note.
        """
        walked = walk(root, (*DEFAULT_EXCLUDES, *exclude, ".*"))
        files: dict[str, _VaultFile] = {}
        warnings = list(walked.warnings)
        templates = _template_folders(root)
        kept = [file for file in walked.files if not file.path.casefold().startswith(templates)]
        if skipped := len(walked.files) - len(kept):
            warning = n_(
                "{n} file in the folder of templates is not read as a note ({folders})",
                "{n:,} files in the folders of templates are not read as notes ({folders})",
                n=skipped,
                folders=templates,
            )
            warnings.append(warning)
        for file in kept:
            if file.path in files:
                warning = _(
                    "{file}: two files have this name in different Unicode forms; gigamind reads only one of them",
                    file=file.path,
                )
                warnings.append(warning)
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
                warnings.append(_unreadable(file.path, error))
                continue
            notes.append(note)
            warnings += [_("{place}: {reason}", place=note.path, reason=why) for why in problems]
        if not notes:
            raise NotesError(joined(warnings))
        return cls(root, tuple(notes), tuple(warnings))


def _template_folders(root: Path) -> tuple[str, ...]:
    """Return the folders of templates, case-folded and with "/": `templates`, and those that Obsidian is set to."""
    found = ["templates"]
    for file, name in _TEMPLATE_SETTINGS.items():
        with contextlib.suppress(OSError, ValueError, RecursionError):  # no such settings
            settings: object = json.loads((root / ".obsidian" / file).read_text("utf-8"))
            if isinstance(settings, dict):
                found.append(text_field(cast("dict[str, object]", settings), name))
    return tuple(f"{folder.strip('/').casefold()}/" for folder in found if folder.strip("/"))


def _read_note(file: _VaultFile) -> tuple[Note, tuple[Message, ...]]:
    content = file.location.read_bytes()
    text, problems = _decoded(content)
    document = Document.parse(text)
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


@dataclass(frozen=True, slots=True)
class _Walk:
    """The files of a vault in path order (code points), and warnings about files left out."""

    files: tuple[_VaultFile, ...]
    warnings: tuple[Message, ...]


def walk(root: Path, exclude: Sequence[str] = DEFAULT_EXCLUDES) -> _Walk:
    """Return every regular file under `root` that no pattern excludes.

    A pattern is a glob: "name" matches files and folders of that name at any depth, "name/" only folders. A pattern
    with "/" inside or in front matches the path from the root ("drafts/*.md", "/eval", "**" for any folders).
    Links to folders are not followed, links to files only within the vault. Results of gigamind are excluded: in a
    folder named "eval" only Markdown counts, and a folder with a run is skipped.

    Raises:
        NotesError: the root is not a folder, or cannot be read.
    """
    warnings: list[Message] = []
    globs = [_Glob.of(unicodedata.normalize("NFC", pattern)) for pattern in exclude]
    files = sorted(_files(root, globs, warnings), key=lambda file: (file.path, str(file.location)))
    return _Walk(tuple(files), tuple(sorted(warnings)))


@dataclass(frozen=True, slots=True)
class _Glob:
    parts: tuple[str, ...]
    anywhere: bool
    folders_only: bool

    @classmethod
    def of(cls, pattern: str) -> Self:
        bare = pattern.rstrip("/")
        parts = tuple(part for part in bare.split("/") if part)
        return cls(parts, anywhere="/" not in bare, folders_only=pattern.endswith("/"))

    def match(self, path: Sequence[str], *, folder: bool) -> bool:
        if not self.parts or (self.folders_only and not folder):
            return False
        return _match(path[-1:] if self.anywhere else path, self.parts)


def _match(path: Sequence[str], globs: Sequence[str]) -> bool:
    if not globs:
        return not path
    if globs[0] == "**":
        return any(_match(path[skip:], globs[1:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], globs[0]) and _match(path[1:], globs[1:])


def _files(root: Path, excludes: Sequence[_Glob], warnings: list[Message]) -> Iterator[_VaultFile]:
    """Yield the files of every folder under `root`; an explicit stack avoids Python's recursion limit."""
    pending = [(root, "")]
    real_root = root.resolve()
    while pending:
        location, prefix = pending.pop()
        try:
            entries = _entries(location)
        except NotesError as error:
            if not prefix:
                raise
            warnings.append(joined([error.message]))
            continue
        if prefix and any(names <= {entry.name for entry in entries} for names in _RESULTS):
            continue
        only_notes = _EVALUATION in prefix.split("/")
        for entry in entries:
            path = prefix + unicodedata.normalize("NFC", entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if only_notes and not is_folder and not path.lower().endswith(".md"):
                continue
            if any(glob.match(path.split("/"), folder=is_folder) for glob in excludes):
                continue
            problem = _problem(entry, real_root)
            if problem:
                shown = path.encode(errors="backslashreplace").decode()
                warnings.append(_("{place}: {reason}", place=shown, reason=problem))
            elif is_folder:
                pending.append((Path(entry.path), path + "/"))
            else:
                yield _VaultFile(path, Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError as error:
        raise NotesError(
            "{folder}: no such folder. Give the folder that contains the notes.", folder=folder
        ) from error
    except NotADirectoryError as error:
        raise NotesError(
            "{folder}: not a folder. Give the folder that contains the notes.", folder=folder
        ) from error
    except OSError as error:
        raise NotesError(_unreadable(folder, error)) from error


def _unreadable(what: Path | str, error: OSError) -> Message:
    """Return the message for a folder or file of a vault that cannot be read."""
    return _(
        "{file}: cannot be read ({reason}). Check the permissions.",
        file=what,
        reason=reason_of(error),
    )


def _problem(entry: os.DirEntry[str], root: Path) -> Text:
    if _UNDECODABLE.search(entry.name):
        return _("skipped, because the name is not valid UTF-8. Rename the file or folder.")
    if entry.is_symlink():
        target = Path(os.path.realpath(entry.path))
        if not target.is_relative_to(root):
            return _(
                "skipped: a symbolic link that leaves the vault. Copy the files into the vault."
            )
        if not target.exists():
            return _("skipped: a broken symbolic link")
        if target.is_dir():
            return _(
                "skipped: a symbolic link to a folder inside the vault. gigamind reads that folder at its original"
                " place"
            )
    if entry.is_file() or entry.is_dir():
        return ""
    return _("skipped: neither a file nor a folder")


_HashMode = Literal["content", "mtime"]


def notes_hash(root: Path, mode: _HashMode = "content", exclude: Sequence[str] = ()) -> str:
    """Return the SHA-256, in hexadecimal, of all files of a vault in path order, attachments included.

    "content" covers paths and bytes; "mtime" covers paths and modification times in nanoseconds.

    Raises:
        NotesError: the folder is missing or cannot be read.
    """
    total = hashlib.sha256(mode.encode())
    for file in walk(root, (*DEFAULT_EXCLUDES, *exclude)).files:
        path = file.path.encode()
        # The length prevents a byte from moving between path and content undetected.
        total.update(len(path).to_bytes(8, "big") + path + _state(file, mode))
    return total.hexdigest()


def _state(file: _VaultFile, mode: _HashMode) -> bytes:
    try:
        if mode == "mtime":
            return file.location.stat().st_mtime_ns.to_bytes(16, "big", signed=True)
        with file.location.open("rb") as content:
            return hashlib.file_digest(content, "sha256").digest()
    except OSError:  # skipped by readers, who report it
        return b"unreadable"
