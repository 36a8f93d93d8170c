"""Whether the source sentence around a proven quote says the claim: in code, without a model.

A quote that stands in its note may belong to something else.  What speaks against the claim for certain is a
contradiction; where code cannot tell, the support is doubtful and to be looked at once more.  In doubt, doubtful: a
contradiction must not hit what is honestly supported.  What was measured, and on what: benchmarks/README.md.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from gigamind.evidence.clause import is_asked
from gigamind.evidence.critical import opposed
from gigamind.judges.search_qa.numbers import (
    ROUNDED,
    Number,
    are_reordered,
    is_known,
    is_rounded_from,
    known_numbers,
    numbers_in_words,
    numbers_of,
)
from gigamind.judges.search_qa.passage import HEADING, Passage
from gigamind.judges.search_qa.reading import (
    DENIALS,
    Change,
    Reading,
    Substitution,
    changes_of,
    drops_bound,
    is_content,
    is_edited,
    substitution,
    substitution_in_item,
    swapped,
)
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.words import HANGUL, stem
from gigamind.text import sentences, tokens

Contradiction = Literal[
    "number", "negation", "polarity", "limit", "roles", "question", "heading", "reported"
]

# The least share of a claim in the language of its passage, by whether that is Korean.
_LEAST: Mapping[bool, float] = {True: 0.55, False: 0.65}
_LEAST_OWN = (
    0.5  # of the claim's words in the passage alone: an answer repeats the words of its question
)
_SAME_MATTER = 0.6  # of the claim's words in the passage, from which the two are about the same


@dataclass(frozen=True, slots=True)
class Support:
    """What a passage does for a claim.

    Attributes:
        contradictions: what speaks against it for certain, each once.
        share: of the claim's words that passage, title and question have, in [0, 1].
        doubtful: to be looked at a second time.
        foreign: claim and passage are of two languages, so that words tell nothing.
        sparse: they are of one, and have little in common; a row or an item, in content words.
        new_names: of one, and the claim has a name that stands nowhere in the note.
        far_number: the claim has a number that does not stand around the passage: in digits one that stands elsewhere
            in the note, in words one where the passage has another.
        only_possible: of one, and the claim states what the passage says may be.
        other_limits: of one, and one of the two has a condition, bound, reason or denial that the other seems to lack.
        substitution: of one, and the claim copies the passage but for this word; None where it does not.
    """

    contradictions: tuple[Contradiction, ...]
    share: float
    doubtful: bool
    foreign: bool = False
    sparse: bool = False
    new_names: bool = False
    far_number: bool = False
    only_possible: bool = False
    other_limits: bool = False
    substitution: Substitution | None = None


@dataclass(frozen=True, slots=True)
class _Around:
    """What a claim may draw on: its passage, the heading, the title and the question."""

    text: str
    keys: AbstractSet[str]


def support(
    claim: str, passage: Passage, *, title: str = "", question: str = "", note: str = ""
) -> Support:
    """Whether a passage says a claim of Markdown, citations and all.

    Args:
        title: of the note.
        question: what was asked; its words and numbers are none that the claim adds.
        note: the whole note, which may have a number that the passage lacks.
    """
    says, source = Reading(without_note_names(claim)), Reading(passage.text)
    beside = Reading(f"{passage.heading}\n{title}\n{question}")
    around = _Around(f"{source.text}\n{beside.text}", {*source.keys, *beside.keys})
    share = _share(says, around)
    own = len(says.content & source.content) / len(says.content) if says.content else 1.0
    numbers, doubtful, far_number = _numbers(says, source, around, note, own)
    contradictions: list[Contradiction] = [*_formal(says, source, own), *numbers]
    if says.is_korean != Reading(passage.said).is_korean:
        return Support(tuple(contradictions), share, doubtful=True, foreign=True)
    least = _LEAST[says.is_korean]
    named = len(says.content & around.keys) / len(says.content) if says.content else 0.0
    sparse = own < _LEAST_OWN or max(share, named if passage.is_terse else 0.0) < least
    doubtful = doubtful or sparse or share < least
    changes = list(changes_of(says, source))
    dropped = _drops_condition(says, source)
    denies_less = False
    for name, rule in _RULES if own >= _SAME_MATTER else ():
        verdict = rule(says, source, changes)
        if verdict:
            contradictions.append(name)
        doubtful = doubtful or verdict is not None
        # A denial of the claim alone is mostly more said: "even without a port".
        denies_less = denies_less or (name == "negation" and verdict is False and not says.denials)
    in_korean = (
        _bounds_number_otherwise(says, source)
        or _denies_last_otherwise(says, source)
        or _adds_reason(says, around)
    )
    in_english = drops_bound(says, changes) or denies_less
    other_limits = (
        bool(dropped) or _adds_bound(says, source) or (in_korean if says.is_korean else in_english)
    )
    doubtful = (
        doubtful
        or other_limits
        or dropped is not None
        or in_english
        or (bool(changes) and _is_of_other_mode(says, source))
    )
    new_names = _names_new(says, around, note)
    substituted = substitution(says, source)
    if passage.is_terse and not substituted:
        substituted = substitution_in_item(says, Reading(passage.said))
    doubtful = (
        doubtful
        or is_edited(changes, around.keys)
        or new_names
        or bool(contradictions or substituted)
    )
    return Support(
        tuple(dict.fromkeys(contradictions)),
        share,
        doubtful,
        sparse=sparse,
        new_names=new_names,
        far_number=far_number,
        only_possible=_is_only_possible(says, source, changes),
        other_limits=other_limits,
        substitution=substituted,
    )


def _share(says: Reading, around: _Around) -> float:
    """Of words by their stems and of keyword tokens, in equal parts: a token forgives endings, a stem order."""
    keys = {key for key in says.keys if any(map(str.isalnum, key))}
    asked, there = tokens(says.text), set(tokens(around.text))
    if not keys or not asked:
        return 1.0
    by_stems = len(keys & around.keys) / len(keys)
    return (by_stems + sum(token in there for token in asked) / len(asked)) / 2


# Speech that denies what it reports, and speech that does not vouch for it.
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


def _formal(says: Reading, source: Reading, own: float) -> Iterator[Contradiction]:
    """What a sentence that states nothing, or denies it, proves: only that it stands there."""
    asked = [
        is_asked(sentence.slice(passage))
        for passage in [source.raw.strip()]
        for sentence in sentences(passage)
    ]
    if asked and all(asked) and not is_asked(says.text) and not _SUPPOSES.search(source.text):
        yield "question"
    if HEADING.fullmatch(source.raw) and own < 1.0 and not _STATES.search(source.text):
        yield "heading"
    match = _DENYING.search(source.text) or _HEARSAY.search(source.text)
    if (
        match
        and own >= _SAME_MATTER
        and not (says.denials or _DENYING.search(says.text) or _HEARSAY.search(says.text))
    ):
        yield "reported"


_STATES = re.compile(r"\d|[다요죠음함됨임]$|[.!]$")


def _numbers(
    says: Reading, source: Reading, around: _Around, note: str, own: float
) -> tuple[list[Contradiction], bool, bool]:
    """Whether a number of the claim contradicts, whether one is doubtful, and whether one stands elsewhere."""
    digits = numbers_of(says.text)
    some = [number for number in numbers_in_words(says.text) if number.value != "1"]
    in_words = [number for number in some if number.unit]
    if not digits and not some:
        return [], False, False
    known = known_numbers(around.text)
    missing = [number for number in digits if not is_known(number, known)]
    missing_words = [number for number in in_words if not is_known(number, known)]
    said, there = known_numbers(says.text), numbers_of(source.text)
    there_in_words = [number for number in numbers_in_words(source.text) if number.unit]
    others = [
        number for number in (*there, *there_in_words) if number.unit and not is_known(number, said)
    ]
    bare = any(not number.unit and not is_known(number, known) for number in some)
    elsewhere = bare and _has_other_number(source, said)
    if not missing and not missing_words:
        units = {number.unit for number in others}
        beside = [
            number for number in digits if number.unit in units and not is_known(number, there)
        ]
        return [], elsewhere or bool(beside) or are_reordered(digits, there), elsewhere
    if ROUNDED.search(says.text):
        missing = [number for number in missing if not is_rounded_from(number, there)]
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


def _has_other_number(source: Reading, said: Collection[Number]) -> bool:
    """Whether a source has a number, of whatever unit, that is not among those said."""
    there = (*numbers_of(source.text), *numbers_in_words(source.text))
    return any(number.value != "1" and not is_known(number, said) for number in there)


# What turns a negation round again, or makes it a condition: then no word of it is held against another.
_TURNING = re.compile(
    r"없이|여부|[으하되이지않]면(?!서| ?안 ?[되돼됩된될됐])|라면|전까지|전에|외에|말고|대신|도록|아직"
    r"|모[든두]|반드시|꼭|뿐|거의|\b(?:without|unless|until|before|if|whether|only|but|except|rather|instead|all|every|always|necessarily|yet"
    r"|when|either|neither|nor|no \w+ than)\b"
)


def _is_turning(says: Reading, source: Reading) -> bool:
    """Whether a negation of the one may be no more than what the other says.

    Of "only members may enter" a claim of guests may be the other side, but none that has but its words.
    """
    there = source.text
    if says.content <= source.content:
        there = _ONLY.sub(" ", there)
    return bool(_TURNING.search(says.text) or _TURNING.search(there))


_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w'-]*[a-z]\w*")


def _names_new(says: Reading, around: _Around, note: str) -> bool:
    """Whether the claim has a name that stands nowhere around its passage, nor in the note."""
    names = {name.casefold().removesuffix("'s") for name in _NAME.findall(says.raw)}
    missing = [name for name in names if name not in around.text]
    return bool(missing) and any(name not in note.casefold() for name in missing)


def _negated(says: Reading, source: Reading, changes: Sequence[Change]) -> bool | None:
    """Whether the claim states what is denied there, or denies what is stated; False where that is but likely."""
    if len(says.denials) != len(source.denials) or not (says.denials or source.denials):
        for change in changes:
            alone = {word.text for word in (change.ours or change.theirs)}
            heads, other = (says.denied, source) if change.ours else (source.denied, says)
            is_alone = not (change.ours and change.theirs) and alone <= DENIALS
            if is_alone and (not heads or heads & other.content):
                return True
    denied = source.denied & says.stated - source.stated - says.denied
    stated = source.stated & says.denied - source.denied - says.stated
    denied, stated = ({key for key in keys if is_content(key)} for keys in (denied, stated))
    more = len(says.denials) > len(source.denials)
    related = source.denied & says.content
    if (denied and not says.denials) or (stated and more and not related):
        return not _is_turning(says, source)
    return False if denied or stated or more or bool(says.denials) != bool(related) else None


def _turned(says: Reading, source: Reading, changes: Sequence[Change]) -> bool | None:
    """Whether a word stands in the place of its opposite; False where the two stand anywhere."""
    if "polarity" not in opposed(says.text, source.text):
        return None
    if bool(says.denials) != bool(source.denied & says.content):
        return False
    return any("polarity" in opposed(*change.texts) for change in changes if change.is_short)


_MUST = re.compile(r"[해되아어]야 |\b(?:must|shall|should|ha(?:ve|s|d) to|required)\b")
_MAY = re.compile(r"수(?:가|는|도)? 있|지도 모|[을일] 것|\b(?:may|might|can|could)\b")


def _is_of_other_mode(says: Reading, source: Reading) -> bool:
    """Whether a claim makes a duty of what only may be, or the other way round, or a fact of it."""
    must, there_must = (bool(_MUST.search(reading.text)) for reading in (says, source))
    may, there_may = (bool(_MAY.search(reading.text)) for reading in (says, source))
    return (there_may and not may) or (may and there_must and not must and not there_may)


# What is held for possible: before its verb in English, behind it in Korean.
_PERHAPS = re.compile(r"\b(?:may|might)\b(?! \d)")
_COULD = re.compile(r"\b(?:may|might|could)\b(?! \d)")
_HEDGED = re.compile(
    r"\b(?:may|might|can|could|would|possibly|perhaps|likely|sometimes|often|if|when)\b"
)
_ABLE = re.compile(r"수(?:가|는|도)?|가능성[이도은]?")
_IS = re.compile(r"있|높|[크클]")
_PLANNED = re.compile(r"예정|계획|전망")
_FUTURE = re.compile("(?:\u110b\u1173)?\u11af$")  # 을, or ㄹ, of what may be: 바뀔 수, 있을 수


def _is_only_possible(says: Reading, source: Reading, changes: Sequence[Change]) -> bool:
    """Whether a claim states, in its last predicate where it is Korean, what its source says may be."""
    if any(_makes_certain(change) for change in changes):
        return True
    if _HEDGED.search(says.text) or _MAY.search(says.text):
        return False
    if not says.is_korean:
        return any(
            _PERHAPS.search(" ".join(word.text for word in change.theirs)) for change in changes
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
    last = next((key for key in reversed(says.keys) if any(map(str.isalnum, key))), "")
    is_stated = any(key == last and at not in may_be for at, key in enumerate(source.keys))
    roots = {_root(stem(_without_future(words[at].whole))) for at in may_be}
    return not is_stated and _root(last) in roots


def _root(key: str) -> str:
    """What 열리 and 열렸 share."""
    return key[:1] + unicodedata.normalize("NFD", key[1:])[:1]


def _makes_certain(change: Change) -> bool:
    """Whether a claim, however hedged elsewhere, has "will" or the like in the very place of "could"."""
    ours, theirs = change.texts
    return bool(change.is_short and ours and _COULD.search(theirs)) and not _HEDGED.search(ours)


def _without_future(word: str) -> str:
    bare = _FUTURE.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare)


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


def _drops_condition(says: Reading, source: Reading) -> bool | None:
    """Whether a claim states without a condition what its source says under one; False where that is but likely."""
    if _CONDITION.search(says.text):
        return None
    likely: bool | None = None
    for match in _CONDITION.finditer(source.text):
        behind = source.text[match.end() : match.end() + _CLAUSE_CHARS]
        near = source.text[max(0, match.start() - _CLAUSE_CHARS) : match.start()]
        is_korean = bool(HANGUL.search(match[0]))
        under = Reading(_CLAUSE.split(near)[-1] if is_korean else _CLAUSE.split(behind)[0]).content
        if under and 2 * len(under & says.content) < len(under):
            likely = False
            certain = _stands_under(says, match[0], behind) if is_korean else not says.is_korean
            if certain:
                return True
    return likely


def _stands_under(says: Reading, condition: str, behind: str) -> bool:
    """Whether a Korean claim says what stands behind a condition; "때" alone but tells when."""
    if _WHEN.search(says.text) or (condition.startswith("때") and not condition.endswith("만")):
        return False
    words = _LINK.split(behind, maxsplit=1)[0].split()[: len(says.words)]
    return len(says.content & Reading(" ".join(words)).content) >= _MOST * len(says.content)


_ALL = re.compile(
    r"(?<!\w)(?:모든|모두(?! ?(?:\d|(?:한|두|세|네|[다여]섯|일곱|여덟|아홉|열) ))"  # no sum: "모두 3명"
    r"|누구나|누구든|(?:어느|아무|어떤) \w+[나든](?!\w)|어디서나|언제나|언제든|항상|전부|전원|무조건|예외 ?없이)"
    r"|\b(?:all|every|everyone|everybody|anyone|anybody|always|anytime"
    r"|everything|everywhere|regardless)\b"
)
_ONLY = re.compile(
    r"(?<![미\d십백천])(?:(?<!지)|(?<=까지))만(?:[을이은의]?(?!\w))|밖에|뿐|\b(?:only|solely|exclusively)\b"
)
# What may stand for "all" or "only" in the source of a claim that says so.
_ANY = re.compile(
    r"(?<!\w)(?:각|매 |누구|아무|어느|어떤|단 )|마다|전체|오직|유일|단지|하나|제외|외에|한해|한하여"
    r"|\b(?:each|any\w*|whole|entire|just|no|none)\b"
)


def _adds_bound(says: Reading, source: Reading) -> bool:
    """Whether a claim says "all" or "only" of what its source says without any such word."""
    return (
        any(pattern.search(says.text) for pattern in (_ALL, _ONLY))
        and not source.denials
        and not any(pattern.search(source.text) for pattern in (_ALL, _ONLY, _ANY))
    )


_BOUNDED = re.compile(
    r"(?<![\d,.])(\d[\d,.]*+ ?[가-힣a-z%℃]{0,4}?)[을를이가의]? ?(?:(이상|부터)|(이하|까지|이내)|(미만)|(초과|넘(?!지)))"
)


def _bounds_of(text: str) -> set[tuple[str, int | None]]:
    """The numbers with their units, and on which side each bounds."""
    return {(match[1].replace(" ", ""), match.lastindex) for match in _BOUNDED.finditer(text)}


def _bounds_number_otherwise(says: Reading, source: Reading) -> bool:
    """Whether a number bounds from the other side: "100 이하" of "100 이상"."""
    there = _bounds_of(source.text)
    numbers = {number for number, _ in there}
    return any(number in numbers for number, _ in _bounds_of(says.text) - there)


_REASON = re.compile(r"때문|덕분|탓|(?<=[기을를] )위[해하]")
_REASON_WORDS = 2  # before such a word, by which a reason is known


def _adds_reason(says: Reading, around: _Around) -> bool:
    """Whether a Korean claim gives a reason or an aim of which its source has no word."""
    for match in _REASON.finditer(says.text):
        near = says.text[max(0, match.start() - _CLAUSE_CHARS) : match.start()]
        words = _CLAUSE.split(near)[-1].split()[-_REASON_WORDS:]
        reason = Reading(" ".join(words)).content
        if reason and reason.isdisjoint(around.keys):
            return True
    return False


_HARDLY = re.compile(r"거의|없이")


def _denies_last_otherwise(says: Reading, source: Reading) -> bool:
    """Whether a claim denies its last content word, which its source states, or the other way round."""
    at = next((at for at in reversed(range(len(says.keys))) if is_content(says.keys[at])), None)
    if at is None or len(says.denials) == len(source.denials):
        return False
    key = says.keys[at]
    if says.keys.count(key) != 1 or source.keys.count(key) != 1 or _HARDLY.search(source.text):
        return False
    return (at in says.denials) != (source.keys.index(key) in source.denials)


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


def _unlimited(says: Reading, source: Reading, _: Sequence[Change]) -> bool | None:
    """Whether the claim says of all what the source says of some; False where another limit differs."""
    only, said_only = bool(_ONLY.search(source.text)), bool(_ONLY.search(says.text))
    exceptions = list(_excepted(source.text))
    said_except = bool(_EXCEPT.search(says.text))
    if exceptions and not said_except:
        if says.denials or source.denials:
            return False
        excepted = Reading(" ".join(exceptions)).content
        return bool(_ALL.search(says.text)) or (
            bool(excepted) and excepted <= says.content <= source.content
        )
    if only and not said_only:
        return bool(_ALL.search(says.text)) and not _ALL.search(source.text)
    return False if (said_only and not only) or (said_except and not exceptions) else None


_Rule = Callable[[Reading, Reading, Sequence[Change]], bool | None]
_RULES: tuple[tuple[Contradiction, _Rule], ...] = (
    ("negation", _negated),
    ("polarity", _turned),
    ("limit", _unlimited),
    ("roles", swapped),
)
