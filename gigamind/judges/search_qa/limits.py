"""What a statement holds for: under which condition, of how many, from what bound on, for what reason.

A claim that shares its words with its source may still leave out an "if" or a "some", or say "only" of its own.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from gigamind.judges.search_qa.reading import BOUND, Change, Reading, is_content
from gigamind.judges.search_qa.words import HANGUL


def differs_in_limits(
    claim: Reading,
    source: Reading,
    changes: Sequence[Change],
    known: AbstractSet[str],
    *,
    denies_less: bool,
) -> bool | None:
    """Whether one has a condition, bound, reason or denial that the other seems to lack; False: that is but likely.

    Args:
        changes: where the claim differs from its source.
        known: the words of the source, its heading, the title and the question.
        denies_less: the source denies what the claim does not.
    """
    dropped = _drops_condition(claim, source)
    in_english = _drops_bound(claim, changes) or denies_less
    # Of Korean examples the English ones would cost 3 of 20 honest claims.
    in_language = (
        _bounds_number_otherwise(claim, source)
        or _denies_last_otherwise(claim, source)
        or _adds_reason(claim, known)
        if claim.is_korean
        else in_english
    )
    if dropped or _adds_bound(claim, source) or in_language:
        return True
    return False if dropped is not None or in_english else None


# "Elected by the members" is "the members elect", "3 l or 0.75 gallons" is 3 l, and what all do some do.
_LEFT_OUT_FREELY = frozenset(("by", "or", "all", "every", "always"))


def _drops_bound(claim: Reading, changes: Sequence[Change]) -> bool:
    """Whether a claim that is mostly its source leaves out a bound of it: "some", "almost", "only"."""
    kept = _LEFT_OUT_FREELY.union(BOUND.findall(claim.text))
    return any(
        set(BOUND.findall(change.texts[1])) - kept
        for change in changes
        if change.is_short
        and not change.in_claim
        and not all(word.bracket for word in change.in_source)
    )


# "하면 된다" and "하면 안 된다" are no conditions, nor are "예를 들면" and "보자면".
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|provided|once)\b"
    r"|(?<=[가-힣])(?<![화측표장단전반국평정양외내들자])면(?!\w| ?(?:안 ?)?[되돼됩된될됐])"
    r"|(?<!어떤 )(?<!일부 )(?<!대부분의 )(?:경우|때)(?:에?[는만]?)(?!\w)"
)
_WHEN = re.compile(r"경우|때|시에?는?(?!\w)|에 따라|않는 한|한[해하]")
_CLAUSE = re.compile(r"[,.;:()]")
_CLAUSE_CHARS = 120
_LINK = re.compile(r"(?:므로|지만|는데|니까)(?!\w)")  # ends what a condition is of
_MOST = 0.6  # of a Korean claim's words behind a condition, from which it stands under it


def _drops_condition(claim: Reading, source: Reading) -> bool | None:
    """Whether a claim states without a condition what its source says under one; False where that is but likely."""
    if _CONDITION.search(claim.text):
        return None
    likely: bool | None = None
    for match in _CONDITION.finditer(source.text):
        behind = source.text[match.end() : match.end() + _CLAUSE_CHARS]
        near = source.text[max(0, match.start() - _CLAUSE_CHARS) : match.start()]
        is_korean = bool(HANGUL.search(match[0]))
        under = Reading(_CLAUSE.split(near)[-1] if is_korean else _CLAUSE.split(behind)[0]).content
        if under and 2 * len(under & claim.content) < len(under):
            likely = False
            certain = _stands_under(claim, match[0], behind) if is_korean else not claim.is_korean
            if certain:
                return True
    return likely


def _stands_under(claim: Reading, condition: str, behind: str) -> bool:
    """Whether a Korean claim says what stands behind a condition; "때" alone but tells when."""
    if _WHEN.search(claim.text) or (condition.startswith("때") and not condition.endswith("만")):
        return False
    words = _LINK.split(behind, maxsplit=1)[0].split()[: len(claim.words)]
    return len(claim.content & Reading(" ".join(words)).content) >= _MOST * len(claim.content)


_ALL = re.compile(
    r"(?<!\w)(?:모든|모두(?! ?(?:\d|(?:한|두|세|네|[다여]섯|일곱|여덟|아홉|열) ))"  # no sum: "모두 3명"
    r"|누구나|누구든|(?:어느|아무|어떤) \w+[나든](?!\w)|어디서나|언제나|언제든|항상|전부|전원|무조건|예외 ?없이)"
    r"|\b(?:all|every|everyone|everybody|anyone|anybody|always|anytime"
    r"|everything|everywhere|regardless)\b"
)
ONLY = re.compile(
    r"(?<![미\d십백천])(?:(?<!지)|(?<=까지))만(?:[을이은의]?(?!\w))|밖에|뿐|\b(?:only|solely|exclusively)\b"
)
# What may stand for "all" or "only" in the source of a claim that says so.
_ANY = re.compile(
    r"(?<!\w)(?:각|매 |누구|아무|어느|어떤|단 )|마다|전체|오직|유일|단지|하나|제외|외에|한해|한하여"
    r"|\b(?:each|any\w*|whole|entire|just|no|none)\b"
)


def _adds_bound(claim: Reading, source: Reading) -> bool:
    """Whether a claim says "all" or "only" of what its source says without any such word."""
    return (
        any(pattern.search(claim.text) for pattern in (_ALL, ONLY))
        and not source.denials
        and not any(pattern.search(source.text) for pattern in (_ALL, ONLY, _ANY))
    )


_BOUNDED = re.compile(
    r"(?<![\d,.])(\d[\d,.]*+ ?[가-힣a-z%℃]{0,4}?)[을를이가의]? ?(?:(이상|부터)|(이하|까지|이내)|(미만)|(초과|넘(?!지)))"
)


def _bounds_of(text: str) -> set[tuple[str, int | None]]:
    """The numbers with their units, and on which side each bounds."""
    return {(match[1].replace(" ", ""), match.lastindex) for match in _BOUNDED.finditer(text)}


def _bounds_number_otherwise(claim: Reading, source: Reading) -> bool:
    """Whether a number bounds from the other side: "100 이하" of "100 이상"."""
    there = _bounds_of(source.text)
    numbers = {number for number, _ in there}
    return any(number in numbers for number, _ in _bounds_of(claim.text) - there)


_REASON = re.compile(r"때문|덕분|탓|(?<=[기을를] )위[해하]")
_REASON_WORDS = 2  # before such a word, by which a reason is known


def _adds_reason(claim: Reading, known: AbstractSet[str]) -> bool:
    """Whether a Korean claim gives a reason or an aim of which its source has no word."""
    for match in _REASON.finditer(claim.text):
        near = claim.text[max(0, match.start() - _CLAUSE_CHARS) : match.start()]
        words = _CLAUSE.split(near)[-1].split()[-_REASON_WORDS:]
        reason = Reading(" ".join(words)).content
        if reason and reason.isdisjoint(known):
            return True
    return False


_HARDLY = re.compile(r"거의|없이")


def _denies_last_otherwise(claim: Reading, source: Reading) -> bool:
    """Whether a claim denies its last content word, which its source states, or the other way round."""
    at = next((at for at in reversed(range(len(claim.keys))) if is_content(claim.keys[at])), None)
    if at is None or len(claim.denials) == len(source.denials):
        return False
    key = claim.keys[at]
    if claim.keys.count(key) != 1 or source.keys.count(key) != 1 or _HARDLY.search(source.text):
        return False
    return (at in claim.denials) != (source.keys.index(key) in source.denials)


_EXCEPT = re.compile(
    r"제외|예외|아닌 한|뺀(?!\w)|빼고|외에는"
    r"|\b(?:except(?: for)?|excluding|unless|other than|apart from|aside from|but not)\b(?P<en>(?: [\w'-]+){1,4})"
)
_LONGEST = 20  # characters of an excepted word


def _excepted(text: str) -> Iterator[str]:
    """What is excepted: before the word that says so in Korean, behind it in English."""
    for match in _EXCEPT.finditer(text):
        before = text[max(0, match.start() - _LONGEST) : match.start()].split()
        yield match["en"] or "".join(before[-1:])


def is_unlimited(claim: Reading, source: Reading, _: Sequence[Change]) -> bool | None:
    """Whether the claim says of all what the source says of some; False where another limit differs."""
    only, said_only = bool(ONLY.search(source.text)), bool(ONLY.search(claim.text))
    exceptions = list(_excepted(source.text))
    said_except = bool(_EXCEPT.search(claim.text))
    if exceptions and not said_except:
        if claim.denials or source.denials:
            return False
        excepted = Reading(" ".join(exceptions)).content
        return bool(_ALL.search(claim.text)) or (
            bool(excepted) and excepted <= claim.content <= source.content
        )
    if only and not said_only:
        return bool(_ALL.search(claim.text)) and not _ALL.search(source.text)
    return False if (said_only and not only) or (said_except and not exceptions) else None
