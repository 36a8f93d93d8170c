"""Insert links into running text of a note, at exact ranges, only if the note is otherwise parsed as before."""

import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from operator import eq
from typing import Literal
from urllib.parse import quote

from gigamind.linking.anchors import bracketed
from gigamind.linking.suggest import LinkSuggestion
from gigamind.spans import Span, spliced
from gigamind.vault.identity import Identities
from gigamind.vault.markdown import Document
from gigamind.vault.marks import Mark, marks, mask_comments
from gigamind.vault.notes import Note, Vault

_NO_WIKILINK = re.compile(r"[\[\]|#^\n\\]")
# Letters of any script stay readable; "%", ":" and signs with a meaning in Markdown or addresses are encoded.
_ENCODED = re.compile(r"[^\w./~!$',;=@+-]")


class LinkWriter:
    """Writes links for the notes of one vault: Markdown links if most of its links are, otherwise wikilinks."""

    def __init__(self, vault: Vault, identities: Identities) -> None:
        self._identities = identities
        self._stems = Counter(note.stem.casefold() for note in vault.notes)
        kinds = Counter(
            link.wikilink
            for note in vault.notes
            for link in note.document.links
            if link.target and identities.resolve_link(link, note.path) is not None
        )
        self._wikilinks = kinds[True] >= kinds[False]

    def name(self, target: str) -> str:
        """Return the file name of the note at `target` if unique, otherwise its path; Obsidian knows no titles."""
        path = target.removesuffix(".md")
        stem = posixpath.basename(path)
        names = [stem, path] if self._stems[stem.casefold()] == 1 else [path]
        return next((name for name in names if self._means(name, target)), target)

    def place(self, target: str, source: str) -> str:
        """Return the target of a link from the note at path `source` to the one at `target`, as written."""
        name = self.name(target)
        if self._wikilinks and not _NO_WIKILINK.search(name):
            return f"[[{name}]]"
        return _relative(target, source)

    def link(self, anchor: str, target: str, source: str, *, in_table: bool = False) -> str | None:
        """Return the link with `anchor` as its text from `source` to `target`; None if no such link leads there."""
        name = self.name(target)
        address = _ENCODED.sub(lambda match: quote(match[0]), _relative(target, source))
        written = f"[{anchor}]({address})"
        if self._wikilinks and not _NO_WIKILINK.search(name):
            pipe = r"\|" if in_table else "|"
            # Obsidian finds a file by another case, but not by "_" for a space.
            stem = unicodedata.normalize("NFC", name).casefold()
            same = name == posixpath.basename(name) and anchor.casefold() == stem
            written = f"[[{anchor}]]" if same else f"[[{name}{pipe}{anchor}]]"
        links = Document.parse(written).links
        if len(links) != 1 or len(links[0].span) != len(written):
            return None
        meant = self._identities.resolve_link(links[0], source)
        unique = meant is not None and meant.note.path == target and not meant.ignored
        return written if unique and links[0].text_span.slice(written) == anchor else None

    def _means(self, name: str, target: str) -> bool:
        meant = self._identities.resolve(name)
        return meant is not None and meant.note.path == target and not meant.ignored


def _relative(target: str, source: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(source) or ".")


_CLOSED = {"Heading", "CodeBlock", "Link", "Image", "HtmlBlock"}
_INLINE = {"Emphasis", "Strong", "Strikethrough", "Link", "Image"}
_TAG = re.compile(r"<(?P<closing>/?)(?P<name>[A-Za-z][\w-]*)")
_VOID = re.compile(r"area|base|br|col|embed|hr|img|input|link|meta|source|wbr")
_LONGEST_ADDRESS = 2_000

_END = Mark("leaf", "", 0, 0)


@dataclass(frozen=True, slots=True)
class Insertion:
    """A link that replaces its own words."""

    span: Span  # of the words, in code points of the note without links
    link: str  # as written; it contains the words
    suggestion: LinkSuggestion


