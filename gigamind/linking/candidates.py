"""Find candidates for links: each name (`anchors.py`) or phrase with each note that it may mean."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gigamind.linking.anchors import (
    Anchor,
    AnchorDictionary,
    Mention,
    fold,
    running_text,
)
from gigamind.linking.features import Candidate, Features, MeantFeatures, NamedFeatures
from gigamind.linking.meaning import Meanings, Meant, plain_text
from gigamind.retrieval.cache import Progress, quiet
from gigamind.retrieval.embed import Embedder
from gigamind.spans import Span
from gigamind.text import is_particle, tokens
from gigamind.vault.graph import Neighbours, folders_between, link_graph, linked_paths
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault

_DIGITS = 6  # of a cosine; further ones depend on the order of summation


class _Vector(NamedTuple):
    """A sparse unit vector: positions, int32, and values, float64."""

    places: npt.NDArray[np.int32]
    parts: npt.NDArray[np.float64]


class _SharedWords:
    """Compares texts with the notes of one vault (Salton & Buckley 1988: 1 + ln tf, ln N/df, cosine)."""

    def __init__(self, notes: Iterable[Note]) -> None:
        counts = {note.path: Counter(tokens(_text(note))) for note in notes}
        frequencies = Counter(chain.from_iterable(counts.values()))
        self._idf = {token: log((len(counts) + 1) / n) for token, n in frequencies.items()}
        self._place = {token: place for place, token in enumerate(self._idf)}
        self._idfs = np.fromiter(self._idf.values(), np.float64, len(self._idf))
        self._weights: dict[str, float] = {}  # a vault repeats its phrases
        self._rarest = log(len(counts) + 1)
        self._notes = {path: self._unit(of_note) for path, of_note in counts.items()}
        # One vector in dense form, which is compared with many.
        self._laid: _Vector | None = None
        self._row = np.zeros(len(self._idf))

    def vector(self, text: str) -> _Vector:
        """Return the unit vector of a text; unknown words are left out, so it may be empty."""
        return self._unit(Counter(tokens(text)))

    def cosine(self, text: _Vector, note: str) -> float:
        """Return the cosine of a text's vector and the note at this path, in [0, 1]."""
        if self._laid is not text:
            if self._laid is not None:
                self._row[self._laid.places] = 0.0
            self._row[text.places] = text.parts
            self._laid = text
        places, parts = self._notes[note]
        return round(float((self._row[places] * parts).sum()), _DIGITS)

    def cosine_of_notes(self, left: str, right: str) -> float:
        """Return the cosine of the notes at two paths, in [0, 1]."""
        return self.cosine(self._notes[left], right)

    def weight(self, text: str) -> float:
        """Return how distinctive a phrase is: the idf of its words, the rarest first, each next one half."""
        known = self._weights.get(text)
        if known is None:
            rare = sorted(
                [self._idf.get(token, 0.0) for token in _distinct_tokens(text)], reverse=True
            )
            known = self._weights[text] = sum([idf / 2**at for at, idf in enumerate(rare)])
        return known

    def overlap(self, left: str, right: str) -> float:
        """Return the share of distinctive words that two phrases have in common, in [0, 1]."""
        words, other = _distinct_tokens(left), _distinct_tokens(right)
        both = words & other
        shared, every = (
            sum([self._idf.get(token, self._rarest) for token in sorted(some)])
            for some in (both, words | other)
        )
        return shared / every if both and every else 0.0

    def _unit(self, counts: Counter[str]) -> _Vector:
        known = [(self._place[token], n) for token, n in counts.items() if token in self._place]
        places, frequencies = np.array(known, np.int32).reshape(-1, 2).T.copy()
        parts = (1 + np.log(frequencies)) * self._idfs[places]
        length = np.sqrt((parts * parts).sum())
        return _Vector(places, parts / length if length else parts)


@lru_cache(maxsize=65_536)  # a vault repeats its phrases, and phrases their words
def _distinct_tokens(text: str) -> frozenset[str]:
    first, space, rest = text.partition(" ")
    return _distinct_tokens(first) | _distinct_tokens(rest) if space else frozenset(tokens(text))


