"""Checks whether a claim mixes two clauses of its source, adds one, or removes one from its context."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

from gigamind.judges.search_qa.numbers import Number, is_known, numbers_of
from gigamind.judges.search_qa.reading import Reading, Substitution, is_content, key_of

_BREAK = re.compile(
    r"[;—–]|,(?!\d)(?:\s+and\b)?|\b(?:but|while|whereas|although|and)\b"
    r"|(?<=지만)\s|(?<=는데)\s|(?<=으나)\s|(?<=[가-힣]고)\s|(?<=[가-힣]며)\s"
)
_ASIDE = re.compile(r"\([^()]*\)")  # its commas are no boundaries
NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten twelve twenty once twice half".split()  # noqa: SIM905
)
_BOUNDS = frozenset("after before until from above below over under then without".split())  # noqa: SIM905


@dataclass(frozen=True)
class _Clause:
    reading: Reading

    @cached_property
    def units(self) -> Sequence[str]:
        units: list[str] = []
        for word, key in zip(self.reading.words, self.reading.keys, strict=True):
            if word.tight and units and not word.is_number:
                units[-1] = f"{units[-1]}-{key}"
            elif is_content(key) or word.text in NUMBER_WORDS:
                units.append(key)
        return units

    @cached_property
    def numbers(self) -> Collection[Number]:
        return numbers_of(self.reading.text)


@lru_cache(maxsize=1_024)  # sentences; each is compared with several claims by several rules
def _clauses(text: str) -> tuple[_Clause, ...]:
    parts = _BREAK.split(_ASIDE.sub(" ", text))
    return tuple(part for part in (_Clause(Reading(part)) for part in parts) if part.units)


def crossed(claim: Reading, source: Reading) -> Substitution | None:
    """Return what a claim takes from one clause in place of what another clause says; None if nothing.

    Example: "Films are lent for three weeks" for "Books are lent for three weeks, films for one".
    """
    claim_clauses, parts = _clauses(claim.text), _clauses(source.text)
    if len(claim_clauses) != 1:
        return None
    [claim_clause] = claim_clauses
    shared = [
        (at, part)
        for at, part in enumerate(parts)
        if not set(part.units).isdisjoint(claim_clause.units)
    ]
    for (first, clause), (second, other) in permutations(shared, 2):
        own = [unit for unit in clause.units if unit not in other.units]
        others = [unit for unit in other.units if unit not in clause.units]
        taken = [unit for unit in own if unit in claim_clause.units]
        left = [unit for unit in others[1:] if unit not in claim_clause.units]
        if not own or not others or not taken:
            continue
        its_subject = claim_clause.units[0] == other.units[0] == others[0]
        lacks = clause.units[0] == own[0] not in claim_clause.units
        if first < second and its_subject and lacks and left:
            return Substitution(taken[0], left[-1])
        if number := _number_of_another(claim_clause, clause, other, own, others):
            return number
    return None


def _number_of_another(
    claim_clause: _Clause,
    clause: _Clause,
    other: _Clause,
    own: Sequence[str],
    others: Sequence[str],
) -> Substitution | None:
    """Return the number of `clause` used with a word of `other` alone, which has another one of its unit.

    Returns None if the claim includes all words after the number (or before it, if none follow): then both may have it.
    """
    if not any(unit in claim_clause.units for unit in others if unit.isalpha()):
        return None
    for number in claim_clause.numbers:
        left = [
            there
            for there in other.numbers
            if there.unit == number.unit and not is_known(there, claim_clause.numbers)
        ]
        stands = is_known(number, clause.numbers) and not is_known(number, other.numbers)
        if not (left and stands and number.value in clause.units):
            continue
        at = clause.units.index(number.value)
        around = [unit for unit in clause.units[at + 1 :] if unit in own]
        around = around or [unit for unit in clause.units[:at] if unit in own]
        around = around or [word.text for word in clause.reading.words if word.text in _BOUNDS]
        here = {*claim_clause.units, *(word.text for word in claim_clause.reading.words)}
        if any(unit not in here for unit in around):
            return Substitution(number.value, left[0].value)
    return None


_JOINS = re.compile(
    r"\b(?:and|as well as|plus)\b|,(?!\d)|및|그리고|(?<=[가-힣])(?<![다라냐자])[고며](?=\s)"
)
_FEW = 2  # minimum number of words of a part that does not end the claim
_MOSTLY = 0.6  # share of the words before it that the passage must have


def adds(claim: Reading, known: Collection[str], note: str) -> bool:
    """Return whether a claim adds to copied words a part without a `known` key and not all in the lower-case `note`."""
    content = [
        (word, key) for word, key in zip(claim.words, claim.keys, strict=True) if is_content(key)
    ]
    for join in _JOINS.finditer(claim.text):
        before = [key for word, key in content if word.end <= join.end()]
        behind = [key for word, key in content if word.start >= join.end()]
        part = behind[: next((at for at, key in enumerate(behind) if key in known), len(behind))]
        copied = sum(key in known for key in before) >= _MOSTLY * len(before) > 0
        is_part = len(part) >= _FEW or len(part) == len(behind) > 0
        if copied and is_part and any(key not in note for key in part):
            return True
    return False


# Words for opinions, intentions and plans, and for completed actions.
_UNDONE = re.compile(
    r"\b(?:will|shall|going to|plan(?:s|ned)?|propos(?:e[sd]?|ing|al)|suggest(?:s|ed|ing)?|aims?|hopes?|intends?"
    r"|expected|scheduled|due|considering|under (?:discussion|review)|to be|(?:is|are) being|in progress|not yet|should"
    r"|wants?|asks?|once|if|when|must|need)\b"
    r"|예정|계획|제안|검토 ?중|진행 ?중|논의 ?중|협의 ?중|추진|자고|목표|미[루뤘뤄]|보류|[을할될] [것듯]|하자|면 "
)
_DONE = re.compile(
    r"\b(?:has|have|had|was|were)\b"
    r"|(?:[았었였했됐났렸졌꿨갔왔냈뤘켰꼈]|끝났|마쳤|완료)[가-힣]*[다요][.!]?$|되어 ?있|완료"
)
_THOUGHT = re.compile(
    r"\b(?:thinks?|thought|believes?|believed|suspects?|suspected|assumes?|guess(?:es|ed)?|probably|presumably"
    r"|not (?:been )?(?:confirmed|proven|verified))\b|것 같|듯하|추정|추측|짐작|아마|확인되지 않"
)
_OPEN = re.compile(
    r"\b(?:(?<!in )(?<!of )(?<!by )(?<!since )(?<!until )may|can|could|would|possibly|perhaps|likely|seems?|appears?"
    r"|according to)\b|수 있|지도 모"
)
_HALF = 0.5


def is_out_of_frame(claim: Reading, source: Reading) -> bool:
    """Return whether a claim states as done or known what its source states only as opinion, intention or plan."""
    if _OPEN.search(claim.text):
        return False
    undone = _UNDONE.search(source.text) and not _UNDONE.search(claim.text)
    if undone and _DONE.search(claim.text) and not _DONE.search(source.text):
        return True
    if _THOUGHT.search(claim.text):
        return False
    thought = (part for part in _clauses(source.text) if _THOUGHT.search(part.reading.text))
    return any(
        len(claim.content & part.reading.content) >= _HALF * len(claim.content) for part in thought
    )


_WITHOUT = re.compile(
    r"(?<!\w)(\w{1,30}?)(?:을|를|이|가|과의?|와의?)? ?(?:\w{1,30} )?없이|\bwithout (?:an? |any |the )?(\w+)"
)
_INSTEAD = re.compile(
    r"(?<!\w)(\w{1,30}?)(?:을|를)? 대신|\b(?:instead of|rather than) (?:an? |any |the )?(\w+)"
)
_TURNS = re.compile(r"없이|대신|\b(?:without|instead|rather)\b")


def reversed_by_preposition(claim: Reading, source: Reading) -> Substitution | None:
    """Return a word that the claim negates with "without", or its source with "instead of", and the other does not."""
    for mark, here, there in ((_WITHOUT, claim, source), (_INSTEAD, source, claim)):
        if _TURNS.search(there.text) or there.denials:
            continue
        for match in mark.finditer(here.text):
            word = match[1] or match[2]
            if key_of(word) in there.content:
                pair = (match[0], word) if here is claim else (word, match[0])
                return Substitution(*pair)
    return None
