"""Collect all names of a vault's notes, and find where the running text of a note mentions one.

Particles may follow a name: "모아 재배치에서는" mentions "모아 재배치", but "회의적인" does not mention "회의".
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Self, get_args

from ahocorasick_rs import AhoCorasick, MatchKind

from gigamind.linking.features import NameKind
from gigamind.spans import Span, spliced
from gigamind.text import is_particle
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Link
from gigamind.vault.marks import ADDRESS
from gigamind.vault.notes import Note, Vault

_NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)
_NO_PROSE = re.compile(
    rf"{ADDRESS}|(?<![\w.+-])[\w.+-]++@[\w.-]+|(?<![\w&])[#^][\w/-]+|\[\[[^\[\]\n]*+\]\]"
)
_SIGNS_OF_NO_PROSE = ("://", "www.", "@", "#", "^", "[[")
# Linked as a whole or not at all: options, file names, words of code and paths through menus.
_WHOLE = re.compile(
    r"""
    (?<![\w-])(?:--[a-z][\w-]*+|-[a-z]{1,2}+(?!\w))(?:=\S++)?
    | (?<![\w./\\])(?:~|\.{1,2}+)?[/\\][\w.-]++(?:[/\\][\w.-]*+)*
    | (?<![\w./\\-])(?P<path>[\w.-]++(?:[/\\][\w.-]*+)+)
    | (?<![\w.-])[a-z0-9-]++(?:[._][a-z0-9-]++)+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PATH = re.compile(r"[/\\]$|[/\\][\w-]*+\.[a-z]\w*+$|[/\\].+[/\\]", re.IGNORECASE)
# A step of a path through menus; markup is line feeds here.
_STEP = re.compile(r"(?<!\s)\s{1,6}+[>▸›»→]\s{1,6}+")
_ITEM = r"[^\s.,:;!?()\[\]<>|→▸›»]"
_FIRST_ITEM = re.compile("(?<!I)(?:I++ )?I++$".replace("I", _ITEM))
_LAST_ITEM = re.compile("I++(?: I++)?".replace("I", _ITEM))
_ITEM_CHARS = 40
_NO_ITEM = frozenset(".,:;!?()")
_SEPARATOR = re.compile(r"[^\S\n ]|[_-]")


@dataclass(frozen=True, slots=True)
class _RunningText:
    """The running text of a note, without markup."""

    folded: str  # lower case, NFC, separators as a space, anything but prose as line feeds
    start: int = 0  # offset in the note, in code points
    origins: tuple[int, ...] | None = None  # by place in `folded`, from `start`; None if equal
    uncut: frozenset[int] = frozenset()  # offsets in the note where no link begins or ends

    def span(self, start: int, end: int) -> Span:
        """Return the code points of the note for `folded[start:end]`."""
        if self.origins is not None:
            start, end = self.origins[start], self.origins[end]
        return Span(self.start + start, self.start + end)


def fold(text: str) -> str:
    """Return a name in the form for comparison: as `_RunningText.folded`, stripped."""
    return _folded(text)[0].strip()


def running_text(note: Note) -> _RunningText:
    """Return the parts of a note in which a link could be written."""
    pieces: list[str] = []
    done = start = note.document.body_start
    for span in note.document.running:
        piece = span.slice(note.text)
        if any(sign in piece for sign in _SIGNS_OF_NO_PROSE):
            piece = _NO_PROSE.sub(lambda match: "\n" * len(match[0]), piece)
        pieces += ["\n" * (span.start - done), piece]
        done = span.end
    in_body = (Span(span.start - start, span.end - start) for span in bracketed(note))
    text = spliced("".join(pieces), ((s, "\n" * len(s)) for s in in_body))
    uncut = (range(start + first + 1, start + end) for first, end in _wholes(text))
    folded, origins = _folded(text)
    return _RunningText(
        folded, start, None if origins is None else tuple(origins), frozenset(chain(*uncut))
    )


