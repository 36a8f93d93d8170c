"""Generate the questions of a note without a model, by form, each with the passage that answers it.

They repeat the words of the note's title, heading, list, table or sentence, so they are easier than human ones.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from gigamind.choices import Form
from gigamind.i18n import ends_in_consonant, with_particle
from gigamind.spans import Span
from gigamind.text import sentences, tokens
from gigamind.vault.identity import key
from gigamind.vault.language import note_language
from gigamind.vault.markdown import Block, parse
from gigamind.vault.notes import Note

_DEEPEST = 3
_MAX_EVIDENCE = 500  # characters of a section's first block that are labelled as its evidence
_MAX_NAME = 40  # characters of a term or label in a question
_LEAST_TOKENS = 3  # tokens of an explanation
_PLACE = re.compile(r"\{([THhC])(?::(이/가|은/는|을/를))?\}")
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
# {T} is the title, {H} the subject, {C} a table column, {T:이/가} the title with its particle.
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
        "list": (
            "{T}에서 ‘{H}’ 항목은 무슨 내용인가요?",
            "{T}에서 ‘{H}’에 대해 뭐라고 하나요?",
            "‘{H}’에 대한 설명이 {T}에 있나요?",
        ),
        "table": ("{T}에서 {H}의 {C:은/는} 무엇인가요?", "{T} 표에서 {H}의 {C:이/가} 궁금해요."),
        "sentence": ("{T}에 {H:은/는} 어떻게 적혀 있나요?", "{T}에서 {H:은/는} 어떻다고 하나요?"),
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
        "list": (
            "What does “{H}” mean in {T}?",
            "In {T}, what is said of “{H}”?",
            "How does {T} explain “{H}”?",
        ),
        "table": (
            "In the table of {T}, what is “{C}” for “{H}”?",
            "{T}: what is the “{C}” of “{H}”?",
        ),
        "sentence": ("What does {T} say about {H}?", "What can I learn about {H} from {T}?"),
    },
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A question in parts, of which near misses change one."""

    form: Form
    patterns: tuple[str, ...]  # templates, of which one is filled in
    title: str
    subject: str = ""  # subject within the note; "" for the note itself
    column: str = ""  # table column, or ""
    evidence: Span | None = None  # of the answer; None if it is the whole note, or missing
    change: str = ""  # what a near miss changed: year, version or name; otherwise ""

    @property
    def question(self) -> str:
        """Return one of the patterns, filled in; the choice depends only on the words, so it is reproducible."""
        digest = hashlib.sha256(f"{self.title}\0{self.subject}{self.column}".encode()).digest()
        pattern = self.patterns[int.from_bytes(digest[:4], "big") % len(self.patterns)]
        small = self.subject[:1].lower() + self.subject[1:]
        words = {"T": self.title, "H": self.subject, "h": small, "C": self.column}

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
    patterns, title = _PATTERNS[language], _title(note)
    asks = title.endswith(("?", "？"))
    yield Draft("title", ("{T}",) if asks else patterns["title"], title)
    of_title = set(tokens(title))
    others = (
        *_of_headings(note, language, title),
        *_of_lists(note, patterns["list"], title),
        *_of_tables(note, patterns["table"], title),
        *_of_sentences(note, language, title),
    )
    for draft in others:
        # With words of the title alone it would repeat the question about the title.
        if not set(tokens(f"{draft.subject} {draft.column}")) <= of_title or draft.title != title:
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


_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_TERM = re.compile(
    r"""(?:
        \*\*(?P<bold>[^*\n]+?)[:：.]?\*\*\s*[:：–—-]?   # **Term**: ..., **Term.** ...
      | `(?P<code>[^`\n]+)`\s*(?:[:：–—]|\s-\s)          # `--option`: ...
      | (?P<plain>[^\n:：`*.?!|()]{2,40})(?:[:：]\s|\s[–—]\s)  # Term: ...
    )\s*(?P<rest>\S.*)""",
    re.VERBOSE | re.DOTALL,
)


def _of_lists(note: Note, patterns: tuple[str, ...], title: str) -> Iterator[Draft]:
    terms: list[tuple[str, Span]] = []
    for block in note.document.blocks:
        if block.kind != "list":
            continue
        text = block.span.slice(note.text)
        marks = list(_ITEM.finditer(text))
        ends = [*(mark.start() for mark in marks), len(text)][1:]  # none for a list of other marks
        for mark, end in zip(marks, ends, strict=True):
            item = text[mark.end() : end].rstrip()
            term = _TERM.match(item)
            if term is None or len(tokens(_visible(term["rest"]))) < _LEAST_TOKENS:
                continue
            name = term["code"] or _trimmed(_visible(term["bold"] or term["plain"]))
            if _askable(name):
                start = block.span.start + mark.end()
                terms.append((name, Span(start, start + len(item))))
    counts = Counter(key(term) for term, _ in terms)
    for term, evidence in terms:
        if counts[key(term)] == 1:
            yield Draft("list", patterns, title, term, evidence=evidence)


