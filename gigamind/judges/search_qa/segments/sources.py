"""Lines in which an answer names what it rests on: "출처: 노트 1", "Sources: Leave policy".

A title is told from a fact by its form alone, for the notes are not at hand here: a few words without a verb, and no
number but in a file's name.
"""

import re

from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.segments.statements import has_digit, states

_AROUND = " \t*_`>-–—•·()"
# Behind these, titles may stand; behind "참고" or "see", only names of notes: "참고: 환불 불가" is a fact.
_STRONG = (
    r"(?:출처|출처 ?노트|(?:참고|참조|근거|관련)(?:한|된)? ?(?:노트|문서|자료|문헌)|sources?|references?"
    r"|cited (?:notes|sources))"
)
_WEAK = r"(?:근거|참고|참조|see(?: also)?|cited(?: in)?)"
_BARE = re.compile(rf"(?:{_STRONG}|{_WEAK})\s*[:：]?[\s,;·/]*", re.IGNORECASE)
_HEADED = re.compile(rf"{_STRONG}\s*[:：]?[\s,;·/]*", re.IGNORECASE)
_TITLED = re.compile(
    rf"(?P<strong>{_STRONG})?(?(strong)|{_WEAK})\s*[:：]\s*(?P<named>.+)", re.IGNORECASE
)
_NAME = re.compile(
    r"(?:노트|notes?)\s?#?\d{1,4}(?!\w)(?:\s?(?:,|;|·|&|and|및|와|과|~|-)\s?\d{1,4}(?!\w))*",
    re.IGNORECASE,
)
_FILE = re.compile(r"\[\[[^\[\]\n]{1,80}\]\]|[\w./() -]{1,80}\.md\b")
_NUMBERED = re.compile(r"^\s*(?:\[\d{1,2}\]|\d{1,2}[.)])\s*")
_BETWEEN = re.compile(r"[,;·/、]|\s(?:및|and)\s")
_MAX_WORDS = 8
_DENIES = re.compile(
    r"불가|없[음다]|아님|않|못|[가-힣]{2,}[은는을를](?:\s|$)|\b(?:no|not|never|free)\b",
    re.IGNORECASE,
)


def is_sources_line(text: str) -> bool:
    """Whether a sentence without its citations only names notes, by number or title."""
    text = text.replace("*", "")
    bare = text.strip(_AROUND + ":：")
    if _BARE.fullmatch(bare) or not _NAME.sub("", bare).strip(_AROUND + ",;&:："):
        return True
    found = _TITLED.fullmatch(text.strip(_AROUND))
    if not found:
        return False
    if not found["strong"]:
        return not _NAME.sub("", found["named"]).strip(_AROUND + ".,;&")
    return all(is_title(one) for one in _BETWEEN.split(found["named"]))


def heads_sources(text: str) -> bool:
    """Whether a line or heading stands over a list of sources."""
    return bool(_HEADED.fullmatch(text.strip(_AROUND + "#:：")))


def is_title(text: str) -> bool:
    """Whether a few words may be the name of a note, and state nothing."""
    named = _NUMBERED.sub("", text)
    bare = _FILE.sub(" ", _NAME.sub(" ", without_note_names(named))).strip(
        _AROUND + ".:：\"'“”‘’「」『』《》"
    )
    if len(bare.split()) > _MAX_WORDS or has_digit(bare):
        return False
    return not states(bare) and not _DENIES.search(bare)
