"""Suggests links for one note: names of other notes in its running text, each with a confidence and a reason.

The confidence is an estimate of how likely people link this name in a note that says it, and link it to this target:
link probability times commonness, both counted in the rest of the vault.  No model is asked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gigamind.linking.anchors import Anchor, AnchorDictionary, Kind, Mention, build_dictionary
from gigamind.spans import Span
from gigamind.vault.graph import centrality, link_graph
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault

LEAST_LINK_PROBABILITY = 0.065  # Milne & Witten 2008, found again by Wikimedia's Add-a-Link


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
class Features:
    """What a confidence is made of, each for itself.

    Attributes:
        link_probability: of the anchor, in (0, 1).
        commonness: of the target for this anchor, in (0, 1].
        kind: how the anchor names the target.
        linked_notes: other notes in which the anchor is a link.
        saying_notes: other notes that say it, linked or not.
        centrality: of the target in the link graph, in (0, 1]; breaks ties.
    """

    link_probability: float
    commonness: float
    kind: Kind
    linked_notes: int
    saying_notes: int
    centrality: float


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
    """Suggests links for the notes of one vault; building it reads every note once."""

    def __init__(self, vault: Vault, identities: Identities) -> None:
        self.vault = vault
        self.dictionary: AnchorDictionary = build_dictionary(vault, identities)
        self._graph = link_graph(vault, identities)
        self._centrality = centrality(self._graph)
        self._titles = {note.path: note.title for note in vault.notes}

    def suggest(self, note: Note, options: SuggestOptions | None = None) -> list[LinkSuggestion]:
        """Suggestions for a note of this vault, the most confident first: one a target, without overlaps."""
        chosen = options or SuggestOptions()
        linked = set(self._graph[note.path]) if chosen.exclude_existing else set[str]()
        best: dict[str, LinkSuggestion] = {}
        for mention in self.dictionary.mentions[note.path]:
            found = self._suggestion(note, mention, linked, chosen)
            if found is None or found.confidence < chosen.min_confidence:
                continue
            known = best.get(found.target)
            if known is None or found.confidence > known.confidence:
                best[found.target] = found
        return sorted(best.values(), key=_order)[: chosen.max_suggestions]

    def linked_targets(self, path: str) -> frozenset[str]:
        """Paths of the notes that the note at `path` links to."""
        return frozenset(self._graph[path])

    def _suggestion(
        self, note: Note, mention: Mention, linked: set[str], options: SuggestOptions
    ) -> LinkSuggestion | None:
        anchor = mention.anchor
        if anchor.kinds.get(note.path, "text") != "text":
            return None  # the note speaks of itself
        probability = self.dictionary.link_probability(anchor, note.path)
        if probability < LEAST_LINK_PROBABILITY:
            return None
        targets = self._targets(anchor, note.path)
        commonness, target = min(targets, default=(0.0, ""))
        if not target or target in linked:
            return None
        features = self._features(anchor, target, note.path, probability, -commonness)
        span = Span(mention.start, mention.end)
        around = options.context_chars
        left = max(note.document.body_start, span.start - around)
        return LinkSuggestion(
            anchor=span.slice(note.text),
            span=span,
            target=target,
            target_title=self._titles[target],
            confidence=probability * -commonness,
            reason=_reason(features, note_language(note)),
            context=note.text[left : span.end + around].strip(),
            features=features,
        )

    def _targets(self, anchor: Anchor, note: str) -> Iterator[tuple[float, str]]:
        """Negative commonness and path of each note that the anchor may mean, the most common first."""
        for target in anchor.kinds:
            commonness = self.dictionary.commonness(anchor, target, note)
            if target != note and commonness:
                yield -commonness, target

    def _features(
        self, anchor: Anchor, target: str, note: str, probability: float, commonness: float
    ) -> Features:
        return Features(
            link_probability=probability,
            commonness=commonness,
            kind=anchor.kinds[target],
            linked_notes=len(anchor.linking) - (note in anchor.linking),
            saying_notes=anchor.mentions - 1,
            centrality=self._centrality[target],
        )


def suggest_links(
    vault: Vault,
    identities: Identities,
    notes: Iterable[Note],
    options: SuggestOptions | None = None,
) -> dict[str, list[LinkSuggestion]]:
    """Suggestions for some notes of a vault, by path."""
    suggester = LinkSuggester(vault, identities)
    return {note.path: suggester.suggest(note, options) for note in notes}


def _order(suggestion: LinkSuggestion) -> tuple[float, float, int]:
    return -suggestion.confidence, -suggestion.features.centrality, suggestion.span.start


_REASONS = {
    "ko": {
        "title": "노트 제목과 같음",
        "alias": "노트의 별칭과 같음",
        "heading": "노트의 첫 제목과 같음",
        "text": "다른 노트에서 이 말로 연결함",
        "linked": "이 말을 쓴 다른 노트 {said}개 중 {linked}개가 연결함",
        "shared": "연결의 {share:.0%}가 이 노트로 감",
    },
    "en": {
        "title": "title of the note",
        "alias": "alias of the note",
        "heading": "first heading of the note",
        "text": "other notes link it with these words",
        "linked": "linked in {linked} of {said} other notes that say it",
        "shared": "{share:.0%} of such links lead there",
    },
}


def _reason(features: Features, language: str) -> str:
    words = _REASONS["ko" if language == "ko" else "en"]
    parts = [words[features.kind]]
    if features.linked_notes:
        numbers = {"linked": features.linked_notes, "said": features.saying_notes}
        parts.append(words["linked"].format(**numbers))
    if features.commonness < 1:
        parts.append(words["shared"].format(share=features.commonness))
    return "; ".join(parts)
