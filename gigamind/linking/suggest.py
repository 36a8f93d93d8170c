"""Suggest links for the notes of a vault: names of other notes in the running text, and phrases that mean one."""

import contextlib
import hashlib
import json
import re
import time
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import BaseModel

from gigamind.checksum import seal, text_hash, unsealed
from gigamind.choices import SHOWN_CONFIDENCE
from gigamind.i18n import Message, _, joined, n_, or_english, translator
from gigamind.linking.anchors import fold
from gigamind.linking.candidates import CandidateFinder, names_of
from gigamind.linking.features import Candidate, Features, MeantFeatures, NamedFeatures, NameKind
from gigamind.linking.habits import (
    Calibration,
    Habits,
    Scored,
    Scores,
    clearness,
    fit_models,
    hidden_links,
    logistic,
)
from gigamind.retrieval.cache import Cache, Progress, quiet, touch
from gigamind.retrieval.embed import Embedder
from gigamind.retrieval.embedders import load_short_embedder
from gigamind.runs.folders import private_file
from gigamind.spans import Span
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault

_LAYOUT = b"links 4"
# A change of any line in these packages may change suggestions.
_CODE = ("gigamind", "gigamind.datasets", "gigamind.linking", "gigamind.stats", "gigamind.vault")
_SOURCES = (".py", ".toml")


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A candidate, its log odds by the vault's weights, calibrated ones, and its `clearness`."""

    candidate: Candidate
    score: float
    odds: float
    clear: float
    elsewhere: tuple[Span, ...] = ()

    @property
    def confidence(self) -> float:
        # What a vault links so far are mostly names, and says little about phrases that it could link.
        return logistic(max(self.odds, self.clear))

    @property
    def is_phrase(self) -> bool:
        return isinstance(self.candidate.features, MeantFeatures)

    @property
    def commonness(self) -> float:
        features = self.candidate.features
        return features.commonness if isinstance(features, NamedFeatures) else 0.0


# Share of notes that may differ from those of a vault's last full reading; beyond it, all is computed again.
_CHANGED = 0.05
_SAVED_EVERY_S = 5.0


class _Written(BaseModel):
    """The content of the cache: suggestions by options and note, with the hash of the note."""

    habits: Habits
    notes: dict[str, str]  # path -> hash at the last full reading
    names: str
    rows: dict[str, dict[str, tuple[str, list[_Weighed]]]] = {}


class _Kept:
    """The cached suggestions for the unchanged notes of a vault; a `folder` of None disables the cache."""

    def __init__(self, folder: Path | None, vault: Vault, embedding_model: str | None) -> None:
        self._notes = {note.path: note.content_hash for note in vault.notes}
        self._names = _digest([(note.path, sorted(names_of(note))) for note in vault.notes])
        self._written: _Written | None = None
        self._file: Path | None = None
        self._is_new, self._saved_at = False, time.monotonic()
        if folder is None:
            return
        name = _digest(_code(), embedding_model, str(vault.root.resolve()))[:24]
        self._file = folder / f"{name}.links"
        with contextlib.suppress(OSError, ValueError):
            content = json.loads(bytes(unsealed(self._file.read_bytes(), _LAYOUT)))
            changed = dict(content["notes"].items() ^ self._notes.items())
            if len(changed) > _CHANGED * len(self._notes):
                return
            if content["names"] != self._names:  # another name may be meant in any note
                content |= {"names": self._names, "rows": {}}
            self._written = _Written.model_validate(content)
            touch(self._file)

    @property
    def habits(self) -> Habits | None:
        """Return the cached habits of the vault."""
        return self._written and self._written.habits

    def fit(self, habits: Habits) -> Habits:
        """Cache the habits of the vault."""
        self._written = _Written(habits=habits, notes=self._notes, names=self._names)
        self._is_new = True
        self.save()
        return habits

    def get(self, query: str, path: str) -> list[_Weighed] | None:
        """Return the cached suggestions of a note; None if there are none for these options."""
        rows = self._written.rows.get(query, {}) if self._written else {}
        content, suggestions = rows.get(path, ("", []))
        return suggestions if content == self._notes[path] else None

    def put(self, query: str, path: str, suggestions: list[_Weighed]) -> None:
        """Cache the suggestions of a note; they are written now and then, as a run may be stopped."""
        if self._written is not None:
            rows = self._written.rows.setdefault(query, {})
            rows[path] = self._notes[path], suggestions
            self._is_new = True
            if time.monotonic() > self._saved_at + _SAVED_EVERY_S:
                self.save()

    def save(self) -> None:
        """Write new entries; an unwritable folder only costs the next run time."""
        self._saved_at = time.monotonic()
        if self._file is None or self._written is None or not self._is_new:
            return
        written = json.dumps(self._written.model_dump(), ensure_ascii=False)
        content = written.encode("utf-8", "surrogatepass")
        with contextlib.suppress(OSError), private_file(self._file) as aside:
            aside.write_bytes(seal(content, _LAYOUT) + content)
            self._is_new = False


