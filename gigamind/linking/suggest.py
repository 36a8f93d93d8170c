"""Suggests links for one note: names of other notes in its running text, each with a confidence and a reason.

Candidates are weighed by `confidence.py`; an embedder is asked only if one is given, and only about the best of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gigamind.linking.anchors import KINDS
from gigamind.linking.candidates import Candidate, CandidateFinder
from gigamind.linking.confidence import Features, load_weights, reason, with_cosine
from gigamind.linking.relatedness import Relatedness
from gigamind.spans import Span
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault

# Candidates of a note whose paragraphs are embedded: the rest is too unlikely to pay for.
_COMPARED = 20


@dataclass(frozen=True, slots=True)
class SuggestOptions:
    """What to suggest.

    Attributes:
        max_suggestions: at most; the most confident ones.
        min_confidence: in [0, 1].
        exclude_existing: leave out targets that the note links to already.  Existing links themselves never move.
        context_chars: code points shown on either side of an anchor.
    """

    max_suggestions: int = 10
    min_confidence: float = 0.3
    exclude_existing: bool = True
    context_chars: int = 200


@dataclass(frozen=True, slots=True)
class LinkSuggestion:
    """One link that a note could have.

    Attributes:
        anchor: the text that would be linked, as it stands in the note.
        span: where, in code points.
        target: path of the note it would lead to.
        confidence: in [0, 1].
        reason: which features fired, in the note's language.
        context: the text around the anchor.
    """

    anchor: str
    span: Span
    target: str
    target_title: str
    confidence: float
    reason: str
    context: str
    features: Features


class LinkSuggester:
    """Suggests links for the notes of one vault; building it reads every note once.

    Args:
        related: compares paragraphs with notes; None weighs without that.
    """

    def __init__(
        self, vault: Vault, identities: Identities, related: Relatedness | None = None
    ) -> None:
        self.vault = vault
        self.finder = CandidateFinder(vault, identities)
        self._related = related
        self._titles = {note.path: note.title for note in vault.notes}

    def suggest(self, note: Note, options: SuggestOptions | None = None) -> list[LinkSuggestion]:
        """Suggestions for a note of this vault, the most confident first: one a target, without overlaps."""
        chosen = options or SuggestOptions()
        linked = self.linked_targets(note.path) if chosen.exclude_existing else frozenset[str]()
        best = _best_of_each_target(self._meant(note, linked))
        if self._related is not None:
            best = self._compared(note, best, self._related)
        sure = [meaning for meaning in best if meaning.confidence >= chosen.min_confidence]
        return [
            self._suggestion(note, meaning, chosen.context_chars)
            for meaning in sure[: chosen.max_suggestions]
        ]

    def linked_targets(self, path: str) -> frozenset[str]:
        """Paths of the notes that the note at `path` links to."""
        return frozenset(self.finder.graph[path])

    def _meant(self, note: Note, linked: frozenset[str]) -> "Iterator[_Weighed]":
        """The likeliest meaning of each place.

        Where a name may as well mean a note that is linked already, that is what it means.
        """
        for place in self.finder.places(note):
            weighed = sorted(map(_weigh, place), key=_order)
            free = [meaning for meaning in weighed if meaning.candidate.target not in linked]
            if free and not any(
                _commonness(meaning) >= _commonness(free[0])
                for meaning in weighed
                if meaning not in free
            ):
                yield free[0]

    def _compared(
        self, note: Note, best: "list[_Weighed]", related: Relatedness
    ) -> "list[_Weighed]":
        """The best again, the meaning of their paragraphs weighed too."""
        first = [meaning.candidate for meaning in best[:_COMPARED]]
        cosines = related.cosines(note, [(candidate.span, candidate.target) for candidate in first])
        again = [
            replace(candidate, features=with_cosine(candidate.features, cosine))
            for candidate, cosine in zip(first, cosines, strict=True)
        ]
        return sorted(map(_weigh, again), key=_order)

    def _suggestion(self, note: Note, weighed: "_Weighed", around: int) -> LinkSuggestion:
        span, target = weighed.candidate.span, weighed.candidate.target
        features = weighed.candidate.features
        left = max(note.document.body_start, span.start - around)
        return LinkSuggestion(
            anchor=span.slice(note.text),
            span=span,
            target=target,
            target_title=self._titles[target],
            confidence=weighed.confidence,
            reason=reason(features, note_language(note)),
            context=note.text[left : span.end + around].strip(),
            features=features,
        )


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A candidate and its confidence, in (0, 1)."""

    candidate: Candidate
    confidence: float


def _weigh(candidate: Candidate) -> _Weighed:
    return _Weighed(candidate, load_weights().of(candidate.features).confidence(candidate.features))


def _best_of_each_target(weighed: Iterable[_Weighed]) -> list[_Weighed]:
    best: dict[str, _Weighed] = {}
    for meaning in sorted(weighed, key=_order):
        best.setdefault(meaning.candidate.target, meaning)
    return list(best.values())


def _commonness(weighed: _Weighed) -> float:
    return weighed.candidate.features.commonness


def _order(weighed: _Weighed) -> tuple[float, int, float, int, str]:
    """The surest first; of equally sure ones the strongest kind of name, then the most central target."""
    candidate = weighed.candidate
    kind = KINDS.index(candidate.features.kind)
    return (
        -weighed.confidence,
        kind,
        -candidate.features.centrality,
        candidate.span.start,
        candidate.target,
    )
