"""Whether the source sentence around a proven quote says the claim: in code, without a model.

A quote that stands in its note may belong to something else.  What speaks against the claim for certain is a
contradiction; where code cannot tell, the support is doubtful and to be looked at once more.  In doubt, doubtful: a
contradiction must not hit what is honestly supported.  What was measured, and on what: benchmarks/README.md.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from gigamind.evidence.clause import is_asked, sentences_around
from gigamind.evidence.critical import opposed
from gigamind.judges.search_qa.numbers import (
    ROUNDED,
    are_reordered,
    is_known,
    is_rounded_from,
    known_numbers,
    numbers_in_words,
    numbers_of,
)
from gigamind.judges.search_qa.reading import (
    DENIALS,
    Change,
    Reading,
    Substitution,
    changes_of,
    is_content,
    is_edited,
    key_of,
    substitution,
)
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.words import HANGUL
from gigamind.spans import Span
from gigamind.text import is_particle, sentences, tokens

__all__ = ["Contradiction", "Passage", "Support", "passage_of", "support"]

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
        far_number: the claim has a number in digits that stands elsewhere in the note, and not around the passage.
        only_possible: of one, and the claim states what the passage says may be.
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
    substitution: Substitution | None = None


@dataclass(frozen=True, slots=True)
class _Around:
    """What a claim may draw on: its passage, the heading, the title and the question."""

    text: str
    keys: AbstractSet[str]


HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]++(.*)$|[ \t>]*(?:\*\*|__)([^*_\n]+)(?:\*\*|__)[ \t:：]*$")
_ITEM = re.compile(r"(?P<indent>[ \t>]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_LEAD_IN = re.compile(r"[:：][\s*_]*$")
_MAX_LINES = 500  # above a table's row or a list's item


@dataclass(frozen=True, slots=True)
class Passage:
    """What a quote is read in.

    Attributes:
        heading: the nearest one above, without marks; empty where there is none.
        said: the whole sentences that the quote touches, as the note has them, or a table's row.
        lead: what leads to a list's item, or the header of a row; empty elsewhere.
    """

    heading: str
    said: str
    lead: str = ""

    @property
    def text(self) -> str:
        """All of it but the heading."""
        return f"{self.lead}\n{self.said}" if self.lead else self.said


def passage_of(span: Span, text: str) -> Passage:
    """The sentences that a span touches, and what they stand under."""
    around = sentences_around(text, span)
    start = text.rfind("\n", 0, around.start) + 1
    end = text.find("\n", around.end)
    line = text[start : end if end >= 0 else len(text)]
    said, lead = around.slice(text), ""
    if line.lstrip(" \t>").startswith("|"):
        said, lead = line, _header(text, start)
    elif item := _ITEM.match(line):
        lead = _lead_in(text, start, len(item["indent"]))
    elif HEADING.match(line):
        said = line
    return Passage(_heading_above(text, start), said, lead)


def _lines_above(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Where the lines before an offset start, and the lines, the nearest first."""
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        yield before, text[before : start - 1]
        start = before


def _heading_above(text: str, start: int) -> str:
    for _, line in _lines_above(text, start):
        if match := HEADING.match(line):
            return (match[1] or match[2] or "").strip(" \t#*_`")
    return ""


def _header(text: str, start: int) -> str:
    """The first line of a table, but for its first rows, which have it at hand."""
    header = ""
    for number, (_, line) in enumerate(_lines_above(text, start)):
        if "|" not in line or number >= _MAX_LINES:
            break
        header = line
    return header


def _lead_in(text: str, start: int, indent: int) -> str:
    """The sentences of the line with a colon that a list's item stands under."""
    for number, (before, line) in enumerate(_lines_above(text, start)):
        if number >= _MAX_LINES or HEADING.match(line):
            break
        item = _ITEM.match(line)
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < indent or (item is None and depth == 0)):
            leads = _LEAD_IN.search(line)
            return (
                sentences_around(text, Span(before, before + len(line))).slice(text)
                if leads
                else ""
            )
    return ""


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
    sparse = own < _LEAST_OWN or max(share, named if _is_terse(passage) else 0.0) < least
    doubtful = doubtful or sparse or share < least
    changes = list(changes_of(says, source))
    for name, rule in _RULES if own >= _SAME_MATTER else ():
        verdict = rule(says, source, changes)
        if verdict:
            contradictions.append(name)
        doubtful = doubtful or verdict is not None
    doubtful = (
        doubtful
        or (bool(changes) and _is_of_other_mode(says, source))
        or _drops_condition(says, source)
    )
    new_names = _names_new(says, around, note)
    substituted = substitution(says, source)
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
        only_possible=_is_only_possible(says, source),
        substitution=substituted,
    )


