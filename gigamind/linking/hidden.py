"""Notes of a vault without some of their links, which links are hidden to see whether they are found again.

A vault is taken to lack a share `MISSING` of the links that it should have, and as many more are hidden.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from gigamind.datasets.generate_links import NoteLink, removable_links, unlinked
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import parse
from gigamind.vault.notes import Note, Vault

MISSING = 0.3  # what `generate-links` takes away
_AS_MANY = MISSING / (1 - MISSING)  # of the links that are left
MOST_NOTES = 100  # at most, whose links are hidden at once


class Hidden(NamedTuple):
    """A note without some of its links: their targets, how many are hidden, and how many are missing besides."""

    note: Note
    targets: frozenset[str]
    links: int
    missing: float

    @property
    def share(self) -> float:
        """Of the hidden among the links that the note is thought to lack, in (0, 1]."""
        return self.links / (self.links + self.missing)


Draws = Callable[[int], Sequence[Hidden]]
"""Notes without some of their links, others at each number."""


def hidden_links(vault: Vault, identities: Identities) -> Draws:
    """Each draw is made once."""
    by_note: dict[str, list[NoteLink]] = {}
    for link in removable_links(vault, identities):
        by_note.setdefault(link.note.path, []).append(link)

    # Of notes with j links those that are missing are (j + 1) n(j + 1) / n(j) times _AS_MANY, n(j) being the number of
    # such notes, for each link is missing by chance (Robbins 1956): in all notes with a link as many as all their links
    # are times _AS_MANY, but for the links of notes with one.
    counts = [len(links) for links in by_note.values()]
    missing = _AS_MANY * (1 - counts.count(1) / max(1, sum(counts)))

    @cache
    def draw(number: int) -> list[Hidden]:
        return _hidden(by_note, missing, number)

    return draw


def _hidden(by_note: Mapping[str, Sequence[NoteLink]], missing: float, draw: int) -> list[Hidden]:
    """A sample of the notes without the links that are hidden at once; `missing` for each link of a note."""
    drawn = (
        ([link for link in links if _drawn(link, draw)], len(links)) for links in by_note.values()
    )
    losing = [(links, left) for links, left in drawn if links]
    chosen = sorted(losing, key=lambda pair: _digest(pair[0][0].note.path))[:MOST_NOTES]
    return [
        Hidden(
            _without(links), frozenset(link.target for link in links), len(links), count * missing
        )
        for links, count in chosen
    ]


def _drawn(link: NoteLink, draw: int) -> bool:
    drawn = _digest(f"{draw} {link.note.path}\0{link.link.span.start}")
    return int.from_bytes(drawn[:4], "big") < _AS_MANY * 2**32


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _without(links: Sequence[NoteLink]) -> Note:
    note = links[0].note
    text, _ = unlinked(note.text, [link.link for link in links])
    return replace(note, text=text, document=parse(text))
