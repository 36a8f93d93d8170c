"""Detects what a quote lost when it was cut from its sentence: a negation, a limit or a question mark.

Examples: "stored in plain text" after "never", "확인되" before "지 않았다". In doubt a quote counts as cut, because the
author can easily give a longer one.
"""

import re

from gigamind.evidence.critical import NEGATION
from gigamind.evidence.normalize import visible
from gigamind.evidence.result import Loss
from gigamind.spans import Span
from gigamind.text import goes_on, sentences, unwrapped

_REACH = 600  # characters on either side; longer sentences are not readable
_NEGATABLE = 2  # the first characters of a negation that a quote may still hold: "지 " of "지 말고"
_ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）")
_LIMITED_ASIDE = re.compile(r"\b(?:only|except|excluding|unless)\b|제외|한정|[가-힣]만(?!\w)")
_TAG = re.compile(r"<[^<>\n]{1,100}>")  # markup only
_ASKS = re.compile(
    r"[?？][\"'”’」』)*_\s]*$|(?:까|나요|[인은는]가요?|(?<=하)냐|느냐)[\"'”’」』)*_\s]*$"
)

_HARMLESS = re.compile(
    r"없이|(?:뿐|뿐만|만)(?:이)? ?아니라|지 ?않으면 안|않을 수 없|못지 ?않|\bnot (?:only|just|merely)\b|\bno matter\b"
)
# Words other than negations that reverse the meaning of what they describe.
_REFUSES = re.compile(
    r"거부|거절|반려|제외|차단|실패|미포함|취소|무효|부결|무산|꺼짐|아니요|거짓|틀[렸린리]|오해|사실과 다|어렵|힘들"
    r"|\b(?:forbidden|prohibited|banned|refus\w+|fail(?:s|ed)?|unable|false|untrue|myth|wrong|den(?:y|ies|ied)"
    r"|instead of|rather than|prevent\w*|doubt\w*|hardly|rarely|seldom|barely|nobody|nothing|off|disabled)\b"
)
_LIMITED_BEFORE = re.compile(
    r"\b(?:only|just|than|at (?:least|most)|up to|over|under|above|below|nearly|almost|until|before|except|without)\s+$"
    r"|(?<!\w)(?:최대|최소|거의|오직|단지|약|대략|주로|대부분|보통|가끔|일부)\s+$"
)
_LIMITED_BEHIND = re.compile(
    r"\s?(?:이상|이하|초과|미만|이전|이후|제외|외에|만(?!\w)|밖에|뿐|넘|못 ?되)"
    r"|\W{0,3}(?:only|except|excluding|unless|without|(?:\w+ )?or (?:more|less|fewer|above|below|older|younger|later"
    r"|earlier|higher|lower))\b|\s?(?:hundred|thousand|million|billion|trillion|[만억조]\b)"
)
# Clause boundaries. Commas, colons and table cells are boundaries only beside a statement: "환불:" and "Remote work,
# even on Fridays," merely name the subject of what follows.
_CONNECTIVE = (
    r"(?:(?<![다라냐자])고(?! ?[있싶계])|며|면서|지만|으나|[는은인한]데|므로|니까|[하되]나|[이하되]니|[아어해]서)"
    r"(?=[\s,]|$)"
)
_BREAK_BEHIND = re.compile(
    rf"[;—–]|{_CONNECTIVE}"
    r"|\b(?:and|or|but|however|whereas|while|although|though|because|since|if|when|which|who|so|otherwise)\b"
)
_BREAK_BEFORE = re.compile(
    r"[;—–]|, (?:and|so|which|who|while)\b|\b(?:but|however|whereas|although|though|because)\b"
)
_BREAK_OF_VALUES = re.compile(r"[,:|]|\band\b")
_KEY = re.compile(r"[:|][-*_`\s]*$")
_FINITE = re.compile(r"(?:다|요|죠|[음함됨임])$")
_CONNECTED = re.compile(rf"{_CONNECTIVE},?$|\b(?:but|while|whereas|although|because),?$")
_VALUE = re.compile(r"\w[^|:\w]*+[|:][^|:\w]*+\w")
_IN_ROW = re.compile(r"[^\s|:*-][\s:*-]*+\|[\s*_`]*$")
_KOREAN_NOT = re.compile(r"(?<!\w)[안못]\s+[*_`]*$")


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question, which states nothing."""
    return bool(_ASKS.search(sentence))


def context_loss(text: str, span: Span) -> Loss | None:
    """Return what the rest of the sentences around a span of whole words changes about its meaning; None if nothing."""
    start, end = _lines(text, span)
    near = unwrapped(text[start:end])
    first, last = span.start - start, span.end - start
    whole = _sentences(near, first, last)
    head, tail = near[whole.start : first], near[last : whole.end]
    quote = _plain(near[first:last]).rstrip(" \t*_`\"'")
    aside = _ASIDE.match(_plain(tail).lstrip())
    if aside and _LIMITED_ASIDE.search(aside[0]):
        return "cut_limit"
    head, tail = (_ASIDE.sub(" ", _plain(part)) for part in (head, tail))
    if re.search(r"\w", _TAG.sub("", tail)) and is_question(tail):
        return "question"
    if _LIMITED_BEFORE.search(head) or _LIMITED_BEHIND.match(tail):
        return "cut_limit"
    is_negated = _negated_before(head, quote) or _negated_behind(head, quote, tail)
    return "cut_negation" if is_negated else None


def sentences_around(text: str, span: Span) -> Span:
    """Return the span of the whole sentences that a span touches, across line wraps."""
    start, end = _lines(text, span)
    whole = _sentences(unwrapped(text[start:end]), span.start - start, span.end - start)
    return Span(start + whole.start, start + whole.end)


def _sentences(near: str, first: int, last: int) -> Span:
    begin, end = 0, len(near)
    for sentence in sentences(near):
        if sentence.start <= first < sentence.end:
            begin = sentence.start
        if sentence.start < last <= sentence.end:
            end = sentence.end
    return Span(begin, end)


def _negated_before(head: str, quote: str) -> bool:
    hangul = sum("가" <= char <= "힣" for char in head + quote)
    if 2 * hangul >= sum(char.isascii() and char.isalpha() for char in head + quote):
        key = _KEY.search(head)
        if key is None or _FINITE.search(quote):
            return bool(_KOREAN_NOT.search(head))
        return bool(NEGATION.search(re.split(r"[|:]", head[: key.start()])[-1]))
    breaks = [*_BREAK_BEFORE.finditer(head)]
    if _states(quote):
        breaks += _BREAK_OF_VALUES.finditer(head)
    return _denies(head[max((match.end() for match in breaks), default=0) :])


def _negated_behind(head: str, quote: str, tail: str) -> bool:
    goes_on = re.match(r"\s*[있싶계]", tail)
    if (_CONNECTED.search(quote) and not goes_on) or (
        _FINITE.search(quote) and not tail[:1].isalnum()
    ):
        return False
    breaks = [*_BREAK_BEHIND.finditer(tail)]
    if _states(quote) or _IN_ROW.search(head):
        breaks += _BREAK_OF_VALUES.finditer(tail)
    return _denies(
        tail[: min((match.start() for match in breaks), default=None)], quote[-_NEGATABLE:]
    )


def _states(quote: str) -> bool:
    return any(map(str.isdigit, quote)) or bool(_VALUE.search(quote))


def _denies(rest: str, before: str = "") -> bool:
    """Return whether words negate; the end of `before` may be the start of the negation: 걸지 | 말고."""
    bare = _HARMLESS.sub(" ", before + rest)
    ends = [match.end() for match in NEGATION.finditer(bare)]
    return max(ends, default=0) > len(before) or bool(_REFUSES.search(bare, len(before)))


def _plain(text: str) -> str:
    return visible(text).text


def _lines(text: str, span: Span) -> tuple[int, int]:
    least, most = max(0, span.start - _REACH), min(len(text), span.end + _REACH)
    start = max(least, text.rfind("\n", least, span.start) + 1)
    end = text.find("\n", span.end, most)
    end = most if end < 0 else end
    while start > least:
        before = max(least, text.rfind("\n", least, start - 1) + 1)
        if not goes_on(text[before : start - 1], text[start:end]):
            break
        start = before
    while end < most:
        behind = text.find("\n", end + 1, most)
        behind = most if behind < 0 else behind
        if not goes_on(text[start:end].rpartition("\n")[2], text[end + 1 : behind]):
            break
        end = behind
    return start, end
