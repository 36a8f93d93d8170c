"""Write links in the style of a vault, so that they lead to one note only, in Obsidian too."""

import posixpath
import re
import unicodedata
from collections import Counter
from urllib.parse import quote

from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Vault

_NO_WIKILINK = re.compile(r"[\[\]|#^\n\\]")
# Letters of any script stay readable; "%", ":" and signs with a meaning in Markdown or addresses are encoded.
_ENCODED = re.compile(r"[^\w./~!$',;=@+-]")


class LinkWriter:
    """Writes links for the notes of one vault: Markdown links if most of its links are, otherwise wikilinks."""

    def __init__(self, vault: Vault, identities: Identities) -> None:
        self._identities = identities
        self._stems = Counter(note.stem.casefold() for note in vault.notes)
        kinds = Counter(
            link.wikilink
            for note in vault.notes
            for link in note.document.links
            if link.target and identities.resolve_link(link, note.path) is not None
        )
        self._wikilinks = kinds[True] >= kinds[False]

    def name(self, target: str) -> str:
        """Return the file name of the note at `target` if unique, otherwise its path; Obsidian knows no titles."""
        path = target.removesuffix(".md")
        stem = posixpath.basename(path)
        names = [stem, path] if self._stems[stem.casefold()] == 1 else [path]
        return next((name for name in names if self._means(name, target)), target)

    def place(self, target: str, source: str) -> str:
        """Return the target of a link from the note at path `source` to the one at `target`, as written."""
        name = self.name(target)
        if self._wikilinks and not _NO_WIKILINK.search(name):
            return f"[[{name}]]"
        return _relative(target, source)

    def link(self, anchor: str, target: str, source: str, *, in_table: bool = False) -> str | None:
        """Return the link with `anchor` as its text from `source` to `target`; None if no such link leads there."""
        name = self.name(target)
        address = _ENCODED.sub(lambda match: quote(match[0]), _relative(target, source))
        written = f"[{anchor}]({address})"
        if self._wikilinks and not _NO_WIKILINK.search(name):
            pipe = r"\|" if in_table else "|"
            # Obsidian finds a file by another case, but not by "_" for a space.
            stem = unicodedata.normalize("NFC", name).casefold()
            same = name == posixpath.basename(name) and anchor.casefold() == stem
            written = f"[[{anchor}]]" if same else f"[[{name}{pipe}{anchor}]]"
        links = parse(written).links
        if len(links) != 1 or len(links[0].span) != len(written):
            return None
        meant = self._identities.resolve_link(links[0], source)
        unique = meant is not None and meant.note.path == target and not meant.ignored
        return written if unique and links[0].text_span.slice(written) == anchor else None

    def _means(self, name: str, target: str) -> bool:
        meant = self._identities.resolve(name)
        return meant is not None and meant.note.path == target and not meant.ignored


def _relative(target: str, source: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(source) or ".")
