"""The dictionary of anchors: what people in this vault call its notes, and how often they link those words.

A name is a title, a file name, an alias, a first heading, or the text of a link somewhere in the vault.  Counts are of
notes, not of occurrences: people link a name once in a note (Milne & Witten, CIKM 2008).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ahocorasick_rs import AhoCorasick, MatchKind

from gigamind.linking.josa import is_particle
from gigamind.linking.places import Run, fold, runs
from gigamind.vault.document import Link
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault

Kind = Literal["title", "alias", "heading", "text"]

KINDS: tuple[Kind, ...] = ("title", "alias", "heading", "text")  # the strongest first
_LEAST_CHARS = 2
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]$")
MAX_WORDS = 6
# How many notes' worth a name's kind counts beside what the notes themselves say about the name.
_PRIOR_NOTES = 2.0


@dataclass(slots=True)
class Anchor:
    """One name and what is known about it.

    Attributes:
        text: folded.
        kinds: path of a note that the name means -> the strongest way in which it does.
        linked: path of a note it was linked to -> paths of the notes that do so.
        linking: paths of all notes in which it is a link.
        mentions: how many notes say it, linked or not.
    """

    text: str
    kinds: dict[str, Kind] = field(default_factory=dict[str, Kind])
    linked: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    linking: set[str] = field(default_factory=set[str])
    mentions: int = 0

    @property
    def kind(self) -> Kind:
        """The strongest kind for any note."""
        return min(self.kinds.values(), key=KINDS.index)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in the running text of a note, in code points of the note."""

    anchor: Anchor
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AnchorDictionary:
    """Every name of a vault's notes.

    Attributes:
        mentions: path of a note -> the names in its running text, in order, without overlaps.
        priors: kind -> share of the notes that link such a name among those that say it.
    """

    anchors: Mapping[str, Anchor]
    mentions: Mapping[str, tuple[Mention, ...]]
    priors: Mapping[Kind, float]

    def link_probability(self, anchor: Anchor, note: str) -> float:
        """How likely a note that says this name links it, in (0, 1), by what the *other* notes do.

        The share of its kind in this vault stands in for notes that do not say it.
        """
        linked = len(anchor.linking) - (note in anchor.linking)
        said = anchor.mentions - 1
        prior = self.priors[anchor.kind]
        return (linked + _PRIOR_NOTES * prior) / (said + _PRIOR_NOTES)

    def commonness(self, anchor: Anchor, target: str, note: str) -> float:
        """Share of the name's links that lead to `target`, in (0, 1], those of `note` left out.

        Being called so by its own title, alias or heading counts as one link.
        """
        counts = {
            path: len(sources) - (note in sources) + (anchor.kinds.get(path, "text") != "text")
            for path, sources in anchor.linked.items()
        }
        counts |= {path: 1 for path in anchor.kinds if path not in counts}
        total = sum(counts.values())
        return counts.get(target, 0) / total if total else 0.0


def build_dictionary(
    vault: Vault, identities: Identities, *, max_words: int = MAX_WORDS
) -> AnchorDictionary:
    """Collect the names of a vault, and read every note once for where they stand."""
    anchors: dict[str, Anchor] = {}
    for note in vault.notes:
        for text, kind in _names(note):
            _add(anchors, text, note.path, kind, max_words)
        for link in note.document.links:
            _add_link(anchors, link, note, identities, max_words)
    finder = _Finder(anchors)
    mentions = {note.path: tuple(finder.mentions(runs(note))) for note in vault.notes}
    said: defaultdict[str, set[str]] = defaultdict(set)
    for path, found in mentions.items():
        for mention in found:
            said[mention.anchor.text].add(path)
    for anchor in anchors.values():
        anchor.mentions = len(said[anchor.text] | anchor.linking)
    return AnchorDictionary(anchors, mentions, _priors(anchors.values()))


