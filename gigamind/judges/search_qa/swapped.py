"""Checks whether two words of a claim have swapped the places that they have in its source."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile

from gigamind.judges.search_qa.reading import Change, Reading, is_content, key_of
from gigamind.text import is_particle

_CASES = {
    **dict.fromkeys(("이", "가", "께서"), "S"),
    **dict.fromkeys(("은", "는"), "T"),
    **dict.fromkeys(("을", "를"), "O"),
    **dict.fromkeys(("에게", "한테", "께", "에"), "D"),
    **dict.fromkeys(("에서", "에게서", "한테서", "부터"), "F"),
    **dict.fromkeys(("으로", "로"), "L"),
}
_CASE = re.compile(
    rf"(?<!\w)([\w]{{2,}}?)({'|'.join(sorted(_CASES, key=len, reverse=True))})(?!\w)"
)
_PASSIVE = re.compile(r"받|당하|당한|당했")
_FAR, _NEXT = 6, 3  # maximum distance of swapped words, in shared words and in all words
_SYMMETRIC = frozenset(("and", "or", "with", "equals", "same", "between"))


def swapped(claim: Reading, source: Reading, _: Sequence[Change]) -> bool | None:
    """Return whether two words are swapped; False if other words around them differ, too; None if not."""
    if source.raw.startswith("|"):  # cells are in the order of their columns
        return None
    if not claim.is_korean:
        return True if _sides_swapped(claim, source) else _words_swapped(claim, source)
    return True if _particles_swapped(claim, source) else _cases_swapped(claim, source)


_PHRASE = 3  # words within which the particle of a Korean noun is searched


def _particles_swapped(claim: Reading, source: Reading) -> bool:
    """Return whether two Korean words are swapped but not their particles; a moved word keeps its own.

    Example: "표준 사용자는 관리자 사용자가" for "관리자 사용자는 표준 사용자가".
    """
    in_claim, in_source = _once(claim), _once(source)
    shared = sorted(in_claim.keys() & in_source.keys(), key=lambda key: in_claim[key])
    turned = (
        (key, other)
        for index, key in enumerate(shared)
        for other in shared[index + 1 : index + _FAR]
        if in_source[other] < in_source[key]
    )
    for key, other in turned:
        first, second = _particle(claim, in_claim[key]), _particle(claim, in_claim[other])
        there = _particle(source, in_source[other]), _particle(source, in_source[key])
        if first and second and first != second and there == (first, second):
            return True
    return False


def _once(reading: Reading) -> dict[str, int]:
    counts = Counter(reading.keys)
    return {
        key: at for at, key in enumerate(reading.keys[:-1]) if counts[key] == 1 and is_content(key)
    }


def _particle(reading: Reading, at: int) -> str:
    return next((word.particle for word in reading.words[at : at + _PHRASE] if word.particle), "")


def _cases_swapped(claim: Reading, source: Reading) -> bool | None:
    in_source = _cases(source.text)
    in_claim = _cases(claim.text, in_source)
    same_voice = bool(_PASSIVE.search(claim.text)) == bool(_PASSIVE.search(source.text))
    same = same_voice and claim.keys[-1:] == source.keys[-1:]
    moved = {
        (case, in_source[word])
        for word, case in in_claim.items()
        if in_source.get(word, case) != case
    }
    plain = {(case.replace("T", "S"), other.replace("T", "S")) for case, other in moved}
    if any(case != other and (other, case) in plain for case, other in plain):
        return same
    return False if same and any("T" not in pair for pair in moved) else None


def _cases(text: str, known: Collection[str] = ()) -> dict[str, str]:
    cases: dict[str, str] = {}
    twice: set[str] = set()
    for match in _CASE.finditer(text):
        if match[1] in known or is_particle(match[1], text, match.end(1)):
            twice |= {match[1]} & cases.keys()
            cases[match[1]] = _CASES[match[2]]
    return {word: case for word, case in cases.items() if word not in twice}


_AUXILIARY = frozenset(("is", "are", "was", "were", "be", "been", "being", "has", "have", "had"))
_NAME_WORDS = 3  # on one side


def _sides_swapped(claim: Reading, source: Reading) -> bool:
    """Return whether the words before a phrase of the claim are after it in the source, and the other way round."""
    in_claim, in_source = (
        [key_of(word.text) for word in reading.words if word.text not in _AUXILIARY]
        for reading in (claim, source)
    )
    once = {
        key
        for key in in_claim
        if in_claim.count(key) == in_source.count(key) == 1 and is_content(key)
    }

    return any(
        _SYMMETRIC.isdisjoint(run := in_claim[at : at + size])
        and any(map(is_content, run))
        and (
            _are_exchanged(_sides(in_claim, at, size), _sides(in_source, there, size), once)
            or _is_turned(
                (in_claim[:at], in_claim[at + size :]),
                (in_source[:there], in_source[there + size :]),
                once,
            )
        )
        for at, there, size in _shared_runs(in_claim, in_source)
    )


_SUBJECTS = frozenset(map(key_of, ("he", "she", "it", "they", "who", "which")))
_Sides = tuple[Sequence[str], Sequence[str]]


def _sides(keys: Sequence[str], at: int, size: int) -> _Sides:
    return keys[max(0, at - _NAME_WORDS) : at], keys[at + size : at + size + _NAME_WORDS + 1]


def _are_exchanged(in_claim: _Sides, in_source: _Sides, once: AbstractSet[str]) -> bool:
    (before, behind), (source_before, source_behind) = in_claim, in_source
    if not (before and behind and source_before and source_behind):
        return False
    left, their_left = before[-1], source_before[-1]
    return (
        left != their_left
        and {left, their_left} <= once
        # "In the cabinet lie samples" equals "samples lie in the cabinet".
        and is_content(behind[0])
        and is_content(source_behind[0])
        and left in source_behind
        and their_left in behind
        and source_behind[0] in before
        and behind[0] in source_before
    )


def _is_turned(in_claim: _Sides, in_source: _Sides, once: AbstractSet[str]) -> bool:
    """Return the same for a source with a pronoun on one side and its reference before it."""
    (before, behind), (source_before, source_behind) = in_claim, in_source
    if not (behind and source_before and source_behind) or source_before[-1] not in _SUBJECTS:
        return False
    right, their_right = behind[0], source_behind[0]
    return (
        right != their_right
        and {right, their_right} <= once
        and right in source_before
        and their_right in before
    )


def _shared_runs(
    in_claim: Sequence[str], in_source: Sequence[str]
) -> Iterator[tuple[int, int, int]]:
    for at, key in enumerate(in_claim):
        for there, other in enumerate(in_source):
            if key == other and not (at and there and in_claim[at - 1] == in_source[there - 1]):
                pairs = zip(in_claim[at:], in_source[there:], strict=False)
                same = takewhile(lambda pair: pair[0] == pair[1], pairs)
                yield at, there, sum(1 for _ in same)


def _words_swapped(claim: Reading, source: Reading) -> bool | None:
    once = {key for key, count in Counter(source.keys).items() if count == 1}
    once &= {key for key, count in Counter(claim.keys).items() if count == 1 and is_content(key)}
    places = {key: at for at, key in enumerate(source.keys) if key in once}
    shared = [(at, places[key]) for at, key in enumerate(claim.keys) if key in places]
    turned: bool | None = None
    for index, (a, b) in enumerate(shared):
        for c, d in shared[index + 1 : index + _FAR]:
            between = claim.keys[a + 1 : c]
            if d < b and not _SYMMETRIC & {*between, *source.keys[d + 1 : b]}:
                if between and between == source.keys[d + 1 : b]:
                    return True
                if c - a < _NEXT and b - d < _NEXT:
                    turned = False
    return turned
