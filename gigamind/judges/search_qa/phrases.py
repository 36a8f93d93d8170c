"""Words by which an answer says nothing about the world: that the notes do not tell, or that it was glad to help.

Each pattern asks for the whole turn of phrase: "지각 기록이 없으면 승진한다" and "the key was not found" are facts.
"""

import re

_KO_ENDING = (
    r"(?:(?:습|았습|었습|였습|했습|합|됩)니다|(?:아|어|았어|었어|했어|해|돼)요|네요|(?:았|었|했|는)?다|음"
    r"|(?:는|은|던) (?:것|듯) ?같습니다)"
    r"[.!。\s\"”’)]*$"
)
_KO_MISSING = (
    r"(?:(?:나와|적혀|나타나|담겨|쓰여|들어|기록되어|기재되어|설명되어|정리되어) ?있지 ?않"
    r"|(?:언급|포함|명시|기재|기록|확인|설명|서술)(?:되(?:어 ?있)?지|하고 ?있지|이? ?되지) ?않|다루(?:고 ?있)?지 ?않"
    r"|(?:언급|설명|명시된 (?:바|내용)|기록|근거|내용|정보|답)(?:이|가|은|는|도)? ?(?:전혀 |따로 )?없"
    r"|(?:찾을|찾아볼|확인할|알) ?수(?:가|는)? ?없|(?:찾지|확인하지|발견하지) ?못)"
)
_KO_ABSTENTION = re.compile(
    rf"(?:노트|문서|자료|메모|검색 결과|제공된|주어진|관련(?:된|한)?|해당(?:하는)?|대한|대해|답을?|답변)"
    rf".*{_KO_MISSING}{_KO_ENDING}"
    rf"|답(?:변)?(?:을|은)? ?(?:드릴|할) ?수(?:가|는)? ?없{_KO_ENDING}|(?:잘 )?모르겠{_KO_ENDING}"
)
_EN_NOTES = r"(?:notes?|documents?|context|sources?|vault|search results|provided information|information provided)"
_EN_ABSTENTION = re.compile(
    rf"\b{_EN_NOTES}\b.*\b(?:do(?:es)?|did)(?:n['’]t| not) (?:\w+ )?"
    r"(?:contain|mention|say|include|provide|specify|cover|state|describe|discuss|answer|tell|give|address)\b"
    rf"|\b{_EN_NOTES}\b.*\b(?:contains?|gives?|has|have|holds?|provides?|says?|include[sd]?) (?:no|nothing)\b"
    r"|\b(?:I|we) (?:(?:could|can|did|was|were|am|are)(?:n['’]t| ?not)|unable|am unable to|was unable to) (?:able to )?"
    r"(?:find|answer|determine|locate|tell)\b"
    rf"|\b(?:is|are|was|were) (?:not|n['’]t|nowhere) (?:\w+ )?(?:in|by|from) "
    rf"(?:any of |either of )?the (?:\w+ )?{_EN_NOTES}\b"
    rf"|\b(?:there is|there['’]s|I found|I have) (?:no|nothing)\b.*\b(?:in|about|on)\b.*\b{_EN_NOTES}\b"
    r"|\bno (?:relevant |such |specific |further )?(?:information|mention) (?:\w+ )*"
    r"(?:was|is|could be|were) (?:found|available|given)\b"
    r"|\bI (?:do not|don['’]t) know\b",
    re.IGNORECASE,
)
# What follows states something after all: "the notes give no date, but it is planned for March".
_CONTRAST = re.compile(
    r"지만[, ]|으나[, ]|는데[, ]|\b(?:but|however|although|though|yet)\b|;", re.IGNORECASE
)
_APOLOGY = re.compile(
    r"^[\s*_]*(?:(?:죄송|미안)(?:하지만|합니다만)|아쉽(?:게도|지만)|안타깝(?:게도|지만)|유감(?:스럽게도|이지만)"
    r"|(?:I['’]m |I am |we are )?(?:very )?sorry,? but|I(?:['’]m| am) afraid(?: that)?|unfortunately),?",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"안녕하(?:세요|십니까)|감사합니다|고맙습니다|좋은 질문|도움이 되(?:셨|었|시|기|길)|(?:더|추가로) (?:궁금|필요)한"
    r"|언제든|(?:답변|알려|설명해?|정리해?|안내해?) ?드리겠습니다"
    r"|\b(?:hope (?:this|that) helps|let me know|feel free to|(?:happy|glad) to help|(?:great|good) question"
    r"|thank you|thanks for|you['’]re welcome|if you have any (?:\w+ )?questions)\b",
    re.IGNORECASE,
)
_MAX_COURTESY_CHARS = 80
_MAX_ABSTENTION_CHARS = 300  # the patterns take quadratic time


def abstains(text: str) -> bool:
    """Whether a sentence says that the notes do not tell, and nothing besides."""
    if len(text) > _MAX_ABSTENTION_CHARS:
        return False
    said = _APOLOGY.sub("", text)
    found = _KO_ABSTENTION.search(said) or _EN_ABSTENTION.search(said)
    return bool(found) and not _CONTRAST.search(said)


def is_courtesy(text: str) -> bool:
    """Whether a sentence is a greeting, an offer or a thank-you: short, and without a number."""
    short = len(text) <= _MAX_COURTESY_CHARS and not any(char.isdigit() for char in text)
    return short and bool(_COURTESY.search(text))