def _digest(*values: object) -> str:
    return text_hash(repr(values))


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for package in _CODE:
        for source in sorted(files(package).iterdir(), key=lambda source: source.name):
            if source.name.endswith(_SOURCES) and source.is_file():
                digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


# Thresholds from which a feature is mentioned.
_SHARED = 0.2  # tf-idf cosine
_NEAR = 1.0  # ln(1 + Adamic-Adar)
_QUOTED = 60  # code points of a passage
_NAMED: Mapping[NameKind, Message] = {
    "title": _("the words are the title or file name of the target note"),
    "alias": _("the words are an alias of the target note"),
    "heading": _("the words are the first level-1 heading of the target note"),
    "text": _("other notes link to the target note with these words"),
}


def _reason(features: NamedFeatures | MeantFeatures, language: str) -> str:
    """Return the evidence for a link in a language, the words themselves first."""
    parts = _of_words(features)
    if features.words_shared >= _SHARED:
        parts.append(
            _(
                "the paragraph and the target note share distinctive words (tf-idf cosine {cosine:.2f})",
                cosine=features.words_shared,
            )
        )
    if features.neighbours >= _NEAR:
        parts.append(_("both notes have links to or from the same other notes"))
    is_namesake = isinstance(features, NamedFeatures) and features.commonness < 1
    if is_namesake and features.folders_between == 0:
        parts.append(_("both notes are in the same folder"))
    if features.linked_back:
        parts.append(_("the target note already links to this note"))
    return translator(language)(joined(parts, "; "))


def _of_words(features: NamedFeatures | MeantFeatures) -> list[Message]:
    if isinstance(features, MeantFeatures):
        shown = features.passage[:_QUOTED] + ("…" if len(features.passage) > _QUOTED else "")
        cosine = max(features.name_cosine, features.beginning_cosine)
        return [
            _(
                'the words are close in meaning to "{passage}" of the target note (cosine similarity {cosine:.2f})',
                passage=shown,
                cosine=cosine,
            )
        ]
    parts = [_NAMED[features.kind]]
    if features.linked_notes:
        parts.append(
            n_(
                "{linked} of {n} other note that contains these words uses them as a link",
                "{linked:,} of {n:,} other notes that contain these words use them as a link",
                n=features.saying_notes,
                linked=features.linked_notes,
            )
        )
    if features.commonness < 1:
        parts.append(
            _(
                "{share:.0%} of the links with these words lead to the target note",
                share=features.commonness,
            )
        )
    return parts


# Below this, a suggestion is wrong 32 times in 33. Shown suggestions start far above; lower ranks count for recall, and
# links without a common word rarely have a high confidence. Chosen on the vaults that the weights were fitted on.
LEAST_CONFIDENCE = 0.03
_CONFIDENT_NAME = 0.1  # confidence from which a name takes precedence over phrases
# Log odds by which the first place of a name may be below the best place and still be linked. Of 902 links removed from
# 9 vaults, 504 are found at their place; 501 if the best place is always taken, 483 if the first.
_SIMILAR_ODDS = 1.0
_CALIBRATED_WITH = 5  # suggestions per note, which people look at most
# "**" between "]" and a letter closes nothing, between a letter and "[" it opens nothing; "![" is an embed.
_BEFORE = re.compile(r"(?:\w[*_~]{1,3}|[!\\])$")
_BEHIND = re.compile(r"[*_~]+\w")


