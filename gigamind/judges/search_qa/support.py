"""Checks by rules, without a model, whether the source sentence around a proven quote states the claim.

A definite conflict is a contradiction. Where code cannot decide, the support is doubtful and requires a second check.
When unsure, the result is doubtful: contradictions must not hit correctly supported claims. See benchmarks/README.md.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from gigamind.evidence.clause import is_question
from gigamind.evidence.critical import opposed
from gigamind.judges.search_qa.clauses import (
    NUMBER_WORDS,
    adds,
    crossed,
    is_out_of_frame,
    reversed_by_preposition,
)
from gigamind.judges.search_qa.limits import ONLY, differs_in_limits, is_unlimited
from gigamind.judges.search_qa.numbers import (
    ROUNDED,
    are_reordered,
    is_known,
    is_rounded_from,
    known_numbers,
    numbers_in_words,
    numbers_of,
)
from gigamind.judges.search_qa.passage import (
    HEADING,
    Contradiction,
    Passage,
    Support,
    is_row,
)
from gigamind.judges.search_qa.reading import (
    DENIALS,
    Change,
    Reading,
    changes_of,
    is_content,
    is_edited,
)
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.substitution import (
    substitution,
    substitution_in_item,
    substitution_of_row,
)
from gigamind.judges.search_qa.swapped import swapped
from gigamind.judges.search_qa.words import stem
from gigamind.text import sentences, tokens

# Minimum share of a claim's words in its passage, if both are in one language; by whether that is Korean.
_LEAST: Mapping[bool, float] = {True: 0.55, False: 0.65}
_LEAST_OWN = 0.5  # in the passage alone: an answer repeats the words of its question
_SAME_MATTER = 0.6  # share of the claim's words in the passage from which both have the same topic


def support(
    claim_text: str, passage: Passage, *, title: str = "", question: str = "", note: str = ""
) -> Support:
    """Return how a passage supports a claim, given in Markdown with its citations.

    Args:
        title: of the note.
        question: its words and numbers do not count as added by the claim.
        note: the whole note, which may have a number that the passage lacks.
    """
    claim, source = Reading(without_note_names(claim_text)), Reading(passage.text)
    context = Reading(f"{passage.heading}\n{title}\n{question}")
    # The words that a claim may use.
    around, keys = f"{source.text}\n{context.text}", {*source.keys, *context.keys}
    share = _share(claim, around, keys)
    own = len(claim.content & source.content) / len(claim.content) if claim.content else 1.0
    numbers, doubtful, far_number = _numbers(claim, source, around, note, own)
    contradictions: list[Contradiction] = [*_formal(claim, source, own), *numbers]
    in_table = is_row(passage.said)
    sentence = Reading(passage.said) if passage.lead else source
    # A row may consist of figures and codes only; its header has a language.
    if claim.is_korean != (source if in_table else sentence).is_korean:
        return Support(tuple(contradictions), share, doubtful=True, foreign=True)
    least = _LEAST[claim.is_korean]
    named = len(claim.content & keys) / len(claim.content) if claim.content else 0.0
    sparse = own < _LEAST_OWN or max(share, named if passage.is_terse else 0.0) < least
    doubtful = doubtful or sparse or share < least
    changes = list(changes_of(claim, source))
    rules = _RULES if own >= _SAME_MATTER else ()
    verdicts: dict[Contradiction, bool | None] = {
        name: rule(claim, source, changes) for name, rule in rules
    }
    contradictions.extend(name for name, verdict in verdicts.items() if verdict)
    doubtful = doubtful or any(verdict is not None for verdict in verdicts.values())
    # A negation only in the claim usually adds detail: "even without a port".
    denies_less = verdicts.get("negation") is False and not claim.denials
    limits = differs_in_limits(claim, source, changes, keys, denies_less=denies_less)
    # Permission that becomes duty or fact, or duty that becomes permission.
    must, there_must = (bool(_MUST.search(reading.text)) for reading in (claim, source))
    may, there_may = (bool(_MAY.search(reading.text)) for reading in (claim, source))
    other_mode = not may if there_may else may and there_must and not must
    doubtful = doubtful or limits is not None or (bool(changes) and other_mode)
    names = (name.casefold().removesuffix("'s") for name in _NAME.findall(claim.raw))
    new_names = any(name not in around and name not in note.casefold() for name in names)
    added = own >= _SAME_MATTER and adds(claim, keys, note.casefold())
    only_possible = _is_only_possible(claim, source, changes) or (
        own >= _SAME_MATTER and is_out_of_frame(claim, source)
    )
    substituted = substitution(claim, source) or reversed_by_preposition(claim, source)
    if own >= _SAME_MATTER and not in_table:
        substituted = substituted or crossed(claim, sentence)
    if passage.is_terse and not substituted:
        substituted = substitution_in_item(claim, sentence)
        substituted = substituted or substitution_of_row(claim, passage.said, passage.beside, keys)
    doubtful = (
        doubtful
        or is_edited(changes, keys)
        or new_names
        or added
        or only_possible
        or bool(contradictions or substituted)
    )
    return Support(
        tuple(dict.fromkeys(contradictions)),
        1.0 if named == 1.0 else share,  # differing endings, such as polite ones, do not count
        doubtful,
        sparse=sparse,
        new_names=new_names,
        far_number=far_number,
        added=added,
        only_possible=only_possible,
        other_limits=bool(limits),
        substitution=substituted,
    )


def _share(claim: Reading, around: str, known: AbstractSet[str]) -> float:
    keys = {key for key in claim.keys if any(map(str.isalnum, key))}
    claim_tokens, around_tokens = tokens(claim.text), set(tokens(around))
    if not keys or not claim_tokens:
        return 1.0
    by_tokens = sum(token in around_tokens for token in claim_tokens) / len(claim_tokens)
    return (len(keys & known) / len(keys) + by_tokens) / 2


# Reported speech that denies its content, and reported speech that does not confirm it.
_DENYING = re.compile(
    r"사실(?:이|은|과는?) (?:아니|아닙|다[르릅른])|헛소문|거짓(?:이|입|말|으로)|오해(?:이|입|다|예)|근거[가는]? 없"
    r"|부인[했하합한]|\bden(?:y|ied|ies) (?:that|the|any|all|having|rumou?rs|reports|claims)\b"
    r"|\b(?:is|are|was|were) (?:a |simply |just )*(?:false|untrue|not true|myths?|wrong|hoax)\b"
    r"|\b(?:falsely|misconception)\b"
)
_HEARSAY = re.compile(
    r"소문|루머|카더라|낭설|\b(?:rumou?rs?|rumou?red|alleged(?:ly)?|supposedly|reportedly|purported(?:ly)?|hearsay|myth)\b"
)
_SUPPOSES = re.compile(
    r"왜|어째서|어떻게|\b(?:why|how(?! (?:many|much|long|often|far|old)))\b|.\s[\"“‘'][^\"”’']*[?？][\"”’']$"
)


def _formal(claim: Reading, source: Reading, own: float) -> Iterator[Contradiction]:
    passage = source.raw.strip()
    questions = [is_question(sentence.slice(passage)) for sentence in sentences(passage)]
    only_asks = questions and all(questions) and not _SUPPOSES.search(source.text)
    if only_asks and not is_question(claim.text):
        yield "question"
    if HEADING.fullmatch(source.raw) and own < 1.0 and not _STATES.search(source.text):
        yield "heading"
    match = _DENYING.search(source.text) or _HEARSAY.search(source.text)
    if (
        match
        and own >= _SAME_MATTER
        and not (claim.denials or _DENYING.search(claim.text) or _HEARSAY.search(claim.text))
    ):
        yield "reported"


_STATES = re.compile(r"\d|[다요죠음함됨임]$|[.!]$")


def _numbers(
    claim: Reading, source: Reading, around: str, note: str, own: float
) -> tuple[list[Contradiction], bool, bool]:
    """Return the contradiction by a number, whether a number is doubtful, and whether one is elsewhere in the note."""
    digits = numbers_of(claim.text)
    some = [number for number in numbers_in_words(claim.text) if number.value != "1"]
    in_words = [number for number in some if number.unit]
    if not digits and not some:
        return [], False, False
    known = known_numbers(around)
    missing = [number for number in digits if not is_known(number, known)]
    missing_words = [number for number in in_words if not is_known(number, known)]
    claimed, in_source = known_numbers(claim.text), numbers_of(source.text)
    in_source_words = [number for number in numbers_in_words(source.text) if number.unit]
    others = [
        number
        for number in (*in_source, *in_source_words)
        if number.unit and not is_known(number, claimed)
    ]
    bare = any(not number.unit and not is_known(number, known) for number in some)
    there = (*in_source, *numbers_in_words(source.text))
    other = any(number.value != "1" and not is_known(number, claimed) for number in there)
    elsewhere = bare and other
    if not missing and not missing_words:
        units = {number.unit for number in others}
        beside = [
            number for number in digits if number.unit in units and not is_known(number, in_source)
        ]
        return [], elsewhere or bool(beside) or are_reordered(digits, in_source), elsewhere
    if ROUNDED.search(claim.text):
        missing = [number for number in missing if not is_rounded_from(number, in_source)]
    for missing_number in (*missing, *missing_words):
        alike = (
            missing_number.unit == other.unit or missing_number.value == other.value
            for other in others
        )
        if own >= _SAME_MATTER and any(alike):
            return ["number"], True, False
    whole = known_numbers(note)
    if any(not is_known(number, whole) for number in missing):
        return ["number"], True, False
    return [], True, elsewhere or bool(missing)


# Words that reverse a negation or make it a condition; then negations are not compared.
_TURNING = re.compile(
    r"없이|여부|[으하되이지않]면(?!서| ?안 ?[되돼됩된될됐])|라면|전까지|전에|외에|말고|대신|도록|아직"
    r"|모[든두]|반드시|꼭|뿐|거의|\b(?:without|unless|until|before|if|whether|only|but|except|rather|instead|all|every|always|necessarily|yet"
    r"|when|either|neither|nor|no \w+ than)\b"
)


_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w'-]*[a-z]\w*")


def _negation_differs(claim: Reading, source: Reading, changes: Sequence[Change]) -> bool | None:
    """Return whether the claim states what the source negates, or negates what it states; False: probably; None: no."""
    if len(claim.denials) != len(source.denials) or not (claim.denials or source.denials):
        for change in changes:
            alone = {word.text for word in (change.in_claim or change.in_source)}
            heads, other = (claim.denied, source) if change.in_claim else (source.denied, claim)
            is_alone = not (change.in_claim and change.in_source) and alone <= DENIALS
            if is_alone and (not heads or heads & other.content):
                return True
    denied = source.denied & claim.stated - source.stated - claim.denied
    stated = source.stated & claim.denied - source.denied - claim.stated
    denied, stated = ({key for key in keys if is_content(key)} for keys in (denied, stated))
    more = len(claim.denials) > len(source.denials)
    related = source.denied & claim.content
    if (denied and not claim.denials) or (stated and more and not related):
        # The negation of one text may be consistent with the other, such as "only members may enter".
        there = ONLY.sub(" ", source.text) if claim.content <= source.content else source.text
        return not (_TURNING.search(claim.text) or _TURNING.search(there))
    return False if denied or stated or more or bool(claim.denials) != bool(related) else None


def _has_opposites(claim: Reading, source: Reading, changes: Sequence[Change]) -> bool | None:
    """Return whether a word is replaced by its opposite; False if both occur, but not in the same place."""
    if "polarity" not in opposed(claim.text, source.text):
        return None
    if bool(claim.denials) != bool(source.denied & claim.content):
        return False
    return any("polarity" in opposed(*change.texts) for change in changes if change.is_short)


_MUST = re.compile(r"[해되아어]야 |\b(?:must|shall|should|ha(?:ve|s|d) to|required)\b")
_MAY = re.compile(r"수(?:가|는|도)? 있|지도 모|[을일] 것|\b(?:may|might|can|could)\b")


# Markers of possibility: before the verb in English, after it in Korean.
_PERHAPS = re.compile(r"\b(?:may|might)\b(?! \d)")
_COULD = re.compile(r"\b(?:may|might|could)\b(?! \d)")
_HEDGED = re.compile(
    r"\b(?:may|might|can|could|would|possibly|perhaps|likely|sometimes|often|if|when)\b"
)
_ABLE = re.compile(r"수(?:가|는|도)?|가능성[이도은]?")
_IS = re.compile(r"있|높|[크클]")
_PLANNED = re.compile(r"예정|계획|전망")
_FUTURE = re.compile("(?:\u110b\u1173)?\u11af$")  # 을 or ㄹ before a marker: 바뀔 수, 있을 수


def _is_only_possible(claim: Reading, source: Reading, changes: Sequence[Change]) -> bool:
    """Return whether a claim states as fact (in Korean, in its last predicate) what its source calls possible."""
    for in_claim, in_source in (change.texts for change in changes if change.is_short):
        if in_claim and _COULD.search(in_source) and not _HEDGED.search(in_claim):
            return True
    if _HEDGED.search(claim.text) or _MAY.search(claim.text):
        return False
    if not claim.is_korean:
        return any(
            _PERHAPS.search(" ".join(word.text for word in change.in_source)) for change in changes
        )
    words = source.words
    may_be = {
        at
        for at in range(len(words) - 1)
        if _PLANNED.match(words[at + 1].whole)
        or (
            _ABLE.fullmatch(words[at + 1].whole)
            and _IS.match(words[min(at + 2, len(words) - 1)].whole)
        )
    }
    last = next((key for key in reversed(claim.keys) if any(map(str.isalnum, key))), "")
    is_stated = any(key == last and at not in may_be for at, key in enumerate(source.keys))
    bare = (_FUTURE.sub("", unicodedata.normalize("NFD", words[at].whole)) for at in may_be)
    roots = {_root(stem(unicodedata.normalize("NFC", word))) for word in bare}
    return not is_stated and _root(last) in roots


def _root(key: str) -> str:
    return key[:1] + unicodedata.normalize("NFD", key[1:])[:1]


def _number_words_differ(_: Reading, __: Reading, changes: Sequence[Change]) -> bool | None:
    """Return whether "one", elsewhere usually no number, and another number word replace each other."""
    pairs = (
        (change.in_claim[0].text, change.in_source[0].text)
        for change in changes
        if len(change.in_claim) == len(change.in_source) == 1
    )
    return any(a != b and "one" in {a, b} and {a, b} <= NUMBER_WORDS for a, b in pairs) or None


_Rule = Callable[[Reading, Reading, Sequence[Change]], bool | None]
_RULES: tuple[tuple[Contradiction, _Rule], ...] = (
    ("number", _number_words_differ),
    ("negation", _negation_differs),
    ("polarity", _has_opposites),
    ("limit", is_unlimited),
    ("roles", swapped),
)
