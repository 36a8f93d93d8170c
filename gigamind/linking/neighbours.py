"""How near two notes are in the vault: through the links that they share, and by their folders."""

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from math import log, log1p

from gigamind.vault.graph import centrality


class Neighbours:
    """The graph of a vault's links, both ways.

    Args:
        graph: path of a note -> paths of the notes that it links to.
    """

    def __init__(self, graph: Mapping[str, tuple[str, ...]]) -> None:
        self._out = {note: frozenset(targets) for note, targets in graph.items()}
        into: defaultdict[str, set[str]] = defaultdict(set)
        for note, targets in graph.items():
            for target in targets:
                into[target].add(note)
        self._into = {note: frozenset(into[note]) for note in graph}
        self._beside = {note: self._out[note] | self._into[note] for note in graph}
        self._weight = {note: 1 / log(2 + len(self._beside[note])) for note in graph}
        self._centrality = centrality(graph)

    def linked_from(self, note: str) -> AbstractSet[str]:
        """Paths of the notes that a note links to."""
        return self._out[note]

    def centrality(self, note: str) -> float:
        """PageRank over the highest, in (0, 1]."""
        return self._centrality[note]

    def shared(self, linked: AbstractSet[str], note: str, target: str) -> float:
        """ln(1 + Adamic-Adar), from 0: neighbours that two notes have in common, those with few links counting most.

        Args:
            linked: what the note links to, which a draft of it may do otherwise than the vault's own.
        """
        theirs = self._beside[target]
        both = (linked & theirs) | (self._into[note] & theirs)
        return log1p(sum([self._weight[one] for one in sorted(both)])) if both else 0.0


def folders_between(one: str, other: str) -> int:
    """Steps from the folder of one note up and down to that of another; 0 in the same folder."""
    left, right = one.split("/")[:-1], other.split("/")[:-1]
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    return len(left) + len(right) - 2 * same
