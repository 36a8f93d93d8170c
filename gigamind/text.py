"""Words of Korean and English text: the tokens that keyword search and text comparison count.

Words are lower-cased; a run of Hangul or other CJK characters becomes its character bigrams, which need no dictionary
and forgive particles.  MRR of BM25 on KorQuAD paragraphs: whitespace words 0.835, bigrams 0.948, a morphological
analyser 0.938.
"""

import re
import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from gigamind.i18n import FIRST_SYLLABLE, LAST_SYLLABLE, ends_in_consonant, ends_in_l
from gigamind.spans import Span

# Hangul jamo, kana, CJK ideographs with extension A, compatibility jamo, Hangul syllables, compatibility ideographs,
# and the supplementary ideographic plane.
_CJK = (
    r"\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_CJK_FIRST = re.compile(rf"[{_CJK}]")
_OTHER = rf"[^\W_{_CJK}]+"
_RUN = re.compile(rf"([{_CJK}]+)|({_OTHER})")
_ANY_RUN = re.compile(rf"[{_CJK}]+|{_OTHER}")
# Names that differ from another word by a sign alone: C++, C#, F#, .NET.
_SIGNED = re.compile(r"(?<![a-z0-9_])(?:[a-z](?:\+\+|#)(?![a-z_+#])|\.[a-z]{2,}(?![a-z0-9_.]))")


_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"
)


def columns(text: str) -> int:
    """Return the columns of a text on a terminal; a wide letter takes two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def tokens(text: str) -> list[str]:
    """Return the keyword tokens in the order of the text, with repetitions.

    `"RAG 시스템의 v2"` gives `["rag", "시스", "스템", "템의", "v2"]`; a CJK run of one character is one token.
    A word with a sign, such as C++ or .NET, is one token more, at the end.
    """
    lowered = unicodedata.normalize("NFC", text).lower()
    words = [token for run in _ANY_RUN.findall(lowered) for token in _tokens_of(run)]
    return words + _SIGNED.findall(lowered)


def _tokens_of(run: str) -> list[str]:
    if len(run) > 1 and _CJK_FIRST.match(run):
        return [run[i : i + 2] for i in range(len(run) - 1)]
    return [run]


# What composes to one character: most scripts' marks, and the vowels and finals of Hangul in jamo.
_COMPOSED = re.compile(r".[\u0300-\u036f\u1160-\u11ff\u3099\u309a]*", re.DOTALL)


def places_of(wanted: AbstractSet[str], text: str) -> list[Span]:
    """Return where a text has tokens of `wanted`, in order; places that overlap or touch are merged.

    In "시스템의", the tokens of "시스템은" cover 시스템.
    """
    lowered, starts, ends = _lowered(text)
    places: list[Span] = []
    for match in _RUN.finditer(lowered):
        first, end = match.span()
        width = 2 if match[1] and end - first > 1 else end - first
        for at in range(first, end - width + 1):
            if lowered[at : at + width] in wanted:
                start = starts[at]
                if places and start <= places[-1].end:
                    start = places.pop().start
                places.append(Span(start, ends[at + width - 1]))
    return places


def _lowered(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return the text as `tokens` reads it, with the start and end of each of its characters in the text."""
    lowered = text.lower()
    if len(lowered) == len(text) and unicodedata.is_normalized("NFC", text):
        return lowered, range(len(text)), range(1, len(text) + 1)
    pieces = [
        (unicodedata.normalize("NFC", match[0]).lower(), match.span())
        for match in _COMPOSED.finditer(text)
    ]
    spans = [span for piece, span in pieces for _ in piece]
    return "".join(piece for piece, _ in pieces), [s for s, _ in spans], [e for _, e in spans]


def plain(text: str) -> str:
    """Return a text for comparison: NFC, lower case, no punctuation, single spaces (spec 4.1)."""
    kept = (
        c
        for c in unicodedata.normalize("NFC", text).lower()
        if not unicodedata.category(c).startswith("P")
    )
    return " ".join("".join(kept).split())


def printable(text: str) -> str:
    """Return a text without control characters, direction overrides and line ends."""
    return _UNPRINTABLE.sub(" ", text)


def printable_lines(text: str) -> str:
    """Return the same, with its line ends."""
    return "\n".join(map(printable, text.split("\n")))


def jaccard(left: str, right: str) -> float:
    """Return the shared words over all words of two `plain` texts, in [0, 1]; 0.0 if neither has a word."""
    a, b = set(left.split()), set(right.split())
    return len(a & b) / len(a | b) if a | b else 0.0


_BREAK = re.compile(
    r"""
    (?P<whole>                                          # full stops that end no sentence:
        \b\d{4}\.[ ]?\d{1,2}\.(?:[ ]?\d{1,2}\.)?       # 2026. 3. 5.
      | ^[ \t>]*\d{1,9}\.                               # the number of a list item
      | \b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Mrs|Ms|No|Nos|Fig|Sec|St|approx|Inc|Ltd|Co)\.
      | (?<!\w)(?:[A-Z]\.)+                             # initials
    )
    | (?<![.!?…。！？])[.!?…。！？]++ ["'”’」』)）\]]*+ (?=\s|$)  # the end, closing quotes and brackets included
    | [。！？]+ [”’」』）]*                              # full-width marks need no space behind them
    | \n                                               # a line of its own is a sentence of its own
    """,
    re.VERBOSE | re.MULTILINE,
)


def sentences(text: str) -> list[Span]:
    """Return the sentences of a text in order, without white space around them and without blank ones.

    A full stop ends a sentence only before white space, so that "3.5" and "v1.2" stay whole.  It ends none in a Korean
    date or behind a usual English abbreviation, an initial or a list number.
    """
    spans: list[Span] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match["whole"] is None:
            _append_trimmed(spans, text, start, match.end())
            start = match.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


