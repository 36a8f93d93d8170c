"""Finds a word of a claim that replaces another word of its source, by its position.

It also rejects correct copies with a synonym in them; the thresholds keep these rare (benchmarks/MEASUREMENTS.md).
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from gigamind.evidence.words import ELLIPSIS, Word, is_typo
from gigamind.judges.search_qa.passage import label_of
from gigamind.judges.search_qa.reading import (
    Change,
    Reading,
    bounds_differ,
    is_content,
    is_other_word,
    key_of,
)
from gigamind.judges.search_qa.words import HANGUL

# Share of the longer text from which a claim is a copy: with several differences, and with a single one.
_COPIED, _COPIED_BUT_ONCE = 0.85, 0.6
_JOINING = frozenset(("and", "or", "with", "및", "와", "과", "또는", "그리고"))


def substitution(claim: Reading, source: Reading) -> Change | None:
    """Return the first replaced word of an otherwise copied sentence; None if there is none."""
    gaps = list(_gaps(claim, source))
    equal = len(claim.keys) - sum(len(gap.in_claim) for gap in gaps)
    whole = equal + sum(max(len(gap.in_claim), len(gap.in_source)) for gap in gaps)
    lone = [gap for gap in gaps if gap.pair]
    turned = _exchanged(lone, claim)
    if len(turned) > 1:  # two words are swapped, regardless of other differences
        return next(gap for gap in lone if key_of(gap.in_claim[0].text) in turned)
    # A word in Latin letters, in Korean usually a name, that replaces another.
    here, there = ({word.text for word in reading.words} for reading in (claim, source))
    for gap in gaps if claim.is_korean else ():
        new = (word.text for word in gap.in_claim if word.text not in there)
        old = (word.text for word in gap.in_source if word.text not in here)
        if any(map(_TERM.fullmatch, new)) and any(map(_TERM.fullmatch, old)):
            return gap
    # All words but one are equal, however few: "담당자는 김민수입니다".
    alone = len(gaps) == 1 and len(claim.keys) == len(source.keys)
    is_same_sentence = claim.is_korean and alone and equal > 0
    if not is_same_sentence and equal < (_COPIED if len(gaps) > 1 else _COPIED_BUT_ONCE) * whole:
        return None
    exchanged = _exchanged(gaps, claim)
    replaced = (gap for gap in gaps if gap.in_claim and gap.in_source)
    return next((gap for gap in replaced if _is_other(gap, claim, source, exchanged)), None)


_TERM = re.compile(r"[a-z][a-z0-9_.+/-]+")


def _gaps(claim: Reading, source: Reading) -> Iterator[Change]:
    """Yield the differences in order; of the source's words around the claim, as many as can be in their place."""
    in_claim: list[Word] = []
    in_source: list[Word] = []
    begun = False
    for code in Levenshtein.opcodes(claim.keys, source.keys):
        here = claim.words[code.src_start : code.src_end]
        there = source.words[code.dest_start : code.dest_end]
        if code.tag != "equal":
            in_claim += here
            in_source += there
            continue
        if not begun:
            in_source = in_source[len(in_source) - len(in_claim) :] if in_claim else []
        if in_claim or in_source:
            yield Change(in_claim, in_source)
        pairs = zip(here, there, strict=True)
        yield from (
            Change([claim_word], [other])
            for claim_word, other in pairs
            if is_other_word(claim_word, other)
        )
        in_claim, in_source, begun = [], [], True
    if in_claim:
        yield Change(in_claim, in_source[: len(in_claim)])


_NOUN_IS = re.compile(r"\w{2}(?:입니다|이다|이었다|이에요)$")


def _is_other(gap: Change, claim: Reading, source: Reading, exchanged: Collection[str]) -> bool:
    """Return whether a content word of the source, or a limit such as all or some, is replaced by another word."""
    if gap.pair is None:  # several words are a paraphrase
        return False
    claim_word, other = gap.pair
    # `numbers` compares digits.
    if claim_word.is_number or other.is_number or ELLIPSIS in claim_word.text:
        return False
    if claim_word.whole == other.whole:  # written together with the word before: "DVD같은"
        return False
    if bounds_differ(claim_word.whole, other.whole):
        return True
    # A final Korean verb is often paraphrased: 4 of the 7 correct pairs that this rule rejected in half of KorNLI.
    is_noun = _NOUN_IS.search(claim_word.whole) and _NOUN_IS.search(other.whole)
    if claim.is_korean and claim_word is claim.words[-1] and not is_noun:
        return False
    here, there = key_of(claim_word.text), key_of(other.text)
    is_gone = there in exchanged or claim.keys.count(there) < source.keys.count(there)
    return (
        is_content(here)
        and is_content(there)
        and is_gone
        and not is_typo(claim_word, other, frozenset())
    )


def _exchanged(gaps: Sequence[Change], claim: Reading) -> frozenset[str]:
    """Return the words that are swapped, except those that are only listed in another order."""
    in_claim = {key_of(word.text) for gap in gaps for word in gap.in_claim}
    both = in_claim & {key_of(word.text) for gap in gaps for word in gap.in_source}
    places = [at for at, key in enumerate(claim.keys) if key in both]
    listed = places and _JOINING & {*claim.keys[places[0] : places[-1]]}
    return frozenset() if listed else frozenset(both)


_UNIT = re.compile(r"[^\W_]+(?:[.,:/-][^\W_]+)*")
_HANGUL = re.compile("[가-힣]+")


def is_of_another_row(
    claim: Reading, own: str, beside: Sequence[str], known: Collection[str]
) -> bool:
    """Return whether the claim has words of another row or list item in place of the words of its own.

    Compares the labels first: a claim about "P1" may share all its other words with the row of "P2", or a value of it.
    """
    label, there, claim_units = (_units(text) for text in (label_of(own), own, claim.raw))
    if label and not _is_named(label, claim_units):
        for other in map(label_of, beside):
            units = _units(other)
            # A number alone names nothing, and what the row speaks of may be the label of another.
            named = any(map(str.isalpha, other)) and _is_named(units, claim_units)
            ends = (at + len(units) for at in range(len(there)))
            if named and not any(units == there[end - len(units) : end] for end in ends):
                return True
    new = _beyond(claim, known) if _beyond(Reading(own), claim.keys) else set[str]()
    return bool(new) and any(not new.isdisjoint(Reading(row).content) for row in beside)


def _beyond(reading: Reading, known: Collection[str]) -> set[str]:
    """Return the content words that are not known, except numbers, which `numbers` compares."""
    words = zip(reading.words, reading.keys, strict=True)
    return {
        key for word, key in words if is_content(key) and key not in known and not word.is_number
    }


@lru_cache(maxsize=1_024)  # of a row, for each claim of its table
def _units(text: str) -> list[str]:
    return _UNIT.findall(Reading(text).text)


def _is_named(label: Sequence[str], words: Sequence[str]) -> bool:
    return all(any(_is_form(word, unit) for word in words) for unit in label)


def _is_form(word: str, unit: str) -> bool:
    """Whether a word is one of a label, perhaps with a particle or a noun written to it: "P1은", "A등급"."""
    behind = word.removeprefix(unit)
    if word == unit or key_of(word) == key_of(unit):
        return True
    return behind != word and bool(_HANGUL.fullmatch(behind)) and not HANGUL.fullmatch(unit)