def _text(note: Note) -> str:
    """Return the text of a note with its title counted twice."""
    return f"{note.title}\n{note.title}\n{note.text[note.document.body_start :]}"


_MAX_WORDS = 5
_WORD = re.compile(r"[^\W_]+(?:[.+#'’/][^\W_]+)*[+#]*")  # Next.js, C++, CI/CD
_HANGUL_END = re.compile("[가-힣]$")
_STOP_WORDS = (
    # English: function words, and common verbs and adverbs
    """
    a an the this that these those it its it's he she they them their his her our your my we you i me us
    and or but nor so yet if then than as because while when where which who whom whose what why how
    of in on at to for with by from into onto over under about after before between through during without within
    is are was were be been being am do does did done doing have has had having can could will would shall should
    may might must not no yes only also just very too more most less least such same other another any some each
    every all both either neither own there here up down out off again once now always never often still even much
    many few use used uses using see make makes made get gets set let like need needed needs want see add run open
    via per etc e.g i.e instead however therefore thus well let's don't doesn't can't won't isn't aren't
    following example examples above below e g new one two first last
    """
    # Korean: demonstratives, adverbs, dependent nouns and conjunctions
    """
    이 그 저 이런 그런 저런 이것 그것 저것 여기 거기 저기 것 수 등 때 및 또는 그리고 그러나 하지만 그래서 따라서
    즉 또 또한 더 가장 매우 모두 모든 각 각각 다른 같은 여러 어떤 무엇 언제 어디 누가 왜 어떻게 다음 위 아래 안 못
    잘 꼭 바로 다시 이미 아직 먼저 나중 지금 오늘 내일 어제 우리 저희 나 너 자신 경우 동안 이후 이전 대한 위한 통한
    관한 따른 의한 있는 없는 예 예를 들어 만약 만일 항상 자주 보통 주로 대신 함께 서로 거의 약 총 한 두 세 네 첫
    번째 가지 개 명 번 뿐 무조건
    """
)
_STOP = frozenset(_STOP_WORDS.split())
# 팀의 is a noun with a particle, but 나이 and 종이 are nouns
_AFTER_ONE_SYLLABLE = frozenset(
    {"은", "는", "을", "를", "의", "에", "에서", "에게", "과", "와", "으로", "까지", "부터"}
)


def _noun_runs(text: str) -> list[tuple[int, int]]:
    """Return offsets of each phrase in a folded text: every run of nouns, and its parts with the same last word.

    "지난 회의의 휴가 정책을" gives "지난 회의", "회의", "휴가 정책" and "정책": both languages put the head last.
    """
    offsets: list[tuple[int, int]] = []
    row: list[int] = []  # where its words begin
    end = 0
    for match in _WORD.finditer(text):
        size, closes = _noun(match[0])
        if row and (not size or text[end : match.start()] != " "):
            offsets += [(start, end) for start in row[-_MAX_WORDS:]]
            row = []
        if size:
            row.append(match.start())
            end = match.start() + size
            if closes:
                offsets += [(start, end) for start in row[-_MAX_WORDS:]]
                row = []
    return offsets + [(start, end) for start in row[-_MAX_WORDS:]]


@lru_cache(maxsize=65_536)  # a vault repeats its words
def _noun(word: str) -> tuple[int, bool]:
    """Return how much of a word is a noun, 0 for none, and whether a following particle ends the phrase."""
    if word in _STOP or word.isdigit() or (len(word) == 1 and word.isascii()):
        return 0, False
    if not _HANGUL_END.search(word):
        return len(word), False
    for end in range(1, len(word)):  # the longest particle, the shortest stem
        if (end > 1 or word[1:] in _AFTER_ONE_SYLLABLE) and is_particle(word[:end], word, end):
            stem = word[:end]
            is_noun = stem not in _STOP and not stem.isdigit()
            return (end, True) if is_noun else (0, False)
    return (len(word), False) if len(word) > 1 else (0, False)


