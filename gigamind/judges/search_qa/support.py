"""Whether the source sentence around a proven quote says the claim: in code, without a model.

A quote that stands in its note may belong to something else.  What speaks against the claim for certain is a
contradiction; where code cannot tell, the support is doubtful and to be looked at once more.  In doubt, doubtful: a
contradiction must not hit what is honestly supported.  What was measured, and on what: benchmarks/README.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from rapidfuzz.distance import Levenshtein

from gigamind.evidence.clause import is_asked, sentences_around
from gigamind.evidence.critical import opposed
from gigamind.evidence.normalize import unmarked, visible
from gigamind.evidence.words import Word, words
from gigamind.judges.search_qa.numbers import (
    Number,
    is_known,
    known_numbers,
    numbers_in_words,
    numbers_of,
)
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.words import GRAMMAR, stem
from gigamind.spans import Span
from gigamind.text import is_particle, tokens

Contradiction = Literal[
    "number", "negation", "polarity", "limit", "roles", "question", "heading", "reported"
]

_LEAST: Mapping[bool, float] = {True: 0.5, False: 0.5}  # share, by whether the claim is Korean
_FEW = 2  # words in the place of others
_SAME_MATTER = 0.5  # of the claim's words in the passage, from which they are about the same
_MAX_LINES = 500  # above a table's row or a list's item

_HEADING = re.compile(
    r"[ \t>]*#{1,6}[ \t]+(.*?)[ \t#]*$|[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t:：]*$"
)
_ITEM = re.compile(r"(?P<indent>[ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LEAD_IN = re.compile(r"[:：][\s*_]*$")
_HANGUL = re.compile("[가-힣]")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Passage:
    """What a quote is read in.

    Attributes:
        heading: the nearest one above, without marks; empty where there is none.
        text: the whole sentences that the quote touches, as the note has them; before a list's item the line that
            leads to it, before a table's row its header.
    """

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Support:
    """What a passage does for a claim.

    Attributes:
        contradictions: what speaks against it for certain, each once.
        share: of the claim's words that passage, title and question have, in [0, 1].
        doubtful: to be looked at a second time.
        foreign: claim and passage are of two languages, so that words tell nothing.
        sparse: they are of one, and have little in common.
    """

    contradictions: tuple[Contradiction, ...]
    share: float
    doubtful: bool
    foreign: bool = False
    sparse: bool = False


def passage_of(span: Span, text: str) -> Passage:
    """The sentences that a span touches, and what they stand under."""
    around = sentences_around(text, span)
    start = text.rfind("\n", 0, around.start) + 1
    end = text.find("\n", around.end)
    line = text[start : end if end >= 0 else len(text)]
    said = around.slice(text)
    if line.lstrip(" \t>").startswith("|"):
        header = _header(text, start)
        said = f"{header}\n{line}" if header else line
    elif item := _ITEM.match(line):
        lead_in = _lead_in(text, start, len(item["indent"]))
        said = f"{lead_in}\n{said}" if lead_in else said
    elif _HEADING.match(line):
        said = line
    return Passage(_heading_above(text, start), said)


def _lines_above(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Where the lines before an offset start, and the lines, the nearest first."""
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        yield before, text[before : start - 1]
        start = before


def _heading_above(text: str, start: int) -> str:
    for _, line in _lines_above(text, start):
        if found := _HEADING.match(line):
            return (found[1] or found[2] or "").strip(" *_`")
    return ""


def _header(text: str, start: int) -> str:
    """The first line of a table, but for its first rows, which have it at hand."""
    header = ""
    for number, (_, line) in enumerate(_lines_above(text, start)):
        if "|" not in line or number >= _MAX_LINES:
            break
        header = line
    return header


def _lead_in(text: str, start: int, indent: int) -> str:
    """The line with a colon that a list's item stands under."""
    for number, (_, line) in enumerate(_lines_above(text, start)):
        if number >= _MAX_LINES or _HEADING.match(line):
            break
        item = _ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (item is None and depth == 0)):
            return line if _LEAD_IN.search(line) else ""
    return ""


@dataclass(frozen=True)
class _Reading:
    """A text as words that are compared."""

    raw: str

    @cached_property
    def text(self) -> str:
        """Without Markdown, in lower case, its white space single spaces."""
        return unmarked(self.raw, visible(self.raw), is_quote=False).text

    @cached_property
    def words(self) -> Sequence[Word]:
        return words(self.text)

    @cached_property
    def keys(self) -> Sequence[str]:
        """What each word shares with its other forms."""
        return [stem(word.text) for word in self.words]

    @cached_property
    def content(self) -> AbstractSet[str]:
        return {key for key in self.keys if _is_content(key)}

    @cached_property
    def is_korean(self) -> bool:
        return 3 * len(_HANGUL.findall(self.text)) >= len(_LETTER.findall(self.text))

    @cached_property
    def denials(self) -> Sequence[int]:
        """Where the words stand that are denied."""
        return [at for at, word in enumerate(self.words) for at in _denied(self, at, word.whole)]

    @cached_property
    def denied(self) -> AbstractSet[str]:
        return {self.keys[at] for at in self.denials}

    @cached_property
    def stated(self) -> AbstractSet[str]:
        """Words that stand somewhere undenied."""
        return {key for at, key in enumerate(self.keys) if at not in self.denials}


