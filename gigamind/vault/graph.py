"""The link graph of the notes: centrality of a note, proximity of two notes."""

import re
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import takewhile
from math import log, log1p

import numpy as np

from gigamind.vault.frontmatter import texts
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault

_DAMPING = 0.85  # Brin & Page, 1998
_TOLERANCE = 1e-12  # sum of absolute changes at which the ranks have settled
_PROPERTY_LINK = re.compile(r"\[\[([^\[\]|#\n]+)")
_MOST_ROUNDS = 1000  # never reached: 0.85 ** 170 is below the tolerance


def link_graph(vault: Vault, identities: Identities) -> dict[str, tuple[str, ...]]:
    """Return for each note's path the sorted distinct paths of the other notes that it links to or embeds."""
    return {note.path: tuple(sorted(linked_paths(note, identities))) for note in vault.notes}


def linked_paths(note: Note, identities: Identities) -> frozenset[str]:
    """Return the paths of the other notes that a note links to or embeds, in its text or its properties."""
    resolutions = [identities.resolve_link(link, note.path) for link in note.document.links]
    for text in texts(note.document.frontmatter):
        resolutions += (identities.resolve(name.strip()) for name in _PROPERTY_LINK.findall(text))
    return frozenset(target.note.path for target in resolutions if target) - {note.path}


def centrality(graph: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    """Return the PageRank (damping 0.85, Brin & Page 1998) of each note divided by the highest, in (0, 1].

    A note without links distributes its rank equally over all notes; without any links, all notes have 1.0.
    """
    notes = sorted(graph)
    if not notes:
        return {}
    number = {note: index for index, note in enumerate(notes)}
    edges = [(number[source], number[target]) for source in notes for target in graph[source]]
    sources, targets = np.array(edges, dtype=np.intp).reshape(-1, 2).T
    ranks = _page_rank(sources, targets, len(notes))
    return dict(zip(notes, (ranks / ranks.max()).tolist(), strict=True))


def _page_rank(sources: np.ndarray, targets: np.ndarray, size: int) -> np.ndarray:
    outgoing = np.bincount(sources, minlength=size)
    dangling = outgoing == 0
    ranks = np.full(size, 1 / size)
    for _ in range(_MOST_ROUNDS):
        passed = np.bincount(targets, ranks[sources] / outgoing[sources], minlength=size)
        new = (1 - _DAMPING) / size + _DAMPING * (passed + ranks[dangling].sum() / size)
        settled = np.abs(new - ranks).sum() < _TOLERANCE
        ranks = new
        if settled:
            break
    return ranks


class Neighbours:
    """The link graph in both directions, from the path of each note -> paths of the notes that it links to.

    Attributes:
        linked_from: paths of the notes that a note links to, by its path.
        centrality: the `centrality` of each note.
    """

    def __init__(self, graph: Mapping[str, tuple[str, ...]]) -> None:
        self.linked_from = {note: frozenset(targets) for note, targets in graph.items()}
        into: defaultdict[str, set[str]] = defaultdict(set)
        for note, targets in graph.items():
            for target in targets:
                into[target].add(note)
        self._into = {note: frozenset(into[note]) for note in graph}
        self._beside = {note: self.linked_from[note] | self._into[note] for note in graph}
        self._weight = {note: 1 / log(2 + len(self._beside[note])) for note in graph}
        self.centrality = centrality(graph)

    def shared(self, linked: AbstractSet[str], note: str, target: str) -> float:
        """Return ln(1 + Adamic-Adar index) of a note that links to `linked`, maybe as a draft, and another, from 0."""
        theirs = self._beside[target]
        both = (linked & theirs) | (self._into[note] & theirs)
        return log1p(sum([self._weight[neighbour] for neighbour in sorted(both)])) if both else 0.0


def folders_between(path: str, other: str) -> int:
    """Return the number of steps up and down between the folders of two notes; 0 for the same folder."""
    left, right = path.split("/")[:-1], other.split("/")[:-1]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return len(left) + len(right) - 2 * len(list(same))
