"""Converts the contexts of a system's answer to notes for the judge, in their order, because answers cite numbers.

A context with only a name is judged by that note of the vault; an unknown note becomes empty, which proves nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gigamind.datasets.check_answers import GivenNote
from gigamind.evidence.again import find_again
from gigamind.interop.ranking import Oddity, RankedNote
from gigamind.spans import Utf16
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note


@dataclass(frozen=True, slots=True)
class ContextReader:
    """Reads contexts over one vault, which may have no notes."""

    identities: Identities
    has_vault: bool  # without a vault, an unknown note is a problem only if its text is missing

    def read(
        self, contexts: Sequence[RankedNote]
    ) -> tuple[tuple[GivenNote, ...], dict[Oddity, int]]:
        """Return a note for each context, and data-quality problems with counts."""
        oddities: Counter[Oddity] = Counter()
        notes: list[GivenNote] = []
        for number, context in enumerate(contexts, start=1):
            note = self._note(context, number, oddities)
            oddities["repeated_notes"] += bool(note.text) and note in notes
            notes.append(note)
        oddities["no_contexts"] += not contexts
        return tuple(notes), {name: count for name, count in oddities.items() if count}

    def _note(self, context: RankedNote, number: int, oddities: Counter[Oddity]) -> GivenNote:
        name = context.note or context.text
        known = self._known(name)
        if known is None:
            own_text = context.text if context.note or not _is_name(context.text) else ""
            oddities["unknown_notes"] += (bool(context.note) and self.has_vault) or not own_text
            return GivenNote(None, name if name != own_text else f"context {number}", own_text)
        text = context.text if context.note else ""
        is_unplaced = bool(text.strip()) and find_again(text.strip(), known.text) is None
        oddities["unplaced_texts"] += is_unplaced
        return GivenNote(known.path, known.title, text or _part(known, context.place))

    def _known(self, name: str) -> Note | None:
        resolution = self.identities.resolve(name)
        return resolution.note if resolution else None


def _part(note: Note, place: tuple[int, int] | None) -> str:
    """Return the text of a range of a note; the whole note without a range, or if it exceeds the note."""
    if place is None:
        return note.text
    try:
        return Utf16(note.text).span_to_code_points(*place).slice(note.text) or note.text
    except ValueError:
        return note.text


def _is_name(text: str) -> bool:
    """Return whether a string names a note: a line that ends in .md, or one ASCII word (Chinese has no spaces)."""
    line = text.strip()
    is_word = line.isascii() and len(line.split()) == 1
    return "\n" not in line and (line.endswith(".md") or is_word)