def _is_content(key: str) -> bool:
    return key not in GRAMMAR and any(map(str.isalnum, key))


def support(
    claim: str, passage: Passage, *, title: str = "", question: str = "", note: str = ""
) -> Support:
    """Whether a passage says a claim of Markdown, citations and all.

    Args:
        title: of the note.
        question: what was asked; its words and numbers are none that the claim adds.
        note: the whole note, which may have a number that the passage lacks.
    """
    says, source = _Reading(without_note_names(claim)), _Reading(passage.text)
    around = _Reading(f"{passage.text}\n{passage.heading}\n{title}\n{question}")
    share = _share(says, around)
    own = len(says.content & source.content) / len(says.content) if says.content else 1.0
    found = list(_formal(says, source, own))
    numbers, doubtful = _numbers(says, source, around, note, own)
    found += numbers
    if says.is_korean != source.is_korean:
        return Support(tuple(found), share, doubtful=True, foreign=True)
    sparse = share < _LEAST[says.is_korean]
    doubtful = doubtful or sparse
    if own >= _SAME_MATTER:
        for name, rule in _RULES:
            verdict = rule(says, source)
            found += [name] if verdict else []
            doubtful = doubtful or verdict is not None
    doubtful = doubtful or _replaces(says, source, around)
    doubtful = doubtful or bool(found)
    return Support(tuple(dict.fromkeys(found)), share, doubtful, sparse=sparse)


def _share(says: _Reading, around: _Reading) -> float:
    """Of words by their stems and of keyword tokens, in equal parts: a token forgives endings, a stem order."""
    keys = {key for key in says.keys if any(map(str.isalnum, key))}
    asked, there = tokens(says.text), set(tokens(around.text))
    if not keys or not asked:
        return 1.0
    by_stems = len(keys & set(around.keys)) / len(keys)
    return (by_stems + sum(token in there for token in asked) / len(asked)) / 2


# Speech that denies or doubts what it reports, and what makes a whole sentence such speech.
_DENYING = re.compile(
    r"사실(?:이|은|과는?) (?:아니|아닙|다[르릅른])|헛소문|거짓(?:이|입|말|으로)|오해(?:이|입|다|예)|근거[가는]? 없"
    r"|부인[했하합한]|\b(?:den(?:y|ied|ies) (?:that|the|any|all|having|rumou?rs|reports|claims)"
    r"|(?:is|are|was|were) (?:a |simply |just )*(?:false|untrue|myths?|wrong|hoax)|falsely|contrary to|misconception)\b"
)
_HEARSAY = re.compile(
    r"소문|루머|카더라|뜬소문|낭설|\b(?:rumou?rs?|rumou?red|alleged(?:ly)?|supposed(?:ly)?|reportedly|purported(?:ly)?|hearsay|myth)\b"
)


def _formal(says: _Reading, source: _Reading, own: float) -> Iterator[Contradiction]:
    """What a sentence that states nothing proves: only that it stands there."""
    if is_asked(source.text) and not is_asked(says.text):
        yield "question"
    if _HEADING.fullmatch(source.raw) and own < 1.0 and not _STATES.search(source.text):
        yield "heading"
    if own >= _SAME_MATTER:
        for speech in (_DENYING, _HEARSAY):
            if speech.search(source.text) and not (
                _DENYING.search(says.text) or _HEARSAY.search(says.text) or says.denials
            ):
                yield "reported"


_STATES = re.compile(r"\d|[다요죠음함됨임]$|[.!]$")


def _numbers(
    says: _Reading, source: _Reading, around: _Reading, note: str, own: float
) -> tuple[list[Contradiction], bool]:
    """Whether a number of the claim contradicts, and whether one is doubtful."""
    digits = numbers_of(says.text)
    in_words = [one for one in numbers_in_words(says.text) if one.unit and one.value != "1"]
    if not digits and not in_words:
        return [], False
    known = _known(around.text)
    missing = [one for one in digits if not is_known(one, known)]
    missing_words = [one for one in in_words if not is_known(one, known)]
    if not missing and not missing_words:
        return [], _reordered(digits, numbers_of(source.text))
    said = known_numbers(says.text)
    others = [one for one in numbers_of(source.text) if one.unit and not is_known(one, said)]
    for one in (*missing, *missing_words):
        if own >= _SAME_MATTER and any(one.unit == other.unit for other in others):
            return ["number"], True
    whole = _known(note)
    if any(not is_known(one, whole) for one in missing):
        return ["number"], True
    return [], True


