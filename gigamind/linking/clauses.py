"""Detect Korean verbs that look like names: "휴직을 시작하기 30일 전까지" does not mention a note "시작하기".

기 turns a verb into a noun, and titles end this way ("시작하기", "보고서 만들기"); in running text the same words may
be the verb of a clause. The text after them decides, for some of it together with an object before them. Nouns also
end in 기 ("2분기", "크기"): where a noun is possible, only 하기, 되기 and 시키기 count.
"""

import re

from gigamind.spans import Span
from gigamind.text import is_particle

_VERB = re.compile(r"\w(?:하|되|시키)기$")
_OBJECT = re.compile(r"(\S)[을를][ \n]$")
_IN_ORDER_TO = re.compile(r"[ \n]위[하해한함할]")  # a noun has 을 or 를 before 위하다
_TIME = r"직?전(?:에|까지|부터|의)?[은는도]?(?!\w)"
_BEFORE_IT = re.compile(rf"[ \n]{_TIME}")
_OF_AN_OBJECT = re.compile(
    rf"[ \n](?:(?:[^\s.,:;!?]+[ \n]){{1,2}}{_TIME}|때문|시작[하되했됐한된할될합됩해돼])"
)


def is_clause(text: str, span: Span) -> bool:
    """Return whether `text[span]` is the verb of a clause of time, purpose, reason or beginning."""
    words = span.slice(text)
    if not words.endswith("기"):
        return False
    if _IN_ORDER_TO.match(text, span.end):
        return True
    if not _VERB.search(words):
        return False
    if _BEFORE_IT.match(text, span.end):
        return True
    before = text[max(0, span.start - 3) : span.start]
    match = _OBJECT.search(before) if _OF_AN_OBJECT.match(text, span.end) else None
    # In 마을 and 가을, the syllable does not fit the sound before it as a particle.
    return match is not None and is_particle(match[1], before, match.end(1))
