"""Hide some links of a vault, the share that it probably lacks, to check whether they are suggested again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from gigamind.datasets.generate_links import NoteLink, removable_links, unlinked
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Note, Vault

MISSING = 0.3  # share that `generate-links` removes
_AS_MANY = MISSING / (1 - MISSING)  # relative to the remaining links
MOST_NOTES = 100  # maximum number of notes whose links are hidden at once


class Hidden(NamedTuple):
    """A note without some of its links: their targets, the number of hidden ones, and of missing ones."""

    note: Note
    targets: frozenset[str]
    links: int
    missing: float

    @property
    def share(self) -> float:
        """Return the share of hidden links among those that the note lacks, in (0, 1]."""
        return self.links / (self.links + self.missing)


Draws = Callable[[int], Sequence[Hidden]]
"""Returns notes without some of their links; a different sample for each number."""


def hidden_links(vault: Vault, identities: Identities) -> Draws:
    """Return a function that draws samples of notes with hidden links; each sample is drawn once."""
    by_note: dict[str, list[NoteLink]] = {}
    for link in removable_links(vault, identities):
        by_note.setdefault(link.note.path, []).append(link)

    # If links are missing at random, notes with j links lack (j + 1) n(j + 1) / n(j) times _AS_MANY links, where n(j)
    # is the number of such notes (Robbins 1956). Summed over all notes with a link, that is the number of their links
    # times _AS_MANY, without the links of notes with one link.
    counts = [len(links) for links in by_note.values()]
    missing = _AS_MANY * (1 - counts.count(1) / max(1, sum(counts)))

    @cache
    def draw(number: int) -> list[Hidden]:
        def is_drawn(link: NoteLink) -> bool:
            drawn = _digest(f"{number} {link.note.path}\0{link.link.span.start}")
            return int.from_bytes(drawn[:4], "big") < _AS_MANY * 2**32

        drawn = ((list(filter(is_drawn, links)), len(links)) for links in by_note.values())
        losing = [(links, left) for links, left in drawn if links]
        losing.sort(key=lambda pair: _digest(pair[0][0].note.path))
        return [
            Hidden(
                _without(links), frozenset(link.target for link in links), len(links), n * missing
            )
            for links, n in losing[:MOST_NOTES]
        ]

    return draw


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _without(links: Sequence[NoteLink]) -> Note:
    note = links[0].note
    text, _spans = unlinked(note.text, [link.link for link in links])
    return replace(note, text=text, document=parse(text))