def _is_terse(passage: Passage) -> bool:
    """Whether it is a row or an item, which names things and leaves out the grammar between them."""
    return passage.said.startswith("|") or bool(_ITEM.match(passage.said))


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
    in_words = [
        number for number in numbers_in_words(says.text) if number.unit and number.value != "1"
    ]
    if not digits and not in_words:
        return [], False, False
    known = known_numbers(around.text)
    missing = [number for number in digits if not is_known(number, known)]
    missing_words = [number for number in in_words if not is_known(number, known)]
    said, there = known_numbers(says.text), numbers_of(source.text)
    there_in_words = [number for number in numbers_in_words(source.text) if number.unit]
    others = [
        number for number in (*there, *there_in_words) if number.unit and not is_known(number, said)
    ]
    if not missing and not missing_words:
        units = {number.unit for number in others}
        beside = [
            number for number in digits if number.unit in units and not is_known(number, there)
        ]
        return [], bool(beside) or are_reordered(digits, there), False
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
    return [], True, bool(missing)


# What turns a negation round again, or makes it a condition: then no word of it is held against another.
_TURNING = re.compile(
    r"없이|여부|[으하되이지않]면(?!서)|라면|전까지|전에|외에|말고|대신|도록|아직|모[든두]|반드시|꼭|뿐"
    r"|거의|\b(?:without|unless|until|before|if|whether|only|but|except|rather|instead|all|every|always|necessarily|yet"
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
_HEDGED = re.compile(
    r"\b(?:may|might|can|could|would|possibly|perhaps|likely|sometimes|often|if|when)\b"
)
_ABLE = re.compile(r"수(?:가|는|도)?")
_FUTURE = re.compile("(?:\u110b\u1173)?\u11af$")  # 을, or ㄹ, of what may be: 바뀔 수, 있을 수


def _is_only_possible(says: Reading, source: Reading) -> bool:
    """Whether a claim states, in its last predicate where it is Korean, what its source says may be."""
    if _HEDGED.search(says.text) or _MAY.search(says.text):
        return False
    if not says.is_korean:
        return any(
            _PERHAPS.search(" ".join(word.text for word in change.theirs))
            for change in changes_of(says, source)
        )
    words = source.words
    may_be = {
        at
        for at in range(len(words) - 2)
        if _ABLE.fullmatch(words[at + 1].whole) and words[at + 2].text.startswith("있")
    }
    last = next((key for key in reversed(says.keys) if any(map(str.isalnum, key))), "")
    is_stated = any(key == last and at not in may_be for at, key in enumerate(source.keys))
    return not is_stated and any(key_of(_without_future(words[at].whole)) == last for at in may_be)


def _without_future(word: str) -> str:
    bare = _FUTURE.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare)


_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|provided|once)\b"
    r"|(?<=[가-힣])(?<![화측표장단전반국평정양외내])면(?!\w)|(?:경우|때)(?:에?는?)(?!\w)"
)
_CLAUSE = re.compile(r"[,.;:()]")
_CLAUSE_CHARS = 120


def _drops_condition(says: Reading, source: Reading) -> bool:
    """Whether a claim states without a condition what its source says under one."""
    if _CONDITION.search(says.text):
        return False
    for match in _CONDITION.finditer(source.text):
        if HANGUL.search(match[0]):
            near = source.text[max(0, match.start() - _CLAUSE_CHARS) : match.start()]
            clause = _CLAUSE.split(near)[-1]
        else:
            clause = _CLAUSE.split(source.text[match.end() : match.end() + _CLAUSE_CHARS])[0]
        under = Reading(clause).content
        if under and 2 * len(under & says.content) < len(under):
            return True
    return False


_ALL = re.compile(
    r"(?<!\w)(?:모든|모두|누구나|누구든|언제나|언제든|항상|전부|전원|무조건|예외 ?없이)"
    r"|\b(?:all|every|everyone|everybody|anyone|anybody|always|anytime"
    r"|everything|everywhere|regardless)\b"
)
_ONLY = re.compile(
    r"(?<![미\d십백천])만(?:[을이은의]?(?!\w))|밖에|뿐|\b(?:only|solely|exclusively)\b"
)
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
_FAR, _NEXT = 6, 3  # shared words, and words, within which two that changed places are looked for
_JOINING = frozenset(("and", "or", "with", "equals", "same", "between"))


def _swapped(says: Reading, source: Reading, _: Sequence[Change]) -> bool | None:
    """Whether two words have changed places; False where other words around them differ, too."""
    if source.raw.startswith("|"):  # cells stand in the order of their columns
        return None
    return (_cases_swapped if says.is_korean else _order_swapped)(says, source)