@dataclass(frozen=True, slots=True)
class SuggestOptions:
    """What to suggest."""

    max_suggestions: int = 10  # maximum number; the most confident ones are kept
    min_confidence: float = SHOWN_CONFIDENCE  # in [0, 1]
    exclude_existing: bool = True  # leave out targets that the note links to already
    context_chars: int = 400  # code points around an anchor that are compared and shown
    unlikely: bool = False  # include suggestions below `LEAST_CONFIDENCE`
    language: str | None = None  # of the reasons; None: that of the note

    def least(self, features: Features) -> float:
        """Return the minimum confidence of a suggestion; none for a note's own names, which their author chose."""
        is_own = isinstance(features, NamedFeatures) and features.kind != "text"
        every = self.unlikely or is_own
        return self.min_confidence if every else max(self.min_confidence, LEAST_CONFIDENCE)


@dataclass(frozen=True, slots=True)
class LinkSuggestion:
    """A link that a note could have."""

    anchor: str  # text of the link, as in the note
    span: Span  # in code points
    target: str  # path of the target note
    target_title: str
    confidence: float  # probability that a person makes this link; maximum of its places
    scores: Scores  # the evidence at this place, separately
    reason: str  # the evidence in words, in the note's language
    context: str  # text around the anchor
    features: Features
    elsewhere: tuple[Span, ...] = ()  # places of the same name, tried in order if this one fails

    @property
    def confidence_text(self) -> str:
        """Return the confidence with two digits, at most 0.99."""
        return f"{min(self.confidence, 0.99):.2f}"

    @property
    def is_phrase(self) -> bool:
        """Return whether the words mean the target without being a name of it."""
        return isinstance(self.features, MeantFeatures)