@lru_cache(maxsize=64)
def _known(text: str) -> frozenset[Number]:
    return known_numbers(text)


def _reordered(said: Sequence[Number], there: Sequence[Number]) -> bool:
    """Whether numbers of one unit stand in another order than in the source."""
    at = {(one.value, one.unit): place for place, one in enumerate(there)}
    places: dict[str, list[int]] = {}
    for one in said:
        if (one.value, one.unit) in at:
            places.setdefault(one.unit, []).append(at[one.value, one.unit])
    return any(own != sorted(own) for own in places.values())


# What turns a negation round again, or makes it a condition: then no word of it is held against another.
_TURNING = re.compile(
    r"없이|여부|[으하되이지않]면(?!서)|라면|전까지|전에|외에|말고|대신|도록|아직|모[든두]|반드시|꼭|뿐"
    r"|\b(?:without|unless|until|before|if|whether|only|but|except|rather|instead|all|every|always|necessarily|yet|when"
    r"|either|neither|nor)\b"
)
_BEHIND = re.compile(
    r"(?:지 ?(?:는|도|를)? ?)?(?:않|없|아[니닌닐님닙])|(?:못|말)[하했합한할고라아]|불가|금지"
)
_INSIDE = re.compile(r".+지(?:는|도)?(?:않|못|말)|.+없|.+불가|.+금지|.+(?:n't)$")
_BEFORE = frozenset(("안", "못", "not", "no", "never", "cannot", "without", "none"))
_MEANS = frozenset("수적일바것필리때")  # "할 수 없다": what is denied stands before


def _denied(reading: _Reading, at: int, word: str) -> Iterator[int]:
    """Where the word stands that is denied by the one at a place; nothing where that denies none."""
    if word in _BEFORE or word.endswith("n't"):
        for next_at in range(at + 1, min(at + 5, len(reading.words))):
            if _is_content(reading.keys[next_at]):
                yield next_at
                return
    elif _BEHIND.match(word) and at:
        before = at - 1
        while before and (
            reading.words[before].text in _MEANS
            or reading.words[before].whole in {"수가", "수는", "수도"}
        ):
            before -= 1
        yield before
    elif _INSIDE.match(word):
        yield at


def _negated(says: _Reading, source: _Reading) -> bool | None:
    """Whether the claim states what is denied there, or denies what is stated; False where that is but likely."""
    denied = source.denied & says.stated - source.stated - says.denied
    stated = source.stated & says.denied - source.denied - says.stated
    denied, stated = ({key for key in keys if _is_content(key)} for keys in (denied, stated))
    related = source.denied & says.content
    if (denied and not says.denials) or (stated and not related):
        return not (_TURNING.search(says.text) or _TURNING.search(source.text))
    return False if denied or stated or bool(says.denials) != bool(related) else None


def _replaced(says: _Reading, source: _Reading) -> Iterator[tuple[slice, slice]]:
    """Where the claim has a word or two in place of others, between words that are the same."""
    codes = Levenshtein.opcodes(says.keys, source.keys)
    for at, code in enumerate(codes):
        if code.tag != "replace":
            continue
        one, other = slice(code.src_start, code.src_end), slice(code.dest_start, code.dest_end)
        before = at == 0 or codes[at - 1].tag == "equal"
        behind = at + 1 == len(codes) or codes[at + 1].tag == "equal"
        if before and behind and max(one.stop - one.start, other.stop - other.start) <= _FEW:
            yield one, other


def _turned(says: _Reading, source: _Reading) -> bool | None:
    """Whether a word stands in the place of its opposite; False where the two stand anywhere."""
    if "polarity" not in opposed(says.text, source.text):
        return None
    denials = bool(says.denials), bool(source.denied & says.content)
    if denials[0] != denials[1]:
        return False
    for one, other in _replaced(says, source):
        pair = (
            " ".join(word.whole for word in own) for own in (says.words[one], source.words[other])
        )
        if "polarity" in opposed(*pair):
            return True
    return False


