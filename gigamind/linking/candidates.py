"""Find candidates for links: each name (`anchors.py`) or phrase (`phrases.py`) with each note that it may mean."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gigamind.linking.anchors import (
    Anchor,
    AnchorDictionary,
    Mention,
    build_dictionary,
    fold,
    running_text,
)
from gigamind.linking.features import Candidate, Features, MeantFeatures, NamedFeatures
from gigamind.linking.meaning import MAX_NAME_CHARS, NAMES, Meanings, Meant, plain_text
from gigamind.linking.phrases import phrases
from gigamind.linking.shared_words import SharedWords, Vector
from gigamind.retrieval.cache import Progress, quiet
from gigamind.retrieval.embed import Embedder
from gigamind.spans import Span
from gigamind.vault.graph import Neighbours, folders_between, link_graph, linked_paths
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault

_CAPITAL = re.compile(r"[A-Z]")
_NEXT_CAPITAL = re.compile(r"[ -][A-Z]")
# "no approval needed", "결재 없이": a denied thing is hardly ever linked.
_DENIED_BEFORE = re.compile(r"(?<!\w)(?:no|without)[ ]$", re.IGNORECASE)
_DENIED_BEHIND = re.compile(r"(?:[은는이가도]|이나|나)?[ ]?없[이는다음습어고]")
_PART_BEFORE = re.compile(r"[^\W_]-$")
_PART_BEHIND = re.compile(r"-[^\W_]")
# Milne & Witten 2008 cut at 0.065 based on the name alone; its surroundings may compensate for a lower value. A note's
# own names are always candidates.
LEAST_LINK_PROBABILITY = 0.003
_OCCURRENCES = 10  # occurrences of the same words that are considered
_CHARS_A_PHRASE = 200  # characters of a note per compared phrase,
_PHRASES = range(8, 31)  # within these limits
_SHARED = 2  # a heading of more notes is a name of none of them
LEAST_COSINE = 0.15  # below this, a phrase means no note


class CandidateFinder:
    """Finds the candidates of a vault's notes; building it reads every note once. No embedder: names only.

    Raises:
        EmbeddingError, IndexingError: see `Meanings`.
    """

    def __init__(
        self,
        vault: Vault,
        identities: Identities,
        embedder: Embedder | None,
        cache: Path | None = None,
        progress: Progress = quiet,
    ) -> None:
        self.vault = vault
        self.identities = identities
        self.dictionary: AnchorDictionary = build_dictionary(vault, identities)
        self.neighbours = Neighbours(link_graph(vault, identities))
        self.words = SharedWords(vault.notes)
        self.names = {note.path: _names(note) for note in vault.notes}
        self._phrases: dict[str, list[tuple[str, Span]]] = {}
        self.meanings: Meanings | None = None
        if embedder is not None and vault.notes:
            self.meanings = Meanings(
                vault.notes, self._names_to_compare(), embedder, cache, progress
            )

    def places(
        self,
        note: Note,
        context_chars: int,
        is_promising: Callable[[Features], bool] = lambda _features: True,
    ) -> list[list[Candidate]]:
        """Return the candidates of each place of a note, maybe a draft, in the order of the text, names first.

        Args:
            context_chars: code points of the surrounding paragraph that are compared with the target.
            is_promising: whether a phrase is worth computing exactly, given an upper bound of its features.
        """
        reading = _Reading(self, note, context_chars)
        return [*reading.named(), *reading.meant(is_promising)]

    def prepare(self, notes: Iterable[Note], progress: Progress = quiet) -> None:
        """Embed the phrases of all these notes at once."""
        if self.meanings is not None:
            self.meanings.prepare(
                (text for note in notes for text, _ in self.phrases(note, self.mentions(note))),
                progress,
            )

    def mentions(self, note: Note) -> Sequence[Mention]:
        """Return the names in the running text of a note, in order."""
        if self.vault.note(note.path) is note:
            return self.dictionary.mentions[note.path]
        return tuple(self.dictionary.find(running_text(note)))

    def phrases(self, note: Note, mentions: Sequence[Mention]) -> list[tuple[str, Span]]:
        """Return the most distinctive phrases of a note that are not names, in order, without repetitions."""
        if self.vault.note(note.path) is not note:
            return _phrases(note, mentions, self.words)
        if note.path not in self._phrases:
            self._phrases[note.path] = _phrases(note, mentions, self.words)
        return self._phrases[note.path]

    def linked(self, note: Note) -> frozenset[str]:
        """Return the paths of the notes that a note links to."""
        if self.vault.note(note.path) is note:
            return frozenset(self.neighbours.linked_from(note.path))
        return linked_paths(note, self.identities)

    def _names_to_compare(self) -> dict[str, tuple[str, ...]]:
        headings = Counter(
            text
            for note in self.vault.notes
            for text in {fold(heading.text) for heading in note.document.headings}
        )
        linked: defaultdict[str, list[str]] = defaultdict(list)
        for anchor in self.dictionary.anchors.values():
            for target in anchor.linked:
                linked[target].append(anchor.text)
        return {
            note.path: _first_names(
                note.title,
                *note.aliases,
                *(h.text for h in note.document.headings if headings[fold(h.text)] <= _SHARED),
                *sorted(linked[note.path]),
            )
            for note in self.vault.notes
        }


class _Reading:
    """Finds the candidates of one note."""

    def __init__(self, finder: CandidateFinder, note: Note, context_chars: int) -> None:
        self._finder, self._note, self._context_chars = finder, note, context_chars
        self._mentions = finder.mentions(note)
        self._linked = finder.linked(note)
        self._shared_with: dict[str, dict[str, Any]] = {}
        self._paragraphs: dict[Span, Vector] = {}
        self._names_in_note = len({
            target
            for mention in self._mentions
            if not self._is_own_name(mention.anchor)
            for target in mention.anchor.kinds
        })  # fmt: skip

    def named(self) -> Iterator[list[Candidate]]:
        """Yield the candidates of each name.

        Excluded are the note's own names, starts of longer names, denied things, and texts hardly ever linked.
        """
        occurrences: Counter[str] = Counter()
        for mention in self._mentions:
            anchor = mention.anchor
            occurrences[anchor.text] += 1
            if occurrences[anchor.text] > _OCCURRENCES or self._is_own_name(anchor):
                continue
            probability = self._finder.dictionary.link_probability(anchor, self._note.path)
            text, end = self._note.text, mention.span.end
            before = text[max(0, mention.span.start - 8) : mention.span.start]
            last = re.split(r"[ -]", mention.span.slice(text))[-1]
            if (
                (probability < LEAST_LINK_PROBABILITY and anchor.kind == "text")
                # The name continues: "Agents" in "the Agents SDK" is no mention of agents.
                or (_NEXT_CAPITAL.match(text, end) and _CAPITAL.match(last))
                # The text says that there is no such thing.
                or _DENIED_BEFORE.search(before)
                or _DENIED_BEHIND.match(text, end)
            ):
                continue
            occurrence = occurrences[anchor.text]
            candidates = [
                Candidate(
                    mention.span,
                    target,
                    self._of_name(mention, target, occurrence, probability, commonness),
                )
                for target, commonness in self._targets(anchor)
            ]
            if candidates:
                yield candidates

    def meant(self, is_promising: Callable[[Features], bool]) -> Iterator[list[Candidate]]:
        meanings, note = self._finder.meanings, self._note
        if meanings is None:
            return
        phrase_spans = self._finder.phrases(note, self._mentions)
        meanings.prepare(text for text, _ in phrase_spans)
        for text, span in phrase_spans:
            meant: list[Candidate] = []
            for nearest in meanings.nearest(text):
                if nearest.note == note.path or nearest.cosine < LEAST_COSINE:
                    continue
                features = self._of_phrase(text, nearest, meanings)
                if is_promising(features):
                    words = self._finder.words
                    features = replace(
                        features,
                        words_shared=words.cosine(self._paragraph(span), nearest.note),
                        overlap=words.overlap(text, nearest.name),
                    )
                    meant.append(Candidate(span, nearest.note, features))
            if meant:
                yield meant

    def _is_own_name(self, anchor: Anchor) -> bool:
        return anchor.kinds.get(self._note.path, "text") != "text"

    def _targets(self, anchor: Anchor) -> Iterator[tuple[str, float]]:
        for target in anchor.kinds:
            if target != self._note.path:
                commonness = self._finder.dictionary.commonness(anchor, target, self._note.path)
                if commonness:
                    yield target, commonness

    def _of_name(
        self,
        mention: Mention,
        target: str,
        occurrence: int,
        link_probability: float,
        commonness: float,
    ) -> NamedFeatures:
        anchor, span = mention.anchor, mention.span
        text = span.slice(self._note.text)
        linked, saying = self._finder.dictionary.others(anchor, self._note.path)
        return NamedFeatures(
            occurrence=occurrence,
            words_shared=self._finder.words.cosine(self._paragraph(span), target),
            link_probability=link_probability,
            commonness=commonness,
            kind=anchor.kinds[target],
            linked_notes=linked,
            saying_notes=saying,
            # With a capital, or letters without case: "tools" is a word, "Tools" and "도구" may be names.
            spelled_as_name=text in self._finder.names[target]
            and (text != text.lower() or not text.isascii()),
            **self._shared(anchor.text, target),
        )

    def _of_phrase(self, text: str, meant: Meant, meanings: Meanings) -> MeantFeatures:
        """Return the features of a phrase, assuming that it shares all words, which are slow to compare."""
        return MeantFeatures(
            occurrence=1,
            words_shared=1.0,
            name_cosine=round(meant.name_cosine, 4),
            beginning_cosine=round(meant.beginning_cosine, 4),
            lead=round(meant.lead, 4),
            note_cosine=round(meanings.cosine(self._note.path, meant.note), 4),
            overlap=1.0,
            passage=meant.passage,
            **self._shared(text, meant.note),
        )

    def _shared(self, text: str, target: str) -> dict[str, Any]:
        """Return the features that names and phrases share, by the words and the target."""
        if target not in self._shared_with:
            neighbours, path = self._finder.neighbours, self._note.path
            self._shared_with[target] = {
                "names_in_note": max(1, self._names_in_note),
                "words_shared_by_notes": self._finder.words.cosine_of_notes(path, target),
                "neighbours": neighbours.shared(self._linked, path, target),
                "folders_between": folders_between(path, target),
                "linked": target in self._linked,
                "linked_back": path in neighbours.linked_from(target),
                "centrality": neighbours.centrality(target),
            }
        return self._shared_with[target] | {
            "chars": len(text),
            "words": len(text.split()),
        }

    def _paragraph(self, span: Span) -> Vector:
        """Return the vector of the part of a block around a place; long blocks are cut every `context_chars`."""
        size, at = max(1, self._context_chars), self._note.document.block_at(span.start)
        block = at.span if at else Span(0, len(self._note.text))
        start = block.start + (span.start - block.start) // size * size
        piece = Span(start, max(span.end, min(block.end, start + size)))
        if piece not in self._paragraphs:
            self._paragraphs[piece] = self._finder.words.vector(piece.slice(self._note.text))
        return self._paragraphs[piece]


def _phrases(note: Note, mentions: Sequence[Mention], words: SharedWords) -> list[tuple[str, Span]]:
    taken = {mention.span for mention in mentions}
    first: dict[str, Span] = {}
    running = running_text(note)
    for start, end in phrases(running.folded):
        phrase = running.folded[start:end]
        if phrase in first or (span := running.span(start, end)) in taken:
            continue
        # A phrase that starts or ends inside a compound word is none: "call" in "on-call".
        before = note.text[max(0, span.start - 2) : span.start]
        if not (_PART_BEFORE.search(before) or _PART_BEHIND.match(note.text, span.end)):
            first[phrase] = span
    own = fold(note.title)
    most = min(max(len(note.text) // _CHARS_A_PHRASE, _PHRASES.start), _PHRASES.stop - 1)
    weights = {text: words.weight(text) for text in first if text not in own}
    best = sorted(weights, key=lambda text: (-weights[text], first[text].start))[:most]
    spans = sorted((first[text] for text in best), key=lambda span: span.start)
    # As written, because "RAG" tells a model more than "rag".
    return [(plain_text(span.slice(note.text)), span) for span in spans]


def _first_names(*names: str) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for name in names:
        if text := plain_text(name)[:MAX_NAME_CHARS]:
            first.setdefault(fold(text), text)
    return tuple(first.values())[:NAMES] or ("?",)


def _names(note: Note) -> frozenset[str]:
    headings = [heading.text for heading in note.document.headings if heading.level == 1][:1]
    return frozenset((note.title, note.stem, *note.aliases, *headings))
