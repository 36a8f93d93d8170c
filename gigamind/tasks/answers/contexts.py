"""The contexts of a system's answer as notes that an answer can be judged by: each in its place, for answers cite them.

A context that tells a text is judged by that text; one that only names a note, by the note of the vault.  What names a
note that cannot be read is an empty note, by which nothing can be proven.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gigamind.datasets.check_answers import GivenNote
from gigamind.evidence.again import find_again
from gigamind.interop.ranking import Oddity, RankedNote
from gigamind.spans import Utf16
from gigamind.vault.identity import Identities, leaves_vault
from gigamind.vault.notes import Note


@dataclass(frozen=True, slots=True)
class ContextReader:
    """Reads contexts over one vault, which may have no notes.

    Attributes:
        has_vault: else no note is known, and that is not odd of one that is told with its text.
        places: whether texts stand once in notes, by path and text; a system shows the same ones again and again.
    """

    identities: Identities
    has_vault: bool
    places: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])

    def read(
        self, contexts: Sequence[RankedNote]
    ) -> tuple[tuple[GivenNote, ...], dict[Oddity, int]]:
        """A note for each context, and what is odd."""
        odd: Counter[Oddity] = Counter()
        notes: list[GivenNote] = []
        for number, context in enumerate(contexts, start=1):
            note = self._note(context, number, odd)
            odd["repeated_notes"] += bool(note.text) and note in notes
            notes.append(note)
        odd["no_contexts"] += not contexts
        return tuple(notes), {name: count for name, count in odd.items() if count}

    def _note(self, context: RankedNote, number: int, odd: Counter[Oddity]) -> GivenNote:
        name = context.note or context.text
        known = self._known(name)
        if known is None:
            own_text = context.text if context.note or not _is_name(context.text) else ""
            odd["unknown_notes"] += (bool(context.note) and self.has_vault) or not own_text
            return GivenNote(None, name if name != own_text else f"context {number}", own_text)
        text = context.text if context.note else ""
        odd["unplaced_texts"] += bool(text.strip()) and not self._stands_in(known, text.strip())
        return GivenNote(known.path, known.title, text or _part(known, context.place))

    def _known(self, name: str) -> Note | None:
        resolution = None if leaves_vault(name) else self.identities.resolve(name)
        return resolution.note if resolution else None

    def _stands_in(self, note: Note, text: str) -> bool:
        if (note.path, text) not in self.places:
            self.places[note.path, text] = find_again(text, note.text) is not None
        return self.places[note.path, text]


def _part(note: Note, place: tuple[int, int] | None) -> str:
    """What stands at a place of a note; all of it where none is told, or it is beyond the note."""
    if place is None:
        return note.text
    try:
        return Utf16(note.text).span_to_code_points(*place).slice(note.text) or note.text
    except ValueError:
        return note.text


def _is_name(text: str) -> bool:
    """Whether a lone string is the name of a note and not what one says: a line that ends as files do, or one word.

    A word in ASCII: a sentence in Chinese or Japanese has no blank either.
    """
    line = text.strip()
    is_word = line.isascii() and len(line.split()) == 1
    return "\n" not in line and (line.endswith(".md") or is_word)
