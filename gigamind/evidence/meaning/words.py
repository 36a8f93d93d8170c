"""The words of a quote as its wording is compared: what a copy may change without changing the text is gone.

White space, case, punctuation, quotation marks and Markdown marks are gone; contractions are written out; signs that
carry sense (-, %, ≥, →, ○) are words; an ellipsis is one, too, and stands for words that were left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gigamind.evidence.meaning.endings import is_case_particle, limits
from gigamind.evidence.normalize import unmarked, visible

ELLIPSIS = "..."
_WORD = re.compile(
    r"""
      (?P<tag></?(?:br|[ubip]|em|strong|mark|su[bp]|kbd|div|span)\b[^<>]*+>)
    | (?P<ellipsis>\.{2,}|[\[(](?:\.{3}|중략|생략)[\])])
    | (?P<number>\d+(?:[.,:]\d+)*)
    | (?P<letters>[^\W\d_]+(?:'[^\W\d_]+)*(?:\+\+|\#(?!\w))?)
    | (?P<arrow>[-=]+>)
    | (?P<sign>(?<![\w)\].])[-+](?=[.]?\d) | [%‰°$€£¥₩₿¢&<>=≤≥≠≒≈±+×÷√∞○◯⭕◎✕✖❌✗✘✓✔✅☑☒△▲▽▼↑↓→←↔⇒⇐])
    """,
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NEGATED = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_CONTRACTIONS = {"'ll": ["will"], "'d": ["would"], "'re": [], "'ve": [], "'m": [], "'s": []}

# Left out or put in, these change nothing.
_EMPTY_WORDS = "a an the of that is are was were be been being am has have had do does did"
# Words without which a text says something else, so that an ellipsis must not stand for them.
_SENSE_WORDS = """
    not no never none neither nor cannot without only must may might can could should shall will would need unless
    except but before after until till since at most least more less fewer over under above below up down every each
    all some any half or if when while than solely just excluding forbidden prohibited hardly barely rarely seldom
    almost nearly false untrue
    이상 이하 미만 초과 전 전에 전까지 후 후에 이전 이후 안에 밖에 외 외에 제외 만 까지 부터 또는 혹은 거나 모든 모두
    일부 매 단 다만 경우 때 오직 거의
"""
_KOREAN_SENSE = re.compile(
    r"않|못|없|아니|아닌|아닙|금지|불가|제외|예외|반대|거부|취소|면제|^[불비무미](?=..)|^안$|^안[된되돼하한합]|말[라아고것]|마[세십]|면$|거나$|지만$"
)
# "not able" is not "notable", nor "a part" "apart": such words join no others.
_UNJOINED_WORDS = """
    not no un in im ir il non dis mis anti ex pre post over under up down out off on now any every some all to at it
    or by as so
"""
_EMPTY, _SENSE = frozenset(_EMPTY_WORDS.split()), frozenset(_SENSE_WORDS.split())
_UNJOINED = _EMPTY | frozenset(_UNJOINED_WORDS.split())


@dataclass(frozen=True, slots=True)
class Word:
    """One word.

    Attributes:
        text: its letters, digits or sign, lower-cased.
        glued: it follows a number or sign without white space.
    """

    text: str
    glued: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the word may be left out or put in anywhere."""
        return self.text in _EMPTY or (self.glued and is_case_particle(self.text))

    @property
    def is_skippable(self) -> bool:
        """Whether an ellipsis may stand for it."""
        text = self.text
        return not (text in _SENSE or limits(text) or _KOREAN_SENSE.search(text))


def forms(text: str) -> list[str]:
    """The text without Markdown marks; where it has numbered items, also without their numbers."""
    seen = visible(text)
    return list(
        dict.fromkeys(unmarked(text, seen, is_quote=is_quote).text for is_quote in (True, False))
    )


def words(form: str) -> list[Word]:
    """The words of one of the `forms`, in order."""
    found: list[Word] = []
    end, last = -1, ""
    for match in _WORD.finditer(form):
        kind = match.lastgroup or ""
        glued = match.start() == end and last in {"number", "sign"}
        for text in _texts(kind, match[0]):
            found.append(Word(text, glued))
            glued = False
        end, last = match.end(), kind
    return found


def names(text: str) -> frozenset[str]:
    """Words that a text writes with a capital letter, lower-cased."""
    return frozenset(word.lower() for word in re.findall(r"\b[A-Z][A-Za-z]+", text))


def joined(group: list[Word]) -> str | None:
    """Words written without the spaces between them; None when they are other words then."""
    if all(_may_join(before.text, word.text) for before, word in pairwise(group)):
        return "".join(word.text for word in group)
    return None


def _may_join(before: str, word: str) -> bool:
    """Hangul joins anything, digits no digits, and Latin words join unless one of them is such a word."""
    if before.isascii() and word.isascii() and before.isalpha() and word.isalpha():
        return not {before, word} & _UNJOINED
    return not (before[-1].isdigit() and word[0].isdigit())


def _texts(kind: str, raw: str) -> Iterator[str]:
    if kind == "ellipsis":
        yield ELLIPSIS
    elif kind == "number":
        yield _THOUSANDS.sub("", raw)
    elif kind == "arrow":
        yield "→"
    elif kind == "letters":
        yield from _written_out(raw)
    elif kind == "sign":
        yield "and" if raw == "&" else raw


@lru_cache(maxsize=4096)
def _written_out(raw: str) -> tuple[str, ...]:
    """Contractions in full: don't as do not, cannot as can not, it's as it."""
    if raw == "cannot":
        return "can", "not"
    if raw.endswith("n't"):
        return _NEGATED.get(raw[:-3], raw[:-3]), "not"
    for ending, written in _CONTRACTIONS.items():
        if raw.endswith(ending):
            return raw.removesuffix(ending).replace("'", ""), *written
    return (raw.replace("'", ""),)