_MIN_WRAPPED = 30  # characters; a shorter line ends deliberately
_CERTAINLY_WRAPPED = 60  # characters; any next line without a mark continues the sentence
_ENDED = re.compile(r"[.!?。！？:：;…|][\"'”’」』)*_\s]*$|(?:다|요|죠|까|음|함|임|됨|것)[\s*_]*$")
_MARKED = re.compile(
    r"[ \t]*(?:[#|<]|[-*+>][ \t]|\d+[.)][ \t]|```|~~~|\[[^\]\n]+\]:|[-=*_][ \t]*(?:[-=*_][ \t]*)+$)"
)


def unwrapped(text: str) -> str:
    """Return a text of the same length in which each wrapped sentence is on one line."""
    lines = text.replace("\r", " ").split("\n")
    parted = ((" " if goes_on(before, line) else "\n") + line for before, line in pairwise(lines))
    return "".join((lines[0], *parted))


def goes_on(before: str, line: str) -> bool:
    """Return whether a sentence continues on the next line, as wrapped Markdown text does."""
    if len(before) < _MIN_WRAPPED or _ENDED.search(before) or before.lstrip()[:1] in {"#", "|"}:
        return False
    text = line.lstrip()[:1]
    if not text or _MARKED.match(line):
        return False
    return text.islower() or "가" <= text <= "힣" or len(before) >= _CERTAINLY_WRAPPED


def sentences_touched(text: str, span: Span) -> list[Span]:
    """Return the sentences that share a character with a span; only its lines are read."""
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    near = text[start : end if end >= 0 else len(text)]
    spans = (Span(start + sentence.start, start + sentence.end) for sentence in sentences(near))
    return [
        sentence for sentence in spans if sentence.start < span.end and span.start < sentence.end
    ]


def _append_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    if stripped := piece.strip():
        begin = start + piece.index(stripped[0])
        spans.append(Span(begin, begin + len(stripped)))


# After a consonant, after a vowel; what stands in both lists takes either.  고, 며 and 하고 are left out: they nearly
# always end a verb ("가지고", "배포하고").
_AFTER_CONSONANT = (
    "은 이 을 과 으로 이나 이라 이라고 이라는 이라도 이란 이든 이며 이고 이다 이에요 이었다 이야 아"
)
_AFTER_VOWEL = "는 가 를 와 로 나 라 라고 라는 라도 란 든 다 예요 였다 야"
_AFTER_ANY = (
    "의 에 에서 에게 에게서 께 께서 한테 한테서 도 만 까지 부터 마다 보다 처럼 같이 만큼 밖에 조차 마저 대로 뿐"
    " 쯤 씩 치고 인 인데 입니다 입니까 인가 인지 이랑 랑 끼리 들"
)
_RIEUL_ENDS_OPEN = {"로", "으로"}  # 서울로: after ㄹ, 로 stands as after a vowel
# A second particle: 에서는, 까지도, 만의, 으로부터, 들이, 에게만은.
_SECOND = (
    "은 는 이 가 을 를 의 도 만 에 에서 에게 로 으로 와 과 부터 까지 라도 이라도 나 이나 처럼 보다"
    " 인 입니다 이다 서"
)


def _alternatives(*lists: str) -> str:
    words = {word for particles in lists for word in particles.split()}
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_JOSA = re.compile(
    rf"(?P<first>{_alternatives(_AFTER_CONSONANT, _AFTER_VOWEL, _AFTER_ANY)})"
    rf"(?:(?:{_alternatives(_SECOND)}){{0,2}})(?!\w)"
)
_NEEDS_CONSONANT = frozenset(_AFTER_CONSONANT.split()) - frozenset(_AFTER_ANY.split())
_NEEDS_VOWEL = frozenset(_AFTER_VOWEL.split()) - frozenset(_AFTER_ANY.split())


def is_particle(word: str, text: str, end: int) -> bool:
    """Return whether `word` is followed in `text` (from `end`) by one to three particles that end the run of letters.

    Behind Hangul the first particle must agree with the last sound: "규정가" is no "규정" with a particle.
    """
    match = _JOSA.match(text, end)
    return match is not None and _agrees(word, match["first"])


def _agrees(word: str, particle: str) -> bool:
    last = ord(word[-1])
    if not FIRST_SYLLABLE <= last <= LAST_SYLLABLE:
        return True  # how a Latin word sounds is only guessed
    if particle in _RIEUL_ENDS_OPEN and ends_in_l(word):
        return particle == "로"
    if particle in _NEEDS_CONSONANT:
        return ends_in_consonant(word) is True
    if particle in _NEEDS_VOWEL:
        return ends_in_consonant(word) is False
    return True


_SHORT_WORD = re.compile(r"(?<!\w)[가-힣]{1,6}(?!\w)")


def short_words(text: str) -> list[tuple[str, str]]:
    """Return words of one syllable, alone or with particles, with the first of their `tokens`: 책을 is ("책", "책을").

    A bigram hides such a word: 책을, 책은 and 책 share no token.  야 and 다 end more verbs than nouns: 내야, 타다.
    """
    words = _SHORT_WORD.findall(unicodedata.normalize("NFC", text))
    return [(word[0], word[:2]) for word in words if _is_short(word)]


def _is_short(word: str) -> bool:
    return len(word) == 1 or (word[1:] not in {"야", "다"} and is_particle(word[0], word, 1))


def written_id(value: object) -> object:
    """Return an id or a name of a note as text in NFC; a whole number becomes text, anything else stays."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value
