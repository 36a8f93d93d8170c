"""What one sentence of an answer is: a claim, or something that says nothing about the world.

Only claims are judged.  In doubt a sentence is a claim: a fact that escapes the judge costs more than a courtesy that
no note supports.
"""

import re
from dataclasses import dataclass
from typing import Literal

from gigamind.spans import Span

Role = Literal["claim", "heading", "lead_in", "question", "abstention", "courtesy", "other"]

CITATION = re.compile(r"\[\s*(?:노트|Note|note|NOTE)\s*(\d{1,4}(?:\s*,\s*(?:노트|[Nn]ote)?\s*\d{1,4})*)\s*\]")
_CITATION_IN_TEXT = re.compile(rf"(?:{CITATION.pattern})(?=\w)")
_CITATION_APART = re.compile(rf"\s*(?:{CITATION.pattern})")
_EMPTY_BRACKETS = re.compile(r"\s*\(\s*\)")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]")
_SOURCES_LINE = re.compile(
    r"(?:출처|근거|참고(?:\s*노트)?|참조|관련\s*노트|sources?|references?|see(?:\s+also)?|cited)\s*[:：]?", re.IGNORECASE
)
_QUESTION = re.compile(r"[?？][\"'”’」』)\]*_\s]*$")
_COURTESY = re.compile(
    r"안녕하세요|안녕하십니까|감사합니다|고맙습니다|좋은 질문|도움이 되(?:셨|었|시|기|길)|(?:더|추가로) (?:궁금|필요)한|언제든"
    r"|답변\s?드리겠습니다|알려\s?드리겠습니다|설명해?\s?드리겠습니다|정리해?\s?드리겠습니다"
    r"|\b(?:hope (?:this|that) helps|let me know|feel free to|happy to help|(?:great|good) question|thank you|you're welcome"
    r"|if you have any (?:other |more |further )?questions)\b",
    re.IGNORECASE,
)
_MAX_COURTESY_CHARS = 80
_ABSTENTION = re.compile(
    r"(?:노트|문서|자료|메모|기록|본문|검색 결과)[^.!?]*?"
    r"(?:나와 ?있지|적혀 ?있지|언급되(?:어 ?있)?지|언급(?:이|은|도)? ?없|포함되(?:어 ?있)?지|명시되(?:어 ?있)?지|다루(?:고 ?있)?지"
    r"|찾을 ?수(?:가|는)? ?없|찾지 ?못|확인할 ?수(?:가|는)? ?없|확인되지 ?않|알 ?수(?:가|는)? ?없)"
    r"|(?:정보|내용|근거|노트|자료|기록|설명|답)(?:이|가|은|는|을|를|도)? ?(?:전혀 ?|따로 ?)?(?:없|찾을 ?수(?:가|는)? ?없|찾지 ?못)"
    r"|답(?:변)?(?:을|은)? ?(?:드릴|할) ?수(?:가|는)? ?없|모르겠(?:습|어|다|네)|잘 모릅니다"
    r"|\b(?:notes?|documents?|context|sources?|vault|information)\b[^.!?]*?\b(?:do(?:es)?(?:n't| not)|did(?:n't| not)|never)"
    r" (?:contain|mention|say|include|provide|specify|cover|state|describe|discuss|answer|tell|give)\b"
    r"|\b(?:could(?:n't| not)|can(?:'t|not| not)|did(?:n't| not)|unable to|not able to) (?:find|answer|determine|locate)\b"
    r"|\b(?:there is |there's |contain |found )?no (?:relevant |such |specific |further )?(?:information|mention|note|details?)\b"
    r"|\bnot (?:mentioned|found|stated|specified|covered|available|included) in (?:any of )?the (?:provided )?(?:notes?|context|documents?)\b"
    r"|\bI (?:do not|don't) know\b",
    re.IGNORECASE,
)
# What follows states something after all: "the notes give no date, but it is planned for March".
_CONTRAST = re.compile(r"지만[, ]|으나[, ]|는데[, ]|\b(?:but|however|although|though|yet)\b|;", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer.

    Attributes:
        span: code points of the answer; citations that belong to it included.
        text: as it reads without list markers and citations; a table row with its column names.
        cited: numbers of the notes that it names, from 1, in their order, each once; not checked.
    """

    span: Span
    text: str
    role: Role
    cited: tuple[int, ...]


def piece(answer: str, span: Span, role: Role | None = None, text: str | None = None) -> Piece:
    """The piece under a span; without a role, that of a sentence with such words."""
    raw = span.slice(answer)
    shown = without_citations(raw) if text is None else text
    return Piece(span, shown, role or role_of(shown), citations(raw))


def role_of(text: str) -> Role:
    """What a sentence without its citations is."""
    bare = text.strip(" \t*_`>-–—:：()")
    if not _WORD.search(bare) or _SOURCES_LINE.fullmatch(bare):
        return "other"
    if _QUESTION.search(text):
        return "question"
    if abstains(text):
        return "abstention"
    if len(text) <= _MAX_COURTESY_CHARS and _COURTESY.search(text) and not _NUMBER.search(text):
        return "courtesy"
    return "claim"


def abstains(text: str) -> bool:
    """Whether a sentence says that the notes do not tell, and nothing besides."""
    return bool(_ABSTENTION.search(text)) and not _CONTRAST.search(text)


def citations(text: str) -> tuple[int, ...]:
    """Numbers of the notes that a text names as `[노트 1]`, `[Note 2]` or `[노트 1, 2]`, in their order, each once."""
    found = (int(number) for match in CITATION.finditer(text) for number in _NUMBER.findall(match[1]))
    return tuple(dict.fromkeys(found))


def without_citations(text: str) -> str:
    """A text as it reads without them, every run of white space one space; `[노트 1]에 따르면` only loses its brackets."""
    kept = _CITATION_IN_TEXT.sub(lambda found: found[0].strip(" []"), text)
    kept = _CITATION_APART.sub("", kept)
    return _EMPTY_BRACKETS.sub("", " ".join(kept.split())).strip()