def _names(note: Note) -> Iterator[tuple[str, Kind]]:
    """What a note calls itself; Korean names also without their spaces, which writers use freely."""
    for text in (note.title, note.stem, note.path, note.path.removesuffix(".md")):
        yield text, "title"
    for alias in note.aliases:
        yield alias, "alias"
    first = next((h.text for h in note.document.headings if h.level == 1), "")
    if first:
        yield first, "heading"
    bare = _ASIDE.sub("", note.title)
    if bare != note.title:  # "경비 규정 (서울)" is called "경비 규정" where it is clear which
        yield bare, "alias"
    for text in (note.title, *note.aliases):
        if " " in text and any("가" <= char <= "힣" for char in text):
            yield text.replace(" ", ""), "alias"


def _add(
    anchors: dict[str, Anchor], name: str, path: str, kind: Kind, max_words: int
) -> Anchor | None:
    text = fold(name)
    if len(text) < _LEAST_CHARS or len(text.split()) > max_words or "\n" in text:
        return None
    if not any(char.isalnum() for char in text):
        return None
    anchor = anchors.setdefault(text, Anchor(text))
    known = anchor.kinds.get(path)
    if known is None or KINDS.index(kind) < KINDS.index(known):
        anchor.kinds[path] = kind
    return anchor


def _add_link(
    anchors: dict[str, Anchor], link: Link, note: Note, identities: Identities, max_words: int
) -> None:
    resolution = identities.resolve_link(link, note.path)
    if resolution is None or link.embed or resolution.note.path == note.path:
        return
    anchor = _add(anchors, _name_of(link, note), resolution.note.path, "text", max_words)
    if anchor is not None:
        anchor.linked.setdefault(resolution.note.path, set()).add(note.path)
        anchor.linking.add(note.path)


def _name_of(link: Link, note: Note) -> str:
    """The words of a link; of `[[note#part]]`, which stands as "note > part" in no other text, the name of the note."""
    if link.wikilink and link.fragment and "|" not in link.span.slice(note.text):
        return link.target
    return link.text


def _priors(anchors: Iterable[Anchor]) -> dict[Kind, float]:
    """Share of linking notes among saying notes, of each kind; one note for and one against where nothing is known.

    A name that stands in the dictionary only because one note links it could not have been found in that note: such
    links prove nothing, and are left out.
    """
    linked: Counter[Kind] = Counter()
    said: Counter[Kind] = Counter()
    for anchor in anchors:
        links = len(anchor.linking)
        counted = 0 if anchor.kind == "text" and links == 1 else links
        linked[anchor.kind] += counted
        said[anchor.kind] += counted + anchor.mentions - links
    return {kind: (linked[kind] + 1) / (said[kind] + 2) for kind in KINDS}


class _Finder:
    """Finds all names in one pass over a text, whatever their number."""

    def __init__(self, anchors: Mapping[str, Anchor]) -> None:
        self._anchors = list(anchors.values())
        texts = [anchor.text for anchor in self._anchors]
        self._automaton = AhoCorasick(texts, matchkind=MatchKind.Standard) if texts else None

    def mentions(self, places: Iterable[Run]) -> Iterator[Mention]:
        """The longest name at each place, from left to right, without overlaps."""
        for run in places:
            done = 0
            for index, start, end in self._matches(run.folded):
                if start >= done and _stands_alone(run.folded, start, end):
                    span = run.span(start, end)
                    yield Mention(self._anchors[index], span.start, span.end)
                    done = end

    def _matches(self, text: str) -> list[tuple[int, int, int]]:
        if self._automaton is None:
            return []
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return sorted(found, key=lambda match: (match[1], -match[2]))


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a match begins at a word, and ends at one or before Korean particles."""
    if start and text[start - 1].isalnum():
        return False
    if end == len(text) or not text[end].isalnum():
        # "lock.md" and "3.5" are one word
        return not (text[end : end + 1] == "." and text[end + 1 : end + 2].isalnum())
    return is_particle(text[start:end], text, end)
