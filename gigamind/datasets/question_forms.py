"""Generate the questions of a note without a model, by form, each with the passage that answers it.

They repeat the words of the note's title or heading, so they are easier than human ones.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from gigamind.choices import Form
from gigamind.i18n import with_particle
from gigamind.spans import Span
from gigamind.text import sentences, tokens
from gigamind.vault.identity import key
from gigamind.vault.language import note_language
from gigamind.vault.markdown import Block
from gigamind.vault.notes import Note

_DEEPEST = 3
_MAX_EVIDENCE = 500  # characters of a section's first block that are labelled as its evidence
_PLACE = re.compile(r"\{([THh])(?::(이/가|은/는|을/를))?\}")
_WORD = re.compile(r"[가-힣]|[^\W\d_]{2}")
_ORNAMENT_BEFORE = re.compile(r"^[^\w(（\[‘“\"']+")
_ORNAMENT = r"[^\w)）\]’”\"'?？!.%+]"
_ORNAMENT_BEHIND = re.compile(rf"(?<!{_ORNAMENT}){_ORNAMENT}+$")
_NUMBER = re.compile(r"^(?:(?:\d+\.)+\d*|\d+\)|\d+\s[-–—])\s+")
# Headings that are not nouns, by language: the first match decides. {h} is {H} with a lower-case first letter.
_OTHER_PATTERNS = {
    "ko": (
        (r"[?？]$|(?:는가|은가|인가|나요|까요?|니까)$", "{T}: {H}?"),
        (r"^(?:무엇|무슨|왜|어떻게|언제|어디|누가|누구|얼마|어느|몇)", "{T}: {H}?"),
        (r"(?:다면|라면|하면|되면|으면|때|에|에는|에서)$", "{T}: {H} 어떻게 하나요?"),
        (r"(?:다|요|죠)\.?$", "{T}에서 ‘{H}’ 부분을 알려 주세요."),
    ),
    "en": (
        (r"(?i)^(?:when|if)\b(?! and)(?!.*\?$)", "{T}: what to do {h}?"),
        (r"(?i)^(?:you|we|it|they|i)\b", "What is written in {T} under “{H}”?"),
        (r"(?i)\?$|^(?:why|how|what|when|where|who|which)\b", "{T}: {h}?"),
    ),
}
# {T} is the title, {H} the subject, {T:이/가} the title with its particle.
_PATTERNS = {
    "ko": {
        "title": (
            "{T:이/가} 어떻게 되어 있나요?",
            "{T:은/는} 무엇인가요?",
            "{T:을/를} 알고 싶은데 어디에 정리되어 있나요?",
            "{T}에 대해 알려 주세요.",
        ),
        "heading": (
            "{T}에서 {H:은/는} 어떻게 되어 있나요?",
            "{T}에서 {H:이/가} 뭔가요?",
            "{T}에서 {H:을/를} 확인하고 싶어요.",
            "{T}의 {H}에 대해 알려 주세요.",
        ),
    },
    "en": {
        "title": (
            "What do we know about {T}?",
            "What should I know about {T}?",
            "Where is {T} written down?",
            "Can you tell me about {T}?",
        ),
        "heading": (
            "What does {T} say about {H}?",
            "In {T}, what is there on {H}?",
            "Where in {T} can I read about {H}?",
        ),
    },
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A question in parts, of which near misses change one."""

    form: Form
    patterns: tuple[str, ...]  # templates, of which one is filled in
    title: str
    subject: str = ""  # subject within the note; "" for the note itself
    evidence: Span | None = None  # of the answer; None if it is the whole note, or missing
    change: str = ""  # what a near miss changed: year, version or name; otherwise ""

    @property
    def question(self) -> str:
        """Return one of the patterns, filled in; the choice depends only on the words, so it is reproducible."""
        digest = hashlib.sha256(f"{self.title}\0{self.subject}".encode()).digest()
        pattern = self.patterns[int.from_bytes(digest[:4], "big") % len(self.patterns)]
        small = self.subject[:1].lower() + self.subject[1:]
        words = {"T": self.title, "H": self.subject, "h": small}

        def fill(place: re.Match[str]) -> str:
            word, pair = words[place[1]], cast("Any", place[2])
            return with_particle(word, pair) if pair else word

        return _PLACE.sub(fill, pattern)


def says_something(note: Note, start: int, end: int) -> bool:
    """Return whether this part of a note has a block other than a heading or a rule."""
    return next(_content(note, start, end), None) is not None


def _content(note: Note, start: int, end: int) -> Iterator[Block]:
    for block in note.document.blocks:
        if block.kind not in {"heading", "rule"} and start <= block.span.start < end:
            yield block


def drafts(note: Note) -> Iterator[Draft]:
    """Yield every question of a note except near misses, the title's first."""
    language = "ko" if note_language(note) == "ko" else "en"
    title = _title(note)
    asks = title.endswith(("?", "？"))
    yield Draft("title", ("{T}",) if asks else _PATTERNS[language]["title"], title)
    of_title = set(tokens(title))
    for draft in _of_headings(note, language, title):
        # With words of the title alone it would repeat the question about the title.
        if not set(tokens(draft.subject)) <= of_title or draft.title != title:
            yield draft


def _title(note: Note) -> str:
    """Return the title of the frontmatter, otherwise the first heading of level 1: a file name makes a bad question."""
    if note.title == note.stem:
        first = (_trimmed(h.text) for h in note.document.headings if h.level == 1)
        return next(filter(None, first), note.title)
    return note.title


def _trimmed(text: str) -> str:
    return _ORNAMENT_BEHIND.sub("", _ORNAMENT_BEFORE.sub("", text))


def _of_headings(note: Note, language: str, title: str) -> Iterator[Draft]:
    seen = {key(title)}
    headings = note.document.headings
    for index, heading in enumerate(headings):
        below = (later for later in headings[index + 1 :] if later.level <= heading.level)
        end = next((later.span.start for later in below), len(note.text))
        text = _trimmed(_NUMBER.sub("", heading.text))
        name = key(text)
        if heading.level > _DEEPEST or name in seen or not _WORD.search(name):
            continue
        seen.add(name)
        block = next(_content(note, heading.span.end, end), None)
        if block is None:
            continue
        # The first lines or sentences of the block, at least one.
        pieces = sentences(block.span.slice(note.text))
        fitting = [piece.end for piece in pieces if piece.end <= _MAX_EVIDENCE]
        size = (fitting or [piece.end for piece in pieces[:1]])[-1]
        evidence = Span(block.span.start, block.span.start + size)
        if heading.level == 1:  # a second title, which stands alone
            asks = text.endswith(("?", "？"))
            patterns = ("{T}",) if asks else _PATTERNS[language]["title"]
            yield Draft("heading", patterns, text, evidence=evidence)
        else:
            shapes = (p for shape, p in _OTHER_PATTERNS[language] if re.search(shape, text))
            other = next(shapes, None)
            patterns = (other,) if other else _PATTERNS[language]["heading"]
            yield Draft("heading", patterns, title, text.rstrip("?？!. "), evidence=evidence)