def _wholes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places that are linked as a whole or not at all."""
    for match in _WHOLE.finditer(text):
        if match["path"] is None or _PATH.search(match["path"]):
            yield match.span()
    paths: list[list[re.Match[str]]] = []
    for step in _STEP.finditer(text):
        between = text[paths[-1][-1].end() : step.start()] if paths else "."
        if len(between) <= _ITEM_CHARS and _NO_ITEM.isdisjoint(between):
            paths[-1].append(step)
        else:
            paths.append([step])
    for steps in paths:
        start, end = steps[0].start(), steps[-1].end()
        # A single arrow is often no menu: "A → B".
        if len(steps) > 1 or "→" not in steps[0][0]:
            before = text[max(0, start - 2 * _ITEM_CHARS) : start]
            if first := _FIRST_ITEM.search(before):
                last = _LAST_ITEM.match(text, end, end + 2 * _ITEM_CHARS)
                yield start - len(first[0]), last.end() if last else end


def _folded(text: str) -> tuple[str, list[int] | None]:
    """Return the folded text, and the origin of each of its characters unless none has moved."""
    lower = text.lower()
    if len(lower) == len(text) and unicodedata.is_normalized("NFC", lower):
        return _SEPARATOR.sub(" ", lower), None
    pieces: list[str] = []
    origins: list[int] = []
    start = 0
    ends = (at for at in range(1, len(text)) if not _composes(text[at]))
    for end in [*ends, len(text)]:
        piece = unicodedata.normalize("NFC", text[start:end].lower())
        pieces.append(piece)
        moved = len(piece) != end - start
        origins += [start] * len(piece) if moved else range(start, end)
        start = end
    return _SEPARATOR.sub(" ", "".join(pieces)), [*origins, len(text)]


def _composes(char: str) -> bool:
    if "\u1160" <= char <= "\u11ff" or unicodedata.combining(char):  # vowel and final jamo
        return True
    return not unicodedata.is_normalized("NFC", char)


_LEAST_CHARS = 2
_ASIDE = re.compile(r"(?:(?<!\s)\s++)?[(（][^()（）]*[)）]$")
_MAX_WORDS = 6
# A title may be a sentence ("Inserting a Calc Chart into a Text Document"); other phrases that long never recur.
_MAX_TITLE_WORDS = 16


@dataclass(slots=True)
class Anchor:
    """A name and what is known about it."""

    text: str  # folded
    kinds: dict[str, NameKind] = field(default_factory=dict[str, NameKind])  # strongest, by note
    linked: dict[str, set[str]] = field(default_factory=dict[str, set[str]])  # target -> sources
    linking: set[str] = field(default_factory=set[str])  # paths of all notes in which it is a link
    # paths of all notes that mention it, linked or not. Notes with this name are included only if they link it to
    # another note, because a note does not link its own name.
    saying: set[str] = field(default_factory=set[str])

    @property
    def kind(self) -> NameKind:
        """Return the strongest kind for any note."""
        return min(self.kinds.values(), key=_NAME_KINDS.index)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in the running text of a note, in code points of the note."""

    anchor: Anchor
    span: Span


# Weight of the prior of a name's kind, in notes.
_PRIOR_NOTES = 2.0


@dataclass(frozen=True, slots=True)
class AnchorDictionary:
    """All names of a vault's notes."""

    anchors: Mapping[str, Anchor]
    mentions: Mapping[str, tuple[Mention, ...]]  # by note, in order, without overlaps
    # kind -> share of notes that link a name of this kind, among notes that mention it
    priors: Mapping[NameKind, float]
    find: Callable[[_RunningText], Iterator[Mention]]  # finds them in other texts; see `_finder`

    @classmethod
    def of(cls, vault: Vault, identities: Identities, *, max_words: int = _MAX_WORDS) -> Self:
        """Collect the names of a vault, and read every note once to find mentions."""
        anchors: dict[str, Anchor] = {}
        for note in vault.notes:
            for text, kind in _names(note):
                _add(anchors, text, note.path, kind, _MAX_TITLE_WORDS)
            for link in note.document.links:
                _add_link(anchors, link, note, identities, max_words)
        find = _finder(list(anchors.values()), vault)
        mentions = {note.path: tuple(find(running_text(note))) for note in vault.notes}
        for path, of_note in mentions.items():
            for mention in of_note:
                if path not in mention.anchor.kinds:
                    mention.anchor.saying.add(path)
        for anchor in anchors.values():
            anchor.saying |= anchor.linking
        return cls(anchors, mentions, _priors(anchors.values()), find)

    def link_probability(self, anchor: Anchor, note: str) -> float:
        """Return the probability, in (0, 1), that a note links this name, by the *other* notes that mention it."""
        linked, saying = self.others(anchor, note)
        prior = self.priors[anchor.kind]
        return (linked + _PRIOR_NOTES * prior) / (saying + _PRIOR_NOTES)

    def others(self, anchor: Anchor, note: str) -> tuple[int, int]:
        """Return how many other notes link the name, and how many mention it, linked or not."""
        linking, saying = anchor.linking, anchor.saying
        return len(linking) - (note in linking), len(saying) - (note in saying)

    def commonness(self, anchor: Anchor, target: str, note: str) -> float:
        """Return the share of the name's links outside `note` that lead to `target`; a name of a note is one link."""
        counts = {
            path: len(sources) - (note in sources) + (anchor.kinds.get(path, "text") != "text")
            for path, sources in anchor.linked.items()
        }
        counts |= {path: 1 for path in anchor.kinds if path not in counts}
        total = sum(counts.values())
        return counts.get(target, 0) / total if total else 0.0


