"""Whether words that look like a heading, a title or a question state something after all.

In doubt they do: what is no claim is judged by nobody.
"""

import re

_NUMBERING = re.compile(r"^\W*(?:\d{1,2}(?:\.\d{1,2})*[.)]|[IVX]{1,4}\.|[A-Z가-하][.)])\s+")
_KO_FACT = (
    r"(?:불가능?|가능|[있없]음|아님|않음|[됨했]|못함|무료|유료|금지|필수|필요|의무|면제|폐지|허용|제외|포함|해당"
    r"|없다)"
)
_ENDED = re.compile(rf"(?:다|죠|(?<![개수주소강])요|{_KO_FACT})$|[:：][\s*]{{0,9}}\w")
_FULL_STOPS = frozenset(".!。！?？")
# A topic, not a verb before its noun: "연차는 무료", but "신청하는 방법".
_KO_TOPIC = re.compile(
    r"[가-힣]{2,}(?:(?<![하되있없받쓰오보주않지리기르나])는|(?<![남많좋적높같작늦않없])은)\s+\S"
)
_EN_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|could|will|would|may|must|should|shall|does|did|not|never)\b(?!-)"
    r"|n['’]t\b|\bno\s+\w|\b(?:free|required|allowed|forbidden|mandatory|prohibited|unlimited|(?:un)?available)$",
    re.IGNORECASE,
)
_EN_ASKS = r"(?:what|who|whom|whose|when|where|why|how|which|whether|if)\b"
_EN_ASKED = re.compile(rf"^\W*{_EN_ASKS}", re.IGNORECASE)

_QUESTION_MARKS = frozenset("?？")
_KO_STATED = re.compile(r"(?:다|죠|[있없]음|(?<![나가까세셔래개수주소])요)$")
_KO_ASKED = re.compile(
    r"무엇|뭐(?!든)|뭔가|언제(?!든|나)|어디(?!든|서나|에나)|누구(?!나|든)|누가|왜|어떻게|얼마(?!든)|무슨"
)
_KNOWN = re.compile(
    r"\b(?:did|do) you know\b|(?:것|점|줄|사실)(?:을|은|도)? (?:알고 계|아시|아셨|알고 있|모르)",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",\s*(?:right|correct|yes|no|ok(?:ay)?|true|huh|eh|(?:is|are|was|were|do|does|did|has|have|can"
    r"|will)n['’]?t\s+\w+"
    r"|(?:is|are|was|were|do|does|did|has|have|can|will)\s+(?:it|they|he|she|there|we|you|that))$"
    r"|(?:그렇|맞)(?:죠|지요|나요)$",
    re.IGNORECASE,
)
_EN_INVERTED = re.compile(
    rf"^\W*(?:(?:and|or|but|so|also|then|well|in that case),?\s+)?(?:{_EN_ASKS}"
    r"|(?:is|are|am|was|were|do|does|did|can|could|will|would|shall|should|may|might|must|has|have"
    r"|had)(?:n['’]t)?\b)",
    re.IGNORECASE,
)

_LEADS_IN = re.compile(
    r"[:：]\**$|(?:다음|아래)(?:과|와) 같(?:습니다|아요|다)\.?$|\bas follows\.?$|\bfollowing$",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"다음|아래|이렇|같습니다|순서|방법|절차|단계|목록|\b(?:follow(?:s|ing)?|below|here|these|this|steps?"
    r"|list(?:ed)?)\b",
    re.IGNORECASE,
)
# A clause in front of the one that leads in: "환불은 무료이며 절차는 다음과 같습니다:".
_CLAUSE = re.compile(
    r"(?:[가-힣](?<![창보최광재신참경중사원공권충피예통차해선금장])고|[가-힣]며|므로|지만|[는은인]데|니까|어서"
    r"|아서|해서)[,\s]"
    r"|[,;]\s*(?:and|but|so|because|which|or)\b|\b(?:because|since|although|but)\b"
    r"|\b(?:is|are|was|were|has|have|can|must|will|should)\b.{0,80}\band\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"(?:[가-힣]다|[가-힣]요|죠)\.?\s?[:：]\**$|\b(?:is|are|was|were|has|have|can|must|will|should)\s+\w",
    re.IGNORECASE,
)


def has_digit(text: str) -> bool:
    """Whether a number stands in a text."""
    return any(char.isdigit() for char in text)


def states(text: str) -> bool:
    """Whether a heading or a title says something of its own: a number, a verb, a whole sentence."""
    bare, marks = _without_marks(_NUMBERING.sub("", text).strip(" \t*_#"))
    if has_digit(bare) or not _FULL_STOPS.isdisjoint(marks):
        return True
    if _ENDED.search(bare) or _KO_TOPIC.search(bare):
        return True
    return bool(_EN_VERB.search(bare)) and not _EN_ASKED.match(bare)


def asks(text: str) -> bool:
    """Whether a sentence is a question, and no statement with a question mark behind it: "90일입니다!?"."""
    bare, marks = _without_marks(text)
    if _QUESTION_MARKS.isdisjoint(marks) or has_digit(bare):
        return False
    if _KNOWN.search(bare) or _TAG.search(bare):
        return False
    if _KO_STATED.search(bare):
        return bare.endswith("요") and bool(_KO_ASKED.search(bare))
    return bool(_EN_INVERTED.match(bare)) or not _EN_VERB.search(bare)


def _without_marks(text: str) -> tuple[str, str]:
    """A text up to its last letter or digit, and the marks behind that."""
    end = len(text)
    while end and not text[end - 1].isalnum():
        end -= 1
    return text[:end], text[end:]


def introduces(text: str) -> bool:
    """Whether a sentence before a list or code only announces it, and states nothing of its own."""
    if not _LEADS_IN.search(text) or has_digit(text) or _CLAUSE.search(text):
        return False
    return bool(_POINTS.search(text)) or not _WHOLE.search(text)
