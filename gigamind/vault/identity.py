"""Which note a name means: paths, titles, file names and aliases, compared as the datasets' rules say (seed 3.3)."""

import posixpath
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gigamind.vault.frontmatter import text_field
from gigamind.vault.markdown import Link
from gigamind.vault.notes import Note

_SEPARATORS = re.compile(r"[\s_-]+")


@dataclass(frozen=True, slots=True)
class Resolution:
    """The note that a name means.

    Attributes:
        identifier: the name as a `key`.
        ignored: other notes that the name means as well, in path order.
    """

    identifier: str
    note: Note
    ignored: tuple[Note, ...] = ()

    @property
    def collision(self) -> "Collision | None":
        """The collision that was met, if any."""
        if not self.ignored:
            return None
        return Collision(self.identifier, self.note.path, tuple(note.path for note in self.ignored))


@dataclass(frozen=True, slots=True, order=True)
class Collision:
    """One identifier that means several notes; printed in the format of seed 3.3."""

    identifier: str
    selected: str
    ignored: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f'[WARN] Note identifier collision: "{self.identifier}" matches multiple files:']
        lines.append(f"  - {self.selected} (selected)")
        lines += [f"  - {path} (ignored)" for path in self.ignored]
        return "\n".join(lines)


def key(name: str) -> str:
    """A name for comparison: NFC, case folded, `.md` off, runs of space, "_" and "-" as one space."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    parts = folded.replace("\\", "/").removesuffix(".md").split("/")
    return "/".join(_key_of_part(part.strip()) for part in parts)


def _key_of_part(part: str) -> str:
    bare = _SEPARATORS.sub(" ", part).strip()
    # A folder called "_." is not the one it lies in.
    return part if bare in {"", ".", ".."} else bare


def leaves_vault(path: str) -> bool:
    """Whether a path is absolute, or climbs out of the vault through ".."."""
    path = path.replace("\\", "/")
    if path.startswith("/") or re.match(r"[A-Za-z]:/", path):
        return True
    return posixpath.normpath(path).split("/")[0] == ".."


class Identities:
    """Finds notes by name.

    The order is: exact path, exact title of the frontmatter, exact file name, `key` of path, title or file name, then
    exact alias and `key` of an alias.  The first that matches any note decides; among its notes the first by path is
    selected, and the others are a collision.
    """

    def __init__(self, notes: Iterable[Note]) -> None:
        self._notes = sorted(notes, key=lambda note: note.path)
        self._paths = {note.path: note for note in self._notes}
        self._titles = _index((title, note) for note in self._notes for title in _titles(note))
        self._stems = _index((note.stem, note) for note in self._notes)
        self._path_keys = _index((key(note.path), note) for note in self._notes)
        self._name_keys = _index((name, note) for note in self._notes for name in _name_keys(note))
        self._aliases = _index((alias, note) for note in self._notes for alias in note.aliases)
        self._alias_keys = _index((key(a), note) for note in self._notes for a in note.aliases)

    def resolve(self, name: str, source: str | None = None) -> Resolution | None:
        """The note that `name` means; beside the note at path `source` first, when one is given."""
        name = unicodedata.normalize("NFC", name).replace("\\", "/")
        if source is not None:
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
            if resolution := self._by_path(beside):
                return resolution
        name = name.removeprefix("./").removeprefix("/")
        if not name:
            return None
        identifier = key(name)
        for notes in self._candidates(name, identifier):
            if notes:
                return Resolution(identifier, notes[0], tuple(notes[1:]))
        return None

    def resolve_link(self, link: Link, source: str) -> Resolution | None:
        """The note that a link in the note at path `source` leads to; None for attachments and missing notes."""
        if not link.target:
            note = self._paths.get(source)
            return None if note is None else Resolution(key(source), note)
        relative = not link.wikilink or link.target.startswith(("./", "../"))
        return self.resolve(link.target, source if relative else None)

    def collisions(self) -> tuple[Collision, ...]:
        """Every identifier that is the `key` of several notes' titles or file names, in order.

        Notes whose paths have one key share that of their file names too.
        """
        names = _index((name, note) for note in self._notes for name in _short_keys(note))
        met: list[Collision] = []
        for identifier, notes in sorted(names.items()):
            resolution = self.resolve(identifier) if len(notes) > 1 else None
            if resolution is not None:
                ignored = tuple(note.path for note in notes if note is not resolution.note)
                met.append(Collision(identifier, resolution.note.path, ignored))
        return tuple(met)

    def _by_path(self, path: str) -> Resolution | None:
        note = self._paths.get(path) or self._paths.get(path + ".md")
        if note is not None:
            return Resolution(key(path), note)
        notes = self._path_keys.get(key(path), ())
        return Resolution(key(path), notes[0], tuple(notes[1:])) if notes else None

    def _candidates(self, name: str, identifier: str) -> Iterator["list[Note]"]:
        """Notes of each rule, in path order, the strongest rule first."""
        nothing: list[Note] = []
        yield [self._paths[name]] if name in self._paths else nothing
        yield self._titles.get(name, nothing)
        yield self._stems.get(re.sub(r"(?i)\.md\Z", "", name), nothing)
        if "/" in identifier:
            yield self._path_keys.get(identifier, nothing)
        yield self._name_keys.get(identifier, nothing)
        yield self._aliases.get(name, nothing)
        yield self._alias_keys.get(identifier, nothing)


def _titles(note: Note) -> list[str]:
    """The title, when the frontmatter gives one: a file name must not pass for a title."""
    return [note.title] if text_field(note.document.frontmatter, "title") else []


def _short_keys(note: Note) -> set[str]:
    return {key(name) for name in (note.stem, *_titles(note))}


def _name_keys(note: Note) -> set[str]:
    """Keys of the title, and of the path with any number of its leading folders left out (`[[dir/note]]`)."""
    parts = key(note.path).split("/")
    return _short_keys(note) | {"/".join(parts[skip:]) for skip in range(len(parts))}


def _index(entries: Iterable[tuple[str, Note]]) -> Mapping[str, list[Note]]:
    index: defaultdict[str, list[Note]] = defaultdict(list)
    for name, note in entries:
        if note not in index[name][-1:]:
            index[name].append(note)
    return dict(index)