_CELL = re.compile(r"(?<!\\)\|")


def _of_tables(note: Note, patterns: tuple[str, ...], title: str) -> Iterator[Draft]:
    for block in note.document.blocks:
        if block.kind != "table":
            continue
        text, at = block.span.slice(note.text), block.span.start
        lines = text.splitlines(keepends=True)
        columns = _cells(lines[0])
        labels = Counter(_cells(line)[0] for line in lines)
        for number, line in enumerate(lines):
            row = Span(at, at + len(line.rstrip()))
            at += len(line)
            cells = _cells(line)
            body = number > 1  # below the header and its separator line
            if not body or labels[cells[0]] > 1 or not _askable(cells[0]):
                continue
            for column, cell in list(zip(columns, cells, strict=False))[1:]:
                if _askable(column) and re.search(r"\w", cell):
                    yield Draft("table", patterns, title, cells[0], column, row)


def _cells(line: str) -> list[str]:
    stripped = line.strip().removeprefix("|")
    return [_trimmed(_visible(cell)) for cell in _CELL.split(stripped.removesuffix("|"))]


def _askable(name: str) -> bool:
    return len(name) <= _MAX_NAME and _WORD.search(name) is not None and "://" not in name


_ENGLISH_SUBJECT = re.compile(r"(?P<subject>[A-Z][^,.;:()\n]{2,50}?) (?:is|are|was|were) \S")
# First words of sentences without a named subject.
_NO_SUBJECT = re.compile(
    r"(?i)(?:it|this|that|these|those|there|here|he|she|they|we|you|i|if|when|what|who|how|why|which|where|to|in|on|at|for"
    r"|after|before|as|since|because|while|once|by|from|with|all|both|some|most|many|one|each|every|any|another|other|but|and"
    r"|or|so|note|see|sometimes|not|no|nothing|everything|until|unless|although|though|also|then|only)\b"
)
_CLAUSE = re.compile(
    r"(?i)\b(?:that|which|who|whose|if|when|unless|it|they|you|we|can|will|must|should|may|has|have|had|does|do|not|and|to)\b"
)
_VAGUE = re.compile(
    r"(?i)(?:the|a|an) (?:first|second|third|next|last|following|above|same|difference|result|rest|reason|only)\b"
)
_MAX_SUBJECT_WORDS = 5
_KOREAN_TOPIC = re.compile(
    r"(?P<subject>(?:[\w·/()-]+ ){0,2}[\w·/()-]*[가-힣A-Za-z\d)])(?P<particle>은|는) \S"
)
_ADJECTIVE = re.compile(r"[은는한된던린난인할될] ")  # a modifier before the noun


def _of_sentences(note: Note, language: str, title: str) -> Iterator[Draft]:
    for block in note.document.blocks:
        if block.kind != "paragraph":
            continue
        # A paragraph may be wrapped anywhere.
        text = re.sub(r"[\r\n]", " ", block.span.slice(note.text))
        first = next(iter(sentences(text)), None)
        if first is None or len(tokens(first.slice(text))) <= 2 * _LEAST_TOKENS:
            continue
        sentence = _visible(first.slice(text))
        if sentence.endswith((":", "：")):  # its content follows below
            continue
        subject = (_korean_subject if language == "ko" else _english_subject)(sentence, note.text)
        if subject:
            start = block.span.start
            evidence = Span(start + first.start, start + first.end)
            patterns = _PATTERNS[language]["sentence"]
            yield Draft("sentence", patterns, title, subject, evidence=evidence)


def _english_subject(sentence: str, _: str) -> str:
    match = _ENGLISH_SUBJECT.match(sentence)
    if match is None or _NO_SUBJECT.match(sentence) or _VAGUE.match(sentence):
        return ""
    subject = match["subject"]
    if len(subject.split()) > _MAX_SUBJECT_WORDS or _CLAUSE.search(subject):
        return ""
    article, _, rest = subject.partition(" ")
    return f"{article.lower()} {rest}" if article in {"The", "A", "An", "Our"} else subject


def _korean_subject(sentence: str, text: str) -> str:
    """Return the topic of a sentence if it is a noun that another particle follows elsewhere in the note."""
    match = _KOREAN_TOPIC.match(sentence)
    if match is None:
        return ""
    subject, closed = match["subject"], ends_in_consonant(match["subject"])
    if closed is None or closed != (match["particle"] == "은") or _ADJECTIVE.search(subject):
        return ""
    noun = re.escape(subject.split()[-1])
    elsewhere = re.search(rf"{noun}(?:을|를|이|가|의|에|에서|과|와|도|로|으로|\b)(?![가-힣])", text)
    return subject if len(subject) > 1 and elsewhere else ""


def _visible(text: str) -> str:
    headings = parse("# " + " ".join(text.split())).headings
    return headings[0].text if headings else ""