_Reason = Literal["no_text", "address", "brackets", "no_target", "overlaps", "otherwise"]
"""Why a link cannot be inserted."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A suggestion that cannot be inserted."""

    suggestion: LinkSuggestion
    why: _Reason


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """A note with inserted links."""

    note: Note
    text: str  # the whole file with them
    insertions: tuple[Insertion, ...]  # in the order of the text
    refusals: tuple[_Refusal, ...] = ()

    @classmethod
    def of(
        cls, note: Note, suggestions: Sequence[LinkSuggestion], writer: LinkWriter
    ) -> "LinkedNote":
        """Insert these links where possible, each at the first of its places that can hold it."""
        # Each with the refusal at its suggested place.
        tried: dict[LinkSuggestion, _Refusal | None] = dict.fromkeys(suggestions)
        refusals: list[_Refusal] = []
        while True:
            linked = _inserted(note, list(tried), writer)
            taken = [insertion.span for insertion in linked.insertions]
            again: dict[LinkSuggestion, _Refusal | None] = {}
            for refusal in linked.refusals:
                first = tried[refusal.suggestion] or refusal
                if other := _elsewhere(refusal.suggestion, note, taken):
                    again[other] = first
                else:
                    refusals.append(first)
            if not again:
                return replace(linked, refusals=tuple(refusals))
            tried = {done.suggestion: tried[done.suggestion] for done in linked.insertions} | again


def _elsewhere(
    suggestion: LinkSuggestion, note: Note, taken: Sequence[Span]
) -> LinkSuggestion | None:
    for number, span in enumerate(suggestion.elsewhere, start=1):
        if not any(span.iou(other) for other in taken):
            anchor, others = span.slice(note.text), suggestion.elsewhere[number:]
            return replace(suggestion, span=span, anchor=anchor, elsewhere=others)
    return None


def _inserted(note: Note, suggestions: Sequence[LinkSuggestion], writer: LinkWriter) -> LinkedNote:
    refusals: list[_Refusal] = []
    wanted: list[Insertion] = []
    places = _places(note, [suggestion.span for suggestion in suggestions])
    brackets = bracketed(note)
    for suggestion in sorted(suggestions, key=lambda suggestion: suggestion.span):
        end = wanted[-1].span.end if wanted else 0
        in_table = places.get(suggestion.span)
        insertion = _insertion(note, suggestion, writer, in_table=in_table, done=end)
        if isinstance(insertion, Insertion) and _joins(insertion, note.text, brackets):
            insertion = "brackets"
        if isinstance(insertion, Insertion):
            wanted.append(insertion)
        else:
            refusals.append(_Refusal(suggestion, insertion))
    kept = _readable(note, [], wanted)
    spans = {inserted.span for inserted in kept}
    refusals += [
        _Refusal(candidate.suggestion, "otherwise")
        for candidate in wanted
        if candidate.span not in spans
    ]
    return LinkedNote(note, _with_links(note.text, kept), tuple(kept), tuple(refusals))


def _insertion(
    note: Note, suggestion: LinkSuggestion, writer: LinkWriter, *, in_table: bool | None, done: int
) -> Insertion | _Reason:
    """Return the insertion or the reason against it; `in_table` is None outside running text."""
    span = suggestion.span
    if in_table is None or span.slice(note.text) != suggestion.anchor:
        return "no_text"
    if span.start < done:
        return "overlaps"
    if _in_address(note.text, span):
        return "address"
    anchor, target = suggestion.anchor, suggestion.target
    link = writer.link(anchor, target, note.path, in_table=in_table)
    return "no_target" if link is None else Insertion(span, link, suggestion)


def _joins(insertion: Insertion, text: str, brackets: Sequence[Span]) -> bool:
    """Return whether a link would become part of brackets; mkdocs reads `[text] [label]` as one link."""
    start = insertion.span.start
    at = bisect_right(brackets, start, key=lambda span: span.start)
    if not at:
        return False
    end = brackets[at - 1].end
    spaced = start == end + 1 and text[end].isspace() and not insertion.link.startswith("[[")
    return start <= end or spaced


def _in_address(text: str, span: Span) -> bool:
    """Return whether a span is in a URL, a mail address, a #tag or a ^block, which the parser reads as text."""
    begin = max(0, span.start - _LONGEST_ADDRESS)
    before = re.split(r"\s", text[begin : span.start])[-1]
    signs = any(sign in before for sign in ("://", "www.", "@"))
    after = text.startswith(("@", "://"), span.end)
    return signs or after or before.startswith(("#", "^"))


