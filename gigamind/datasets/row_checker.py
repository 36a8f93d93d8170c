"""What checking any kind of dataset row shares: finding the notes it names, and saying what is wrong with it."""

import difflib
from dataclasses import dataclass, field
from typing import Generic

from gigamind.datasets.jsonl import Dataset, Item
from gigamind.datasets.row_errors import RowError, shortened
from gigamind.spans import Utf16
from gigamind.vault.identity import Collision, Identities, leaves_vault
from gigamind.vault.notes import Note, Vault

_MOST_SUGGESTIONS = (
    20  # each takes half a second in 10 000 notes, and another vault's dataset misses them all
)
MEND_SPAN = "Count UTF-16 code units from the start of the file: start inclusive, end exclusive"


@dataclass(slots=True)
class RowChecker(Generic[Item]):
    """Holds the rows of one dataset against one vault, and collects what is wrong.

    Attributes:
        collisions: ambiguous names met, by identifier.
    """

    dataset: Dataset[Item]
    vault: Vault
    identities: Identities
    errors: list[RowError] = field(default_factory=list[RowError])
    warnings: list[str] = field(default_factory=list[str])
    collisions: dict[str, Collision] = field(default_factory=dict[str, Collision])
    _units: dict[str, Utf16] = field(default_factory=dict[str, Utf16])
    _suggestions: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, item: Item, name: str, path: str) -> Note | None:
        """The note that a row names, or an error of the row in the field `name`."""
        if leaves_vault(path):
            self.reject(
                item,
                name,
                f"{shortened(path)} leaves the vault",
                "Write the path relative to the notes folder",
            )
            return None
        resolution = self.identities.resolve(path)
        if resolution is None:
            self.reject(
                item, name, f"no note {shortened(path)} in {self.vault.root}", self._suggest(path)
            )
            return None
        if resolution.collision is not None:
            self.collisions.setdefault(resolution.identifier, resolution.collision)
        return resolution.note

    def units(self, note: Note) -> Utf16:
        """Converter of offsets in a note, made once a note."""
        if note.path not in self._units:
            self._units[note.path] = Utf16(note.text)
        return self._units[note.path]

    def _suggest(self, path: str) -> str:
        if path not in self._suggestions and len(self._suggestions) < _MOST_SUGGESTIONS:
            paths = [note.path for note in self.vault.notes]
            close = difflib.get_close_matches(path, paths, n=1)
            self._suggestions[path] = (
                f"Write {shortened(close[0])}, if that is meant" if close else ""
            )
        return self._suggestions.get(path) or "Check the path, relative to the notes folder"

    def reject(self, item: Item, name: str, message: str, mend: str) -> None:
        """Say that a row cannot be used."""
        self.errors.append(RowError(self.dataset.lines[item.id], item.id, name, message, mend))

    def warn(self, item: Item, name: str, message: str) -> None:
        """Say that a row is odd but usable."""
        self.warnings.append(
            f'{self.dataset.path}:{self.dataset.lines[item.id]}: field "{name}": {message}'
        )
