"""Limits of a statement: its conditions, quantities, bounds and reasons. A claim may omit "if", or add "only"."""

import re
from collections.abc import Sequence
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
    """Return whether claim and source differ in a condition, bound, reason or negation; False: probably; None: no.

    Args:
        known: words of the source, its heading, the title and the question.
        denies_less: the source negates something that the claim does not.
    """
    dropped = _drops_condition(claim, source)
    in_english = _drops_bound(claim, changes) or denies_less
    # The patterns for English would reject 3 of 20 correct Korean claims.
    in_language = (
        _bounds_number_otherwise(claim, source)
        or _denies_last_otherwise(claim, source)
        or _adds_reason(claim, known)
        if claim.is_korean
        else in_english
    )
    adds_bound = (
        any(pattern.search(claim.text) for pattern in (_ALL, ONLY))
        and not source.denials
        and not any(pattern.search(source.text) for pattern in (_ALL, ONLY, _ANY))
    )
    if dropped or adds_bound or in_language:
        return True
    return False if dropped is not None or in_english else None


# "Elected by the members" equals "the members elect"; "3 l or 0.75 gallons" equals 3 l; what all do, some do.
_LEFT_OUT_FREELY = frozenset(("by", "or", "all", "every", "always"))


def _drops_bound(claim: Reading, changes: Sequence[Change]) -> bool:
    kept = _LEFT_OUT_FREELY.union(BOUND.findall(claim.text))
    return any(
        set(BOUND.findall(change.texts[1])) - kept
        for change in changes
        if change.is_short
        and not change.in_claim
        and not all(word.bracket for word in change.in_source)
    )


# "하면 된다", "하면 안 된다", "예를 들면" and "보자면" are no conditions.
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|provided|once)\b"
    r"|(?<=[가-힣])(?<![화측표장단전반국평정양외내들자])면(?!\w| ?(?:안 ?)?[되돼됩된될됐])"
    r"|(?<!어떤 )(?<!일부 )(?<!대부분의 )(?:경우|때)(?:에?[는만]?)(?!\w)"
)
_WHEN = re.compile(r"경우|때|시에?는?(?!\w)|에 따라|않는 한|한[해하]")
_CLAUSE = re.compile(r"[,.;:()]")
_CLAUSE_CHARS = 120
_LINK = re.compile(r"(?:므로|지만|는데|니까)(?!\w)")  # ends the scope of a condition
_MOST = 0.6  # share of a Korean claim's words after a condition from which it applies


def _drops_condition(claim: Reading, source: Reading) -> bool | None:
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
            if not is_korean:
                if not claim.is_korean:
                    return True
                continue
            only_time = match[0].startswith("때") and not match[0].endswith("만")
            words = _LINK.split(behind, maxsplit=1)[0].split()[: len(claim.words)]
            shared = claim.content & Reading(" ".join(words)).content
            states = len(shared) >= _MOST * len(claim.content)
            if states and not only_time and not _WHEN.search(claim.text):
                return True
    return likely


_ALL = re.compile(
    r"(?<!\w)(?:모든|모두(?! ?(?:\d|(?:한|두|세|네|[다여]섯|일곱|여덟|아홉|열) ))"  # not a total such as "모두 3명"
    r"|누구나|누구든|(?:어느|아무|어떤) \w+[나든](?!\w)|어디서나|언제나|언제든|항상|전부|전원|무조건|예외 ?없이)"
    r"|\b(?:all|every|everyone|everybody|anyone|anybody|always|anytime"
    r"|everything|everywhere|regardless)\b"
)
ONLY = re.compile(
    r"(?<![미\d십백천])(?:(?<!지)|(?<=까지))만(?:[을이은의]?(?!\w))|밖에|뿐|\b(?:only|solely|exclusively)\b"
)
# Words that may express "all" or "only" in the source.
_ANY = re.compile(
    r"(?<!\w)(?:각|매 |누구|아무|어느|어떤|단 )|마다|전체|오직|유일|단지|하나|제외|외에|한해|한하여"
    r"|\b(?:each|any\w*|whole|entire|just|no|none)\b"
)


_BOUNDED = re.compile(
    r"(?<![\d,.])(\d[\d,.]*+ ?[가-힣a-z%℃]{0,4}?)[을를이가의]? ?(?:(이상|부터)|(이하|까지|이내)|(미만)|(초과|넘(?!지)))"
)


def _bounds_of(text: str) -> set[tuple[str, int | None]]:
    return {(match[1].replace(" ", ""), match.lastindex) for match in _BOUNDED.finditer(text)}


def _bounds_number_otherwise(claim: Reading, source: Reading) -> bool:
    """Return whether a number is a bound on the other side: "100 이하" for "100 이상"."""
    there = _bounds_of(source.text)
    numbers = {number for number, _ in there}
    return any(number in numbers for number, _ in _bounds_of(claim.text) - there)


_REASON = re.compile(r"때문|덕분|탓|(?<=[기을를] )위[해하]")
_REASON_WORDS = 2  # characters before such a word that identify a reason


def _adds_reason(claim: Reading, known: AbstractSet[str]) -> bool:
    """Return whether a Korean claim gives a reason or purpose of which its source has no word."""
    for match in _REASON.finditer(claim.text):
        near = claim.text[max(0, match.start() - _CLAUSE_CHARS) : match.start()]
        words = _CLAUSE.split(near)[-1].split()[-_REASON_WORDS:]
        reason = Reading(" ".join(words)).content
        if reason and reason.isdisjoint(known):
            return True
    return False


_HARDLY = re.compile(r"거의|없이")


def _denies_last_otherwise(claim: Reading, source: Reading) -> bool:
    """Return whether a claim negates its last content word but the source does not, or the other way round."""
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
_LONGEST = 20  # maximum length of an excepted word


def is_unlimited(claim: Reading, source: Reading, _: Sequence[Change]) -> bool | None:
    """Return whether the claim says of all what the source says of some; False if another limit differs."""
    only, claims_only = bool(ONLY.search(source.text)), bool(ONLY.search(claim.text))
    exceptions: list[str] = []
    for match in _EXCEPT.finditer(source.text):
        before = source.text[max(0, match.start() - _LONGEST) : match.start()].split()
        exceptions.append(match["en"] or "".join(before[-1:]))
    claims_except = bool(_EXCEPT.search(claim.text))
    if exceptions and not claims_except:
        if claim.denials or source.denials:
            return False
        excepted = Reading(" ".join(exceptions)).content
        return bool(_ALL.search(claim.text)) or (
            bool(excepted) and excepted <= claim.content <= source.content
        )
    if only and not claims_only:
        return bool(_ALL.search(claim.text)) and not _ALL.search(source.text)
    return False if (claims_only and not only) or (claims_except and not exceptions) else None