def _places(note: Note, spans: Sequence[Span]) -> dict[Span, bool]:
    """Return the spans that are running text, with whether they are in a table."""
    places: dict[Span, bool] = {}
    waiting = sorted({span for span in spans if len(span)}, reverse=True)
    body = note.document.body_start
    masked = mask_comments(note.text[body:])
    closed = tables = 0
    html: list[str] = []
    for mark in _joined(marks(masked)):
        if not waiting:
            break
        step = {"enter": 1, "leave": -1}.get(mark.phase, 0)
        closed += step * (mark.name in _CLOSED)
        tables += step * (mark.name == "Table")
        if step and mark.name not in _INLINE:
            html.clear()
        elif mark.name == "InlineHtml":
            _follow(html, masked[mark.start : mark.end])
        elif mark.name == "Text":
            start, end = mark.start + body, mark.end + body
            while waiting and waiting[-1].start < start:
                waiting.pop()
            while waiting and waiting[-1].start < end:
                span = waiting.pop()
                # The parser sees a comment as other text of the same length.
                seen = masked[span.start - body : span.end - body]
                if span.end <= end and not closed and not html and seen == span.slice(note.text):
                    places[span] = tables > 0
    return places


def _follow(open_tags: list[str], html: str) -> None:
    tag = _TAG.match(html)
    if tag is None:
        return
    name = tag["name"].lower()
    if not tag["closing"]:
        if not _VOID.fullmatch(name) and not html.endswith("/>"):
            open_tags.append(name)
    elif name in open_tags:
        del open_tags[open_tags.index(name) :]


def _joined(every: Iterable[Mark]) -> Iterator[Mark]:
    """Merge neighbouring texts: the parser splits a text at each sign that might be markup."""
    text: Mark | None = None
    for mark in chain(every, [_END]):
        is_text = mark.name == "Text"
        if text and is_text and text.end == mark.start:
            text = Mark("leaf", "Text", text.start, mark.end)
            continue
        if text:
            yield text
        text = Mark("leaf", "Text", mark.start, mark.end) if is_text else None
        if not is_text and mark is not _END:
            yield mark


def _readable(
    note: Note, kept: Sequence[Insertion], wanted: Sequence[Insertion]
) -> Sequence[Insertion]:
    """Return the kept insertions and the wanted ones that leave the rest unchanged; usually all at once."""
    every = [*kept, *wanted]
    body = note.document.body_start
    before = _joined(marks(mask_comments(note.text[body:])))
    after = _without_links(_with_links(note.text, every)[body:], every, body)
    if not wanted or all(map(eq, chain(before, [_END]), chain(after, [_END]))):
        return every
    if len(wanted) == 1:
        return kept
    half = len(wanted) // 2
    return _readable(note, _readable(note, kept, wanted[:half]), wanted[half:])


def _with_links(text: str, insertions: Sequence[Insertion]) -> str:
    return spliced(text, ((insertion.span, insertion.link) for insertion in insertions))


def _without_links(text: str, insertions: Sequence[Insertion], body: int) -> Iterator[Mark]:
    """Yield the marks of a body with links as if they were absent; extra marks if a link is missing."""
    grown = [0, *accumulate(len(insertion.link) - len(insertion.span) for insertion in insertions)]
    starts = [
        insertion.span.start - body + grow
        for insertion, grow in zip(insertions, grown, strict=False)
    ]
    ends = {
        start: start + len(insertion.link)
        for start, insertion in zip(starts, insertions, strict=True)
    }
    missing = set(starts)

    def origin(at: int) -> int:
        count = bisect_right(starts, at)
        if count and at < ends[starts[count - 1]]:
            return insertions[count - 1].span.start - body
        return at - grown[count]

    def dissolved() -> Iterator[Mark]:
        inside = False
        for mark in marks(mask_comments(text)):
            phase, name, start, end = mark[:4]
            if name == "Link" and ends.get(start) == end:
                inside = phase == "enter"
                if inside:
                    missing.remove(start)
                    yield Mark("leaf", "Text", origin(start), origin(end))
            elif not (inside and name == "Text"):
                yield Mark(phase, name, origin(start), origin(end), *mark[4:])

    yield from _joined(dissolved())
    yield from [_END] * len(missing)
