"""Whether a Korean verb stands where a name would: "휴직을 시작하기 30일 전까지" speaks of no note "시작하기".

기 makes a noun of a verb, and titles end so ("시작하기", "보고서 만들기"); in running text the same words may be the
verb of a clause.  What stands behind them tells, and for some of it an object before them.  Nouns end in 기 as well
("2분기", "크기"): where one could stand just so, only 하기, 되기 and 시키기 count.

In the seven Korean vaults of benchmarks/link_vaults.py this finds 6 verbs, each rightly, and none of the 2,852 links,
of which 187 have words in 기.
"""

import re

from gigamind.spans import Span
from gigamind.text import is_particle

_VERB = re.compile(r"\w(?:하|되|시키)기$")
_OBJECT = re.compile(r"(\S)[을를][ \n]$")
_IN_ORDER_TO = re.compile(r"[ \n]위[하해한함할]")  # behind a noun 을 or 를 stands before 위하다
_TIME = r"직?전(?:에|까지|부터|의)?[은는도]?(?!\w)"
_BEFORE_IT = re.compile(rf"[ \n]{_TIME}")
_OF_AN_OBJECT = re.compile(
    rf"[ \n](?:(?:[^\s.,:;!?]+[ \n]){{1,2}}{_TIME}|때문|시작[하되했됐한된할될합됩해돼])"
)


def is_clause(text: str, span: Span) -> bool:
    """Whether `text[span]` is the verb of a clause that means a time, a purpose, a reason or a beginning."""
    words = span.slice(text)
    if not words.endswith("기"):
        return False
    if _IN_ORDER_TO.match(text, span.end):
        return True
    if not _VERB.search(words):
        return False
    if _BEFORE_IT.match(text, span.end):
        return True
    return _OF_AN_OBJECT.match(text, span.end) is not None and _has_object(text, span.start)


def _has_object(text: str, start: int) -> bool:
    """Whether 을 or 를 stands before a place and is a particle: in 마을 and 가을 it agrees with no sound before it."""
    before = text[max(0, start - 3) : start]
    found = _OBJECT.search(before)
    return found is not None and is_particle(found[1], before, found.end(1))