_ALL = re.compile(
    r"(?<!\w)(?:모든|모두|누구나|누구든|언제나|언제든|항상|전부|전원|무조건|예외 ?없이)"
    r"|\b(?:all|every|everyone|everybody|anyone|anybody|always|any|anytime"
    r"|everything|everywhere|regardless)\b"
)
_ONLY = re.compile(
    r"(?P<ko>[가-힣\w]+?)(?:만(?!\w)|만[을이은의]|에만|밖에|뿐)|\b(?:only|solely|exclusively)\b"
)
_EXCEPT = re.compile(
    r"(?P<ko>[가-힣\w]+?)(?:[을를은는]? 제외|[은는]? 예외|[이가]? 아닌 한|[을를]? 뺀|[을를]? 빼고| ?외에는)"
    r"|\b(?:except(?: for)?|excluding|unless|other than|apart from|aside from|but not)\b(?P<en>(?: [\w'-]+){1,4})"
)


def _unlimited(says: _Reading, source: _Reading) -> bool | None:
    """Whether the claim says of all what the source says of some; False where another limit differs."""
    only, said_only = bool(_ONLY.search(source.text)), bool(_ONLY.search(says.text))
    exceptions = list(_EXCEPT.finditer(source.text))
    said_except = bool(_EXCEPT.search(says.text))
    if exceptions and not said_except:
        excepted = {
            key for one in exceptions for key in _Reading(one["ko"] or one["en"] or "").content
        }
        if says.denials or source.denials:
            return False
        return bool(_ALL.search(says.text)) or bool(excepted and excepted <= says.content)
    if only and not said_only:
        return bool(_ALL.search(says.text)) and not _ALL.search(source.text)
    return False if (said_only and not only) or (said_except and not exceptions) else None


_CASES = {
    **dict.fromkeys(("이", "가", "께서", "은", "는"), "S"),
    **dict.fromkeys(("을", "를"), "O"),
    **dict.fromkeys(("에게", "한테", "께"), "D"),
    **dict.fromkeys(("에서", "에게서", "한테서", "부터"), "F"),
    **dict.fromkeys(("으로", "로"), "L"),
}
_CASE = re.compile(
    rf"(?<!\w)([\w]{{2,}}?)({'|'.join(sorted(_CASES, key=len, reverse=True))})(?!\w)"
)
_PASSIVE = re.compile(r"받|당하|당한|당했")
_JOINING = frozenset(("and", "or", "with", "equals", "same", "between"))


def _swapped(says: _Reading, source: _Reading) -> bool | None:
    """Whether two words have changed places; False where other words around them differ, too."""
    return (_cases_swapped if says.is_korean else _order_swapped)(says, source)


def _cases_swapped(says: _Reading, source: _Reading) -> bool | None:
    ours, theirs = _cases(says.text), _cases(source.text)
    both = [word for word in ours if word in theirs]
    moved = [word for word in both if ours[word] != theirs[word]]
    for at, one in enumerate(moved):
        for other in moved[at + 1 :]:
            if ours[one] == theirs[other] and ours[other] == theirs[one]:
                voices = (bool(_PASSIVE.search(text)) for text in (says.text, source.text))
                return says.keys[-1] == source.keys[-1] and len(set(voices)) == 1
    return False if moved and says.keys[-1] == source.keys[-1] else None


def _cases(text: str) -> dict[str, str]:
    """The case of each word with a particle that stands once."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for match in _CASE.finditer(text):
        if is_particle(match[1], text, match.end(1)):
            twice |= {match[1]} & found.keys()
            found[match[1]] = _CASES[match[2]]
    return {word: case for word, case in found.items() if word not in twice}


def _order_swapped(says: _Reading, source: _Reading) -> bool | None:
    places = {key: at for at, key in enumerate(source.keys) if source.keys.count(key) == 1}
    shared = [(at, places[key]) for at, key in enumerate(says.keys) if key in places]
    own = [
        pair
        for pair in shared
        if _is_content(says.keys[pair[0]]) and says.keys.count(says.keys[pair[0]]) == 1
    ]
    turned: bool | None = None
    for one, (a, b) in enumerate(own):
        for c, d in own[one + 1 :]:
            if d < b:
                between = says.keys[a + 1 : c]
                if between and between == source.keys[d + 1 : b] and not _JOINING & set(between):
                    return True
                turned = False
    return turned


def _replaces(says: _Reading, source: _Reading, around: _Reading) -> bool:
    """Whether a word that nothing around has stands in the place of another."""
    known = set(around.keys)
    for one, other in _replaced(says, source):
        new = [key for key in says.keys[one] if key not in known and _is_content(key)]
        old = [key for key in source.keys[other] if _is_content(key)]
        if new and old:
            return True
    return False


_Rule = Callable[[_Reading, _Reading], bool | None]
_RULES: tuple[tuple[Contradiction, _Rule], ...] = (
    ("negation", _negated),
    ("polarity", _turned),
    ("limit", _unlimited),
    ("roles", _swapped),
)
