"""Resolve names to notes by path, title, file name and alias, with the comparison rules of datasets (spec 3.3)."""

import posixpath
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import unquote

from gigamind.i18n import Message, _, joined
from gigamind.vault.frontmatter import text_field
from gigamind.vault.markdown import Link
from gigamind.vault.notes import Note

_SEPARATORS = re.compile(r"[\s_-]+")
_ROOT = re.compile(r"\A(?:\./|/)+")
_SUFFIX = re.compile(r"\.md\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Resolution:
    """The note that a name resolves to."""

    identifier: str  # the name as a `key`
    note: Note
    ignored: tuple[Note, ...] = ()  # other matching notes, in path order
    is_folded: bool = False  # whether only the `key` matches, or the name without percent-encoding

    @property
    def collision(self) -> "Collision | None":
        """Return the collision, if several notes match."""
        if not self.ignored:
            return None
        return Collision(self.identifier, self.note.path, tuple(note.path for note in self.ignored))


@dataclass(frozen=True, slots=True, order=True)
class Collision:
    """An identifier that matches several notes; printed in the format of spec 3.3."""

    identifier: str
    selected: str
    ignored: tuple[str, ...]

    @property
    def message(self) -> Message:
        """Return the warning, one file per line."""
        head = _(
            '[WARN] Note identifier collision: "{identifier}" matches multiple files:',
            identifier=self.identifier,
        )
        ignored = [_("  - {path} (ignored)", path=path) for path in self.ignored]
        selected = _("  - {path} (selected)", path=self.selected)
        return joined([head, selected, *ignored], separator="\n")


class Found(NamedTuple):
    """The name of a note that another writing of it means."""

    name: str
    is_folded: bool = False  # see `_Resolution`


def plain(name: str, *, suffix: bool = False) -> str:
    """Return a name in NFC with "/" as separator, without "./" and "/" in front, and without `.md` unless `suffix`."""
    name = _ROOT.sub("", unicodedata.normalize("NFC", name).replace("\\", "/"))
    return name if suffix else _SUFFIX.sub("", name)


def key(name: str) -> str:
    """Normalise a name for comparison: NFC, case-folded, without `.md`, runs of space, "_" and "-" as one space."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    parts = folded.replace("\\", "/").removesuffix(".md").split("/")
    return "/".join(_key_of_part(part.strip()) for part in parts)


def _key_of_part(part: str) -> str:
    bare = _SEPARATORS.sub(" ", part).strip()
    # A folder called "_." must not become ".", its own parent.
    return part if bare in {"", ".", ".."} else bare


def leaves_vault(path: str) -> bool:
    """Return whether a path is absolute or leaves the vault through ".."."""
    path = path.replace("\\", "/")
    is_absolute = path.startswith("/") or re.match(r"[A-Za-z]:/", path) is not None
    return is_absolute or posixpath.normpath(path).split("/")[0] == ".."


class Identities:
    """Finds notes by name.

    Rules in order: exact path, exact title of the frontmatter, exact file name, `key` of path, title or file name,
    exact alias, `key` of an alias. The first rule that matches decides. Its first note by path is selected, the others
    collide.
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

    def resolve(self, name: str, source: str | None = None) -> _Resolution | None:
        """Return the note that `name` means, searching first in the folder of the note at path `source`, if given."""
        name = unicodedata.normalize("NFC", name).replace("\\", "/")
        if source is not None:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
            note = self._paths.get(path) or self._paths.get(path + ".md")
            notes = [note] if note else self._path_keys.get(key(path))
            if notes:
                return _Resolution(key(path), notes[0], tuple(notes[1:]))
        name = plain(name, suffix=True)
        if not name or leaves_vault(name):
            return None
        identifier = key(name)
        for is_folded, notes in self._candidates(name, identifier):
            if notes:
                return _Resolution(identifier, notes[0], tuple(notes[1:]), is_folded)
        decoded = unquote(name)
        found = None if decoded == name else self.resolve(decoded)
        return found and replace(found, is_folded=True)

    def find(self, name: str) -> Found | None:
        """Return the path of the note that `name`, percent-encoded or not, means in a ranking."""
        decoded = unquote(name)  # first, as in TREC runs: a%2520b.md is the export of a%20b.md
        if decoded != name and (resolution := self.resolve(decoded)):
            return Found(resolution.note.path, is_folded=True)
        resolution = self.resolve(name)
        return Found(resolution.note.path, resolution.is_folded) if resolution else None

    def resolve_link(self, link: Link, source: str) -> _Resolution | None:
        """Return the note that a link in the note at `source` leads to; None for attachments and missing notes."""
        if not link.target:
            note = self._paths.get(source)
            return None if note is None else _Resolution(key(source), note)
        relative = not link.wikilink or link.target.startswith(("./", "../"))
        return self.resolve(link.target, source if relative else None)

    def collisions(self) -> tuple[Collision, ...]:
        """Return every identifier that is the `key` of several notes' titles or file names, in order."""
        names = _index((name, note) for note in self._notes for name in _short_keys(note))
        met: list[Collision] = []
        for identifier, notes in sorted(names.items()):
            resolution = self.resolve(identifier) if len(notes) > 1 else None
            if resolution is not None:
                ignored = tuple(note.path for note in notes if note is not resolution.note)
                met.append(Collision(identifier, resolution.note.path, ignored))
        return tuple(met)

    def _candidates(self, name: str, identifier: str) -> Iterator[tuple[bool, "list[Note]"]]:
        """Yield for each rule, the strongest first, whether it folds names, and the matching notes in path order."""
        nothing: list[Note] = []
        bare = _SUFFIX.sub("", name)
        yield False, [self._paths[name]] if name in self._paths else nothing
        yield False, self._titles.get(name, nothing)
        yield False, self._stems.get(bare, nothing)
        yield False, [self._paths[bare + ".md"]] if bare + ".md" in self._paths else nothing
        if "/" in identifier:
            yield True, self._path_keys.get(identifier, nothing)
        yield True, self._name_keys.get(identifier, nothing)
        yield False, self._aliases.get(name, nothing)
        yield True, self._alias_keys.get(identifier, nothing)


def _titles(note: Note) -> list[str]:
    return [note.title] if text_field(note.document.frontmatter, "title") else []


def _short_keys(note: Note) -> set[str]:
    return {key(name) for name in (note.stem, *_titles(note))}


def _name_keys(note: Note) -> set[str]:
    """Return the keys of the title, and of the path without any number of its leading folders (`[[dir/note]]`)."""
    parts = key(note.path).split("/")
    return _short_keys(note) | {"/".join(parts[skip:]) for skip in range(len(parts))}


def _index(entries: Iterable[tuple[str, Note]]) -> Mapping[str, list[Note]]:
    index: defaultdict[str, list[Note]] = defaultdict(list)
    for name, note in entries:
        if note not in index[name][-1:]:
            index[name].append(note)
    return dict(index)


class Names:
    """Finds the name that labels use for another writing of it, without a vault: by `plain`, then by `key`."""

    def __init__(self, labels: Iterable[str]) -> None:
        ordered = sorted(labels, reverse=True)  # of several, the first by name counts
        self._plain = {plain(label): label for label in ordered}
        self._keys = {key(plain(label)): label for label in ordered}

    def find(self, name: str) -> Found | None:
        """Return the label that `name` means."""
        written, decoded = plain(name), plain(unquote(name))
        if decoded != written and decoded in self._plain:
            return Found(self._plain[decoded], is_folded=True)
        if written in self._plain:
            return Found(self._plain[written])
        label = self._keys.get(key(written)) or self._keys.get(key(decoded))
        return Found(label, is_folded=True) if label else None
