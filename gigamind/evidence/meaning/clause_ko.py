"""What a Korean quote lost of its clause: the verb stands at the end, and its negation behind or inside of it."""

import re

from gigamind.evidence.critical import NEGATION
from gigamind.evidence.meaning.clause import Clause

_HARMLESS = re.compile(
    r"없이|(?:뿐|뿐만|만)(?:이)? ?아니라|지 ?않으면 안|않을 수 없|못지 ?않|잘못|불가피"
    r"|(?:\d\S{0,3}|집|방|실내|건물|회사|시간) 안(?= )"
)
_REFUSES = re.compile(
    r"거부|거절|반려|제외|차단|실패|미포함|불포함|취소|무효|부결|무산|꺼짐|아니[요오]|거짓|틀[렸린리]|오해|사실과 다"
)
# Where a clause ends and another begins.  Of what ends in "고", "-다고" reports, and 광고, 창고, 재고 are nouns.
_NO_CONNECTIVE = "다라냐자광창보사참재경최신권충원예공금피수중입출"
_CONNECTIVE = (
    rf"(?:(?<![다라냐자])고(?=,)|(?<=[가-힣])(?<![{_NO_CONNECTIVE}])고(?! (?:있|싶|나[서면]|보|말|계))"
    r"|(?:[가-힣])며|면서|(?<!까)지만|으나|되나|(?<=[가-힣]{2})하나|[는은인한]데|므로|니까|[이하되]니"
    r"|[아어여해라와려져겨켜돼워춰나]서|[한된은] (?:뒤|후|다음)에?)(?=[\s,*_`]|$)"
)
_BREAK = re.compile(rf"{_CONNECTIVE}|[;—–]")
_NEXT_TOPIC = re.compile(r",\s*(?:[^\s,]+\s+){0,2}[^\s,]*[은는](?=\s)")
_NEXT_CELL = re.compile(r"[:：|]")
_TOPIC = re.compile(r"[은는](?=\s)")
_FINITE = re.compile(
    r"(?:(?<![보마바])다|(?:에|어|아|해|세|지|네|돼|예|까|군|니|려|와|워)요|죠)[\"'”’」』)*_`.!?]*$"
)
_NOUN_ENDING = re.compile(r"(?:음|함|됨|임|것)[\"'”’」』)*_`.!?]*$")
_ADVERB_BEFORE = re.compile(r"(?<!\w)(?:안|못)\s+[*_`]*$")
_REFUSING_KEY = re.compile(
    r"(?:불가|금지|제외|미포함|불포함|없음|않음|못함|안 ?됨|아님|비활성화|불가능)\)?[*_`]*\s*[:：|]\s*[-*_`\s]*$"
)
_COMPARED = re.compile(r"\s?(?:이상|이하|초과|미만|이전|이후|넘|못 ?되)")


def loses_negation(clause: Clause) -> bool:
    """Whether a negation that stands outside the quote bears on it."""
    if _ADVERB_BEFORE.search(clause.head):
        return True
    if not _states(clause.quote) and _REFUSING_KEY.search(clause.head):
        return True
    rest = _HARMLESS.sub(" ", _rest(clause))
    return bool(NEGATION.search(rest) or _REFUSES.search(rest))


def loses_comparison(clause: Clause) -> bool:
    """Whether the quote ends with a number that is a bound in its sentence: "12자 이상"."""
    counts = re.search(r"\d\s?[가-힣A-Za-z%]{0,3}\s*$", clause.quote)
    return bool(counts) and bool(_COMPARED.match(clause.tail))


def _rest(clause: Clause) -> str:
    """What stands behind the quote in its own clause."""
    tail = clause.tail
    goes_on = "가" <= tail[:1] <= "힣"
    if not goes_on and _is_whole(clause.quote, tail):
        return ""
    # The word that the quote ends in may hold the connective, or begin it: "가능 | 하고 교환은 ...".
    joined, at = clause.quote + tail, len(clause.quote)
    said = len(clause.quote.rstrip(" \t,*_`"))
    ends = [found.end() for found in _BREAK.finditer(joined) if found.end() >= said]
    rest = joined[at : max(at, min(ends, default=len(joined)))]
    if clause.has_value or _FINITE.search(clause.quote.rstrip()):
        rest = _NEXT_CELL.split(rest)[0]
    if _TOPIC.search(clause.head + clause.quote) or any(map(str.isdigit, clause.quote)):
        listed = f",{rest}" if clause.quote.rstrip().endswith(",") else rest
        found = _NEXT_TOPIC.search(listed)
        rest = listed[: found.start()] if found else rest
    return rest


def _is_whole(quote: str, tail: str) -> bool:
    bare = quote.rstrip()
    if _FINITE.search(bare):
        return True
    return bool(_NOUN_ENDING.search(bare)) and not tail[:1].isspace()


def _states(quote: str) -> bool:
    """Whether it says something of its own, not only what is spoken of."""
    return any(map(str.isdigit, quote)) or bool(_FINITE.search(quote.rstrip()))