class LinkSuggester:
    """Suggests links for the notes of one vault; without an embedder, names only.

    Building it reads every note once, unless suggestions are cached. `progress` gets (texts embedded, total texts).

    Raises:
        EmbeddingError: the model failed.
        IndexingError: the cache cannot be used.
    """

    def __init__(
        self,
        vault: Vault,
        identities: Identities,
        embedder: Embedder | None = None,
        cache: Cache | None = None,
        progress: Progress = quiet,
    ) -> None:
        self.vault = vault
        self._identities, self._embedder = identities, embedder
        self._cache, self._progress = cache, progress
        self._kept = _Kept(cache and cache.links, vault, self.embedding_model)
        self._habits = self._kept.habits
        self._titles = {note.path: note.title for note in vault.notes}
        self._read: tuple[Note, tuple[object, ...], list[list[Candidate]]] | None = None
        if self._habits is None:
            _finder = self.finder  # raises errors here rather than later

    @cached_property
    def finder(self) -> CandidateFinder:
        """Return the finder of candidates."""
        vectors = self._cache and self._cache.embeddings
        return CandidateFinder(
            self.vault, self._identities, self._embedder, vectors, self._progress
        )

    @property
    def habits(self) -> Habits:
        """Return the linking habits of this vault, fitted at the first suggestion."""
        if self._habits is None:
            self._habits = self._kept.fit(self._learned())
        return self._habits

    def _learned(self) -> Habits:
        hidden = hidden_links(self.vault, self._identities)
        read: dict[int, list[list[Candidate]]] = {}  # by the identity of notes that `hidden` keeps

        def places(note: Note) -> list[list[Candidate]]:
            if id(note) not in read:
                read[id(note)] = self.finder.places(note, SuggestOptions().context_chars)
            return read[id(note)]

        models = fit_models(hidden, places)

        def names(note: Note) -> list[Scored]:
            named = [p for p in places(note) if not isinstance(p[0].features, MeantFeatures)]
            return _scored(_chosen(note, named, frozenset(), Habits(models)))

        def phrases(note: Note, calibration: Calibration) -> list[Scored]:
            best = _chosen(note, places(note), frozenset(), Habits(models, calibration))
            return _scored([meaning for meaning in best if meaning.is_phrase])

        semantic = phrases if self._embedder else None
        calibration = Calibration.fitted(hidden, names, semantic, notes=len(self.vault.notes))
        return Habits(models, calibration)

    @property
    def embedding_model(self) -> str | None:
        """Return the full name of the embedder; None for names only."""
        return self._embedder.name if self._embedder else None

    def prepare(
        self,
        notes: Iterable[Note],
        progress: Progress = quiet,
        options: SuggestOptions | None = None,
    ) -> None:
        """Embed what these suggestions for all these notes need, which is faster than note by note."""
        chosen = options or SuggestOptions()
        missing = [note for note in notes if self._known(note, chosen) is None]
        if missing:
            self.finder.prepare(missing, progress)

    def suggest(self, note: Note, options: SuggestOptions | None = None) -> list[LinkSuggestion]:
        """Return suggestions for a note of this vault: one per target, without overlaps.

        First come those that the vault's own links make likeliest, whatever the `confidence` of a phrase.
        """
        chosen = options or SuggestOptions()
        known = self._known(note, chosen)
        if known is None:
            linked = self.finder.linked(note) if chosen.exclude_existing else frozenset[str]()
            known = [
                meaning
                for meaning in _chosen(note, self._places(note, chosen), linked, self.habits)
                if meaning.confidence >= chosen.least(meaning.candidate.features)
            ]
            if self._is_kept(note, chosen):
                self._kept.put(_query_key(chosen), note.path, known)
        return [self._suggestion(note, rated, chosen) for rated in known[: chosen.max_suggestions]]

    def keep(self) -> None:
        """Store the suggestions for later runs over the same vault."""
        self._kept.save()
        if self._cache is not None:
            self._cache.prune()

    def _is_kept(self, note: Note, options: SuggestOptions) -> bool:
        return not options.unlikely and self.vault.note(note.path) is note

    def _known(self, note: Note, options: SuggestOptions) -> list[_Weighed] | None:
        is_kept = self._is_kept(note, options)
        return self._kept.get(_query_key(options), note.path) if is_kept else None

    def _places(self, note: Note, options: SuggestOptions) -> list[list[Candidate]]:
        """Return the candidates of a note, cached for the last note: an evaluation asks twice per note."""
        habits = self.habits

        def is_promising(features: Features) -> bool:
            odds = max(habits.odds(features), clearness(features))
            return logistic(odds) >= options.least(features)

        query = options.context_chars, options.unlikely, options.min_confidence, habits
        if self._read is None or self._read[0] is not note or self._read[1] != query:
            places = self.finder.places(note, options.context_chars, is_promising)
            self._read = note, query, places
        return self._read[2]

    def _suggestion(self, note: Note, rated: _Weighed, options: SuggestOptions) -> LinkSuggestion:
        span, target = rated.candidate.span, rated.candidate.target
        features = rated.candidate.features
        around = options.context_chars
        left = max(note.document.body_start, span.start - around // 2)
        language = options.language or or_english(note_language(note))
        return LinkSuggestion(
            anchor=span.slice(note.text),
            span=span,
            target=target,
            target_title=self._titles[target],
            confidence=rated.confidence,
            scores=self.habits.models.scores(features),
            reason=_reason(features, language),
            context=note.text[left : span.end + around // 2].strip(),
            features=features,
            elsewhere=rated.elsewhere,
        )

    @classmethod
    def load(
        cls,
        vault: Vault,
        identities: Identities,
        embedder: str | None,
        cache_folder: Path,
        progress: Progress = quiet,
    ) -> Self:
        """Return a suggester with the embedder of that name, which shares the cache of searches; None: names only.

        Raises:
            InputError: the embedder is unknown or not installed.
            EmbeddingError: it cannot be loaded or reached, or failed.
            IndexingError: the cache cannot be used.
        """
        model = load_short_embedder(embedder) if embedder else None
        return cls(vault, identities, model, Cache(cache_folder), progress)


def _query_key(options: SuggestOptions) -> str:
    linked = "new" if options.exclude_existing else "all"
    return f"{linked} {options.context_chars} {options.min_confidence}"


def _chosen(
    note: Note, places: Iterable[Iterable[Candidate]], linked: frozenset[str], habits: Habits
) -> list[_Weighed]:
    """Return the likeliest meaning of each place and the best place of each target, without overlaps, best first.

    A confident name takes precedence over phrases: names are right more often than phrases with the same confidence.
    """
    meanings = [meaning for place in places for meaning in _meanings(place, linked, habits)]
    of_target: defaultdict[str, list[_Weighed]] = defaultdict(list)
    for meaning in meanings:
        of_target[meaning.candidate.target].append(meaning)
    chosen: dict[str, _Weighed] = {}
    taken: list[tuple[int, int]] = []  # without overlaps, rising

    def is_free(meaning: _Weighed) -> bool:
        span = meaning.candidate.span
        at = bisect_left(taken, (span.end,))
        return at == 0 or taken[at - 1][1] <= span.start

    def precedence(meaning: _Weighed) -> tuple[bool, bool, object]:
        is_confident_name = not meaning.is_phrase and logistic(meaning.odds) >= _CONFIDENT_NAME
        is_clear = meaning.clear > 0  # more likely accepted than not
        return not is_confident_name, not is_clear, _order(meaning)

    for meaning in sorted(meanings, key=precedence):
        target = meaning.candidate.target
        if target not in chosen and is_free(meaning):
            placed = _placed(meaning, filter(is_free, of_target[target]), note)
            chosen[target] = placed
            insort(taken, (placed.candidate.span.start, placed.candidate.span.end))
    return sorted(chosen.values(), key=_order)


def _placed(best_meaning: _Weighed, meanings: Iterable[_Weighed], note: Note) -> _Weighed:
    """Move a meaning to the place to link: the clearest phrase, or the first in prose that can hold a link."""
    if best_meaning.is_phrase:
        of_words = [meaning for meaning in meanings if meaning.is_phrase]
        clearest = max(of_words, key=lambda meaning: meaning.clear)
        return replace(best_meaning, candidate=clearest.candidate, clear=clearest.clear)

    def name_of(meaning: _Weighed) -> tuple[bool | None, str]:
        candidate, features = meaning.candidate, meaning.candidate.features
        as_name = features.spelled_as_name if isinstance(features, NamedFeatures) else None
        return as_name, fold(candidate.span.slice(note.text))

    def order(meaning: _Weighed) -> tuple[bool, bool, bool, Span]:
        span = meaning.candidate.span
        less = meaning.odds < best_meaning.odds - _SIMILAR_ODDS
        block = note.document.block_at(span.start)
        in_table = block is not None and block.kind == "table"
        # Whether a link would change how the text around is parsed; `insertion.py` checks precisely.
        before = note.text[max(0, span.start - 4) : span.start]
        breaks = bool(_BEFORE.search(before) or _BEHIND.match(note.text, span.end))
        return breaks, less, in_table, span

    name = name_of(best_meaning)
    same = [meaning for meaning in meanings if name_of(meaning) == name]
    first, *others = [meaning.candidate for meaning in sorted(same, key=order)]
    return replace(best_meaning, candidate=first, elsewhere=tuple(other.span for other in others))


def _scored(best: Sequence[_Weighed]) -> list[Scored]:
    return [Scored(meaning.score, meaning.candidate.target) for meaning in best[:_CALIBRATED_WITH]]


def _meanings(place: Iterable[Candidate], linked: frozenset[str], habits: Habits) -> list[_Weighed]:
    """Return the likeliest meaning of an unlinked name, or all of a phrase, of which another may have the likeliest."""
    weighed: list[_Weighed] = []
    for candidate in place:
        features = candidate.features
        odds, clear = habits.odds(features), clearness(features)
        weighed.append(_Weighed(candidate, habits.score(features), odds, clear))
    free = [meaning for meaning in weighed if meaning.candidate.target not in linked]
    if not free or free[0].is_phrase:
        return free
    best = min(free, key=_order)
    usual = max((meaning.commonness for meaning in weighed if meaning not in free), default=0.0)
    return [best] if best.commonness > usual else []


def _order(weighed: _Weighed) -> tuple[float, bool, float, int, str]:
    """Sort key: highest odds first, on ties names before phrases, then the most central target."""
    candidate = weighed.candidate
    return (
        -weighed.odds,
        weighed.is_phrase,
        -candidate.features.centrality,
        candidate.span.start,
        candidate.target,
    )