def _names(note: Note) -> Iterator[tuple[str, NameKind]]:
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
    anchors: dict[str, Anchor], name: str, path: str, kind: NameKind, max_words: int
) -> Anchor | None:
    text = fold(name)
    is_short = len(text) < _LEAST_CHARS or not any(char.isalnum() for char in text)
    if is_short or len(text.split()) > max_words or "\n" in text:
        return None
    anchor = anchors.setdefault(text, Anchor(text))
    known = anchor.kinds.get(path)
    if known is None or _NAME_KINDS.index(kind) < _NAME_KINDS.index(known):
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
    if link.wikilink and link.fragment and "|" not in link.span.slice(note.text):
        return link.target
    return link.text


def _priors(anchors: Iterable[Anchor]) -> dict[NameKind, float]:
    """Return the share of linking notes among mentioning notes for each kind, with one note added to either side.

    Names that are known only because one note links them are left out: no one could have found them in that note.
    """
    linked: Counter[NameKind] = Counter()
    saying: Counter[NameKind] = Counter()
    for anchor in anchors:
        links = len(anchor.linking)
        counted = 0 if anchor.kind == "text" and links == 1 else links
        linked[anchor.kind] += counted
        saying[anchor.kind] += counted + len(anchor.saying) - links
    return {kind: (linked[kind] + 1) / (saying[kind] + 2) for kind in _NAME_KINDS}


def _finder(anchors: Sequence[Anchor], vault: Vault) -> Callable[[_RunningText], Iterator[Mention]]:
    """Return a function that finds the longest name at each place of a text, from left to right, without overlaps."""
    headings = {note.path: note.document.headings for note in vault.notes}
    automaton = AhoCorasick([anchor.text for anchor in anchors], matchkind=MatchKind.Standard)

    def find(text: _RunningText) -> Iterator[Mention]:
        done = 0
        matches = automaton.find_matches_as_indexes(text.folded, overlapping=True)
        for index, start, end in sorted(matches, key=lambda match: (match[1], -match[2])):
            if start < done or not _stands_alone(text.folded, start, end):
                continue
            span = text.span(start, end)
            is_whole = text.uncut.isdisjoint((span.start, span.end))
            if is_whole or leads_to_heading(text.folded, start, end, anchors[index]):
                yield Mention(anchors[index], span)
                done = end

    def leads_to_heading(text: str, start: int, end: int, anchor: Anchor) -> bool:
        """Return whether a heading of the note follows: Obsidian shows [[note#heading]] as "note > heading"."""
        if text.endswith("> ", 0, start) or not text.startswith(" > ", end):
            return False
        of_notes = (heading for path in anchor.kinds for heading in headings[path])
        return any(text.startswith(fold(heading.text), end + 3) for heading in of_notes)

    return find


def _stands_alone(text: str, start: int, end: int) -> bool:
    if start and text[start - 1].isalnum():
        return False
    if end == len(text) or not text[end].isalnum():
        # "lock.md" and "3.5" are one word
        return not (text[end : end + 1] == "." and text[end + 1 : end + 2].isalnum())
    return is_particle(text[start:end], text, end)


_BRACKET = re.compile(r"[\[\]]")


def bracketed(note: Note) -> list[Span]:
    """Return the outermost `[...]` that the parser reads as text, with brackets, in order; each within one block.

    mkdocs and Sphinx resolve `[text][label]` and `[label]` by names defined outside the notes. Text inserted between or
    right after brackets becomes part of them.
    """
    if "[" not in note.text:
        return []
    brackets: list[Span] = []
    ends = [block.span.end for block in note.document.blocks]
    opened: list[int] = []
    block = 0
    for piece in note.document.running:
        if (now := bisect_left(ends, piece.end)) != block:
            opened, block = [], now
        for match in _BRACKET.finditer(note.text, piece.start, piece.end):
            at = match.start()
            if at == piece.start and note.text[at - 1 : at] == "\\":
                continue  # the parser cuts a text behind the backslash of an escaped sign
            if match[0] == "[":
                opened.append(at)
            elif opened:
                start = opened.pop()
                while brackets and brackets[-1].start > start:
                    brackets.pop()
                brackets.append(Span(start, at + 1))
    return brackets
