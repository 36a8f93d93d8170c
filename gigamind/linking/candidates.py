"""Finds what could be a link: each name in a note with each note that it may mean, before anything is weighed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gigamind.linking.anchors import Anchor, AnchorDictionary, Mention, build_dictionary
from gigamind.linking.confidence import Features
from gigamind.spans import Span
from gigamind.vault.graph import centrality, link_graph
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault

_CAPITAL = re.compile(r"[A-Z]")
_NEXT_CAPITAL = re.compile(r"[ -][A-Z]")
LEAST_LINK_PROBABILITY = 0.065  # Milne & Witten 2008, found again by Wikimedia's Add-a-Link


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place of a note and one note that its name may mean."""

    span: Span
    target: str
    features: Features


class CandidateFinder:
    """Finds the candidates of a vault's notes; building it reads every note once."""

    def __init__(self, vault: Vault, identities: Identities) -> None:
        self.dictionary: AnchorDictionary = build_dictionary(vault, identities)
        self.graph = link_graph(vault, identities)
        self._centrality = centrality(self.graph)
        self._names = {note.path: _names(note) for note in vault.notes}

    def places(self, note: Note) -> list[list[Candidate]]:
        """The candidates of each place, in the order of the text.

        Of places with the same words the first stands for all.  A name of the note itself is none, nor is the beginning
        of a longer name, nor one that almost nobody links.
        """
        first: dict[str, Mention] = {}
        for mention in self.dictionary.mentions[note.path]:
            if not _goes_on(note.text, mention):
                first.setdefault(note.text[mention.start : mention.end], mention)
        every = [list(self._candidates(note, text, mention)) for text, mention in first.items()]
        named = {candidate.target for place in every for candidate in place}
        return [
            [replace(c, features=replace(c.features, names_in_note=len(named))) for c in place]
            for place in every
            if place
        ]

    def _candidates(self, note: Note, text: str, mention: Mention) -> Iterator[Candidate]:
        anchor = mention.anchor
        if anchor.kinds.get(note.path, "text") != "text":
            return  # the note speaks of itself
        if self.dictionary.link_probability(anchor, note.path) < LEAST_LINK_PROBABILITY:
            return
        span = Span(mention.start, mention.end)
        for target in anchor.kinds:
            if target != note.path and self.dictionary.commonness(anchor, target, note.path):
                yield Candidate(span, target, self._features(anchor, target, note.path, text))

    def _features(self, anchor: Anchor, target: str, note: str, text: str) -> Features:
        return Features(
            link_probability=self.dictionary.link_probability(anchor, note),
            commonness=self.dictionary.commonness(anchor, target, note),
            kind=anchor.kinds[target],
            linked_notes=len(anchor.linking) - (note in anchor.linking),
            saying_notes=anchor.mentions - 1,
            chars=len(anchor.text),
            words=len(anchor.text.split()),
            spelled_as_name=text in self._names[target] and _looks_like_a_name(text),
            names_in_note=1,
            linked_back=note in self.graph[target],
            centrality=self._centrality[target],
        )


def _goes_on(text: str, mention: Mention) -> bool:
    """Whether a name goes on behind a mention: "Agents" in "the Agents SDK" is no note on agents."""
    last = re.split(r"[ -]", text[mention.start : mention.end])[-1]
    return _CAPITAL.match(last) is not None and _NEXT_CAPITAL.match(text, mention.end) is not None


def _names(note: Note) -> frozenset[str]:
    """What a note calls itself, as written."""
    headings = [heading.text for heading in note.document.headings if heading.level == 1][:1]
    return frozenset((note.title, note.stem, *note.aliases, *headings))


def _looks_like_a_name(text: str) -> bool:
    """Whether it has a capital, or letters without capitals: "tools" is a word, "Tools" and "도구" may be names."""
    return text != text.lower() or not text.isascii()