_CAPITAL = re.compile(r"[A-Z]")
_NEXT_CAPITAL = re.compile(r"[ -][A-Z]")
# "no approval needed", "결재 없이": a denied thing is hardly ever linked.
_DENIED_BEFORE = re.compile(r"(?<!\w)(?:no|without)[ ]$", re.IGNORECASE)
_DENIED_BEHIND = re.compile(r"(?:[은는이가도]|이나|나)?[ ]?없[이는다음습어고]")
# A row of a table of options: what it says of them are words, unless spelled as a name.
_OPTION_ROW = re.compile(r"[ \t]*\|[ \t*]*(?:(`?--?[a-z])|`)", re.IGNORECASE)
_PART_BEFORE = re.compile(r"[^\W_]-$")
_PART_BEHIND = re.compile(r"-[^\W_]")
# Milne & Witten 2008 cut at 0.065 based on the name alone; its surroundings may compensate for a lower value. A note's
# own names are always candidates.
_LEAST_LINK_PROBABILITY = 0.003
_OCCURRENCES = 10  # occurrences of the same words that are considered
_CHARS_A_PHRASE = 200  # characters of a note per compared phrase,
_PHRASES = range(8, 31)  # within these limits
_SHARED = 2  # a heading of more notes is a name of none of them
_LEAST_COSINE = 0.15  # below this, a phrase means no note


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
        self.dictionary = AnchorDictionary.of(vault, identities)
        self.neighbours = Neighbours(link_graph(vault, identities))
        self.words = _SharedWords(vault.notes)
        self.names = {note.path: names_of(note) for note in vault.notes}
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
            return self.neighbours.linked_from[note.path]
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
            note.path: (
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
        self._paragraphs: dict[Span, _Vector] = {}
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
                (probability < _LEAST_LINK_PROBABILITY and anchor.kind == "text")
                # The name continues: "Agents" in "the Agents SDK" is no mention of agents.
                or (_NEXT_CAPITAL.match(text, end) and _CAPITAL.match(last))
                # The text says that there is no such thing.
                or _DENIED_BEFORE.search(before)
                or _DENIED_BEHIND.match(text, end)
                or _is_word_of_option(self._note, mention.span)
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
                if nearest.note == note.path or nearest.cosine < _LEAST_COSINE:
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
                "linked_back": path in neighbours.linked_from[target],
                "centrality": neighbours.centrality[target],
            }
        return self._shared_with[target] | {"chars": len(text), "words": len(text.split())}

    def _paragraph(self, span: Span) -> _Vector:
        """Return the vector of the part of a block around a place; long blocks are cut every `context_chars`."""
        size, at = max(1, self._context_chars), self._note.document.block_at(span.start)
        block = at.span if at else Span(0, len(self._note.text))
        start = block.start + (span.start - block.start) // size * size
        piece = Span(start, max(span.end, min(block.end, start + size)))
        if piece not in self._paragraphs:
            self._paragraphs[piece] = self._finder.words.vector(piece.slice(self._note.text))
        return self._paragraphs[piece]


def _is_word_of_option(note: Note, span: Span) -> bool:
    row = _OPTION_ROW.match(note.text, note.text.rfind("\n", 0, span.start) + 1)
    name = span.slice(note.text)
    return bool(row) and " " not in name and name == name.lower() and bool(row[1] or name.isascii())


def _phrases(
    note: Note, mentions: Sequence[Mention], words: _SharedWords
) -> list[tuple[str, Span]]:
    taken = {mention.span for mention in mentions}
    first: dict[str, Span] = {}
    running = running_text(note)
    for start, end in _noun_runs(running.folded):
        phrase = running.folded[start:end]
        if phrase in first or (span := running.span(start, end)) in taken:
            continue
        row = note.text.rfind("\n", 0, span.start) + 1
        if running.uncut & {span.start, span.end} or _OPTION_ROW.match(note.text, row):
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


def names_of(note: Note) -> frozenset[str]:
    """Return the names of a note: title, file name, aliases and first level-1 heading."""
    headings = [heading.text for heading in note.document.headings if heading.level == 1][:1]
    return frozenset((note.title, note.stem, *note.aliases, *headings))