def _cases_swapped(says: Reading, source: Reading) -> bool | None:
    theirs = _cases(source.text)
    ours = _cases(says.text, theirs)
    same_voice = bool(_PASSIVE.search(says.text)) == bool(_PASSIVE.search(source.text))
    same = same_voice and says.keys[-1:] == source.keys[-1:]
    moved = {(case, theirs[word]) for word, case in ours.items() if theirs.get(word, case) != case}
    plain = {(case.replace("T", "S"), other.replace("T", "S")) for case, other in moved}
    if any(case != other and (other, case) in plain for case, other in plain):
        return same
    return False if same and any("T" not in pair for pair in moved) else None


def _cases(text: str, known: Collection[str] = ()) -> dict[str, str]:
    """The case of each word that stands once, with a particle; behind one that is known, it need not fit the sound."""
    cases: dict[str, str] = {}
    twice: set[str] = set()
    for match in _CASE.finditer(text):
        if match[1] in known or is_particle(match[1], text, match.end(1)):
            twice |= {match[1]} & cases.keys()
            cases[match[1]] = _CASES[match[2]]
    return {word: case for word, case in cases.items() if word not in twice}


_AUXILIARY = frozenset(("is", "are", "was", "were", "be", "been", "being", "has", "have", "had"))
_NAME_WORDS = 3  # of what stands on one side


def _order_swapped(says: Reading, source: Reading) -> bool | None:
    return True if _sides_swapped(says, source) else _words_swapped(says, source)


def _sides_swapped(says: Reading, source: Reading) -> bool:
    """Whether what stands before some words of the claim stands behind them in the source, and the other way round."""
    ours, theirs = (
        [key_of(word.text) for word in reading.words if word.text not in _AUXILIARY]
        for reading in (says, source)
    )
    return any(
        not _JOINING.intersection(ours[at : at + size])
        and any(map(is_content, ours[at : at + size]))
        and _are_exchanged(
            (ours[max(0, at - _NAME_WORDS) : at], ours[at + size :][: _NAME_WORDS + 1]),
            (
                theirs[max(0, there - _NAME_WORDS) : there],
                theirs[there + size :][: _NAME_WORDS + 1],
            ),
        )
        for at, there, size in _shared_runs(ours, theirs)
    )


def _are_exchanged(
    ours: tuple[Sequence[str], Sequence[str]], theirs: tuple[Sequence[str], Sequence[str]]
) -> bool:
    """Whether the words just before and just behind of the one stand on the other side of the other."""
    (before, behind), (their_before, their_behind) = ours, theirs
    if not (before and behind and their_before and their_behind):
        return False
    left, their_left = before[-1], their_before[-1]
    return (
        left != their_left
        # "In the cabinet lie samples" is "samples lie in the cabinet".
        and all(map(is_content, (left, their_left, behind[0], their_behind[0])))
        and left in their_behind
        and their_left in behind
        and their_behind[0] in before
        and behind[0] in their_before
    )


def _shared_runs(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Where the longest runs of words that are the same begin in each, and how many words they have."""
    for at, key in enumerate(ours):
        for there, other in enumerate(theirs):
            if key == other and not (at and there and ours[at - 1] == theirs[there - 1]):
                same = takewhile(
                    lambda pair: pair[0] == pair[1], zip(ours[at:], theirs[there:], strict=False)
                )
                yield at, there, sum(1 for _ in same)


def _words_swapped(says: Reading, source: Reading) -> bool | None:
    once = {key for key, count in Counter(source.keys).items() if count == 1}
    once &= {key for key, count in Counter(says.keys).items() if count == 1 and is_content(key)}
    places = {key: at for at, key in enumerate(source.keys) if key in once}
    shared = [(at, places[key]) for at, key in enumerate(says.keys) if key in places]
    turned: bool | None = None
    for index, (a, b) in enumerate(shared):
        for c, d in shared[index + 1 : index + _FAR]:
            between = says.keys[a + 1 : c]
            if d < b and not _JOINING & {*between, *source.keys[d + 1 : b]}:
                if between and between == source.keys[d + 1 : b]:
                    return True
                if c - a < _NEXT and b - d < _NEXT:
                    turned = False
    return turned


_Rule = Callable[[Reading, Reading, Sequence[Change]], bool | None]
_RULES: tuple[tuple[Contradiction, _Rule], ...] = (
    ("negation", _negated),
    ("polarity", _turned),
    ("limit", _unlimited),
    ("roles", _swapped),
)
