"""A claim and its source as words: which are denied, where the one has others than the other, and which change places.

Sentences that differ by an opposite, a role, a unit, a number word or a name share nearly all their words, so no share
of words tells them apart; the place does (`substitution`), and no list says which words are opposites.  It costs honest
answers that copy a sentence with a synonym in it: the bounds were chosen so that few do (benchmarks/README.md).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile

from rapidfuzz.distance import Levenshtein

from gigamind.evidence.normalize import unmarked, visible
from gigamind.evidence.words import ELLIPSIS, Word, is_typo, words
from gigamind.judges.search_qa.words import GRAMMAR, HANGUL, stem
from gigamind.text import is_particle

_MOSTLY = (
    0.5  # of the claim's words in the order of the source, from which single words are compared
)
_FEW = 2  # words in the place of others
_SYLLABLES = 2  # of a stem
_FURTHEST = 5  # words from an English negation to what it denies
# Of the longer of a claim and what it copies, from which it is a copy: with several differences, and with one alone.
_COPIED, _COPIED_BUT_ONCE = 0.85, 0.6
_JOINING = frozenset(("and", "or", "with", "및", "와", "과", "또는", "그리고"))

_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"`[^`\n]*`")


# Endings of Korean predicates in jamo: 씁니다, 쓴다, 쓰고 and 쓰지 are one word.  A bare 요 is one behind the vowels of
# 해요 and 가요, and a part of 필요 and 중요.
_PREDICATE = re.compile(
    unicodedata.normalize(
        "NFD",
        "(?:이)?(?:었|았|였|했|겠)?(?:습니|ㅂ니|는|ㄴ)?다(?:는|고|며|면서)?$|(?:으?세|어|아|여|이에|예)요$|(?<=[ᅡᅥᅢᅦᅧᅨᅪᅯᅫᅰ])요$|(?:이)?(?:고|며|지|지만|으며|어야|아야)$",
    )
    .replace("ㅂ", "\u11b8")
    .replace("ㄴ", "\u11ab")
)


@lru_cache(maxsize=16_384)
def key_of(word: str) -> str:
    """What a word shares with its other forms."""
    if not HANGUL.match(word):
        return stem(word)
    bare = _PREDICATE.sub("", unicodedata.normalize("NFD", word))
    return stem(unicodedata.normalize("NFC", bare) or word)


_LIGHT = frozenset("있없하되이않못아") | {"그리"}  # stems of 있다, 없다, 하다, ... and of 그리고


def is_content(key: str) -> bool:
    """Whether a word says something by itself."""
    return key not in GRAMMAR and key not in _LIGHT and any(map(str.isalnum, key))


@dataclass(frozen=True)
class Reading:
    """A text as words that are compared."""

    raw: str

    @cached_property
    def text(self) -> str:
        """Without Markdown, in lower case, its white space single spaces."""
        return unmarked(self.raw, visible(self.raw), is_quote=False).text

    @cached_property
    def words(self) -> Sequence[Word]:
        return words(self.text)

    @cached_property
    def keys(self) -> Sequence[str]:
        """What each word shares with its other forms."""
        return [key_of(word.text) for word in self.words]

    @cached_property
    def content(self) -> AbstractSet[str]:
        return {key for key in self.keys if is_content(key)}

    @cached_property
    def is_korean(self) -> bool:
        """Code, addresses and paths are of no language."""
        words = (
            word
            for word in _CODE.sub(" ", self.raw).split()
            if "/" not in word or HANGUL.search(word)
        )
        text = "".join(words)
        return 3 * len(HANGUL.findall(text)) >= len(_LETTER.findall(text))

    @cached_property
    def denials(self) -> Sequence[int]:
        """Where the words stand that are denied."""
        return [at for at, word in enumerate(self.words) for at in _denied(self, at, word.whole)]

    @cached_property
    def denied(self) -> AbstractSet[str]:
        return {self.keys[at] for at in self.denials}

    @cached_property
    def stated(self) -> AbstractSet[str]:
        """Words that stand somewhere undenied."""
        return {key for at, key in enumerate(self.keys) if at not in self.denials}


_STOP = r"말|마(?=[라세십시요])"  # 지 말고, 지 마세요
_BEHIND = re.compile(rf"않|없|아[니닌닐님닙]|못[하했합한할해함]|{_STOP}|불가|금지")
_INSIDE = re.compile(rf".+지(?:는|도)?(?:않|못|{_STOP})|.+없|.+불가|.+금지|.+(?:n't)$")
DENIALS = frozenset(("안", "못", "not", "no", "never"))
_BEFORE = DENIALS | {"cannot", "without", "none"}
# "하면 안 된다", "해서는 안 됩니다".
_IF_DONE = re.compile(r"(?:면|서는?|선)$")
_FORBIDDEN = re.compile(r"안(?:[되돼됩된될됐]|$)")
_AFTER_JI = re.compile(rf"[않못]|{_STOP}")  # 지 않다, 지 못하다, 지 말다; 말 alone is a word
_JI = re.compile(r"지[는도를만]?$|[진질]$")
# "할 수 없다", "하는 것이 아니다": what is denied stands before.
_MEANS = re.compile(r"[수적일바것필리때](?:[이가은는도을를]|에는?)?")
# "You need not pay" and "you do not need to pay" deny the same.
_OF_DUTY = re.compile(r"need(?:ed)?|required|allowed|permitted|able|necessary")


def _denied(reading: Reading, at: int, word: str) -> Iterator[int]:
    """Where the word stands that is denied by the one at a place; nothing where that denies none."""
    if at and _FORBIDDEN.match(word) and _IF_DONE.search(reading.words[at - 1].whole):
        yield at - 1
    elif word in _BEFORE or word.endswith("n't"):
        yield from _denied_behind(reading, at)
    elif _BEHIND.match(word) and at:
        before = at - 1
        while before and reading.words[before].bracket not in (0, reading.words[at].bracket):
            before -= 1
        if _AFTER_JI.match(word) and not _JI.search(reading.words[before].whole):
            return
        while before and _MEANS.fullmatch(reading.words[before].whole):
            before -= 1
        yield before
    elif _INSIDE.match(word):
        yield at


def _denied_behind(reading: Reading, at: int) -> Iterator[int]:
    """The next content word behind an English negation, and where that is one of duty, what it leads to."""
    for next_at in range(at + 1, min(at + _FURTHEST, len(reading.words))):
        if is_content(reading.keys[next_at]):
            yield next_at
            word, *behind = reading.words[next_at : next_at + 2]
            if not (_OF_DUTY.fullmatch(word.text) and behind and behind[0].text == "to"):
                return


@dataclass(frozen=True, slots=True)
class Change:
    """Words of a claim in the place of others of the source, between words that are the same; one may be empty."""

    ours: Sequence[Word]
    theirs: Sequence[Word]

    @property
    def is_short(self) -> bool:
        return max(len(self.ours), len(self.theirs)) <= _FEW

    @property
    def texts(self) -> tuple[str, str]:
        """The words of each, with their particles."""
        ours, theirs = (" ".join(word.whole for word in own) for own in (self.ours, self.theirs))
        return ours, theirs


def changes_of(says: Reading, source: Reading) -> Iterator[Change]:
    """Where a claim that is mostly the words of its source differs; nothing where it is in words of its own."""
    codes = Levenshtein.opcodes(says.keys, source.keys)
    same = sum(code.src_end - code.src_start for code in codes if code.tag == "equal")
    if same < _MOSTLY * len(says.keys):
        return
    for at, code in enumerate(codes):
        ours = says.words[code.src_start : code.src_end]
        theirs = source.words[code.dest_start : code.dest_end]
        inside = 0 < at < len(codes) - 1 or (code.tag == "replace" and len(codes) > 1)
        if code.tag == "equal":
            pairs = zip(ours, theirs, strict=True)
            yield from (Change([a], [b]) for a, b in pairs if a.whole != b.whole)
        elif inside or not theirs or (at == 0 and len(theirs) <= _FEW):
            yield Change(ours, theirs)


# What bounds a statement, or says of how many it holds.
_BOUND = re.compile(
    r"(?:(?<!지)|(?<=까지))만(?!\w)|만[이을은의]|밖에|뿐|외에|제외|까지|이상|이하|미만|초과|이내|최대|최소|마다|보다|조차|단지|거의|대부분|일부|보통|주로|모[든두]|항상"
    r"|\b(?:only|just|solely|except\w*|excluding|unless|at (?:least|most)|up to|nearly|almost|about|most(?:ly)?|usually"
    r"|often|sometimes|some|all|every|always|many|few|more|less|than|by|or|until|before|after|without|hardly|rarely|seldom"
    r"|must|may|might|should|would)\b"
)


# "Elected by the members" is "the members elect", "3 l or 0.75 gallons" is 3 l, and what all do some do.
_LEFT_OUT_FREELY = frozenset(("by", "or", "all", "every", "always"))


def is_bound_otherwise(ours: str, theirs: str) -> bool:
    """Whether the one says other bounds than the other: all and some, until and before, only."""
    return sorted(_BOUND.findall(ours)) != sorted(_BOUND.findall(theirs))


def drops_bound(says: Reading, changes: Sequence[Change]) -> bool:
    """Whether a claim that is mostly its source leaves out a bound of it: "some", "almost", "only"."""
    kept = _LEFT_OUT_FREELY.union(_BOUND.findall(says.text))
    return any(
        set(_BOUND.findall(change.texts[1])) - kept
        for change in changes
        if change.is_short and not change.ours and not all(word.bracket for word in change.theirs)
    )


def _is_edit(change: Change, moved: AbstractSet[str]) -> bool:
    """Whether a change may change what is said; `moved` are words that stand elsewhere in the place of others."""
    ours, theirs = change.texts
    if not change.is_short:
        return False
    if not ours or not theirs:
        return bool(_BOUND.search(ours + theirs))
    if is_bound_otherwise(ours, theirs):
        return True
    if len(change.ours) == len(change.theirs) == 1:
        our_word, other = change.ours[0], change.theirs[0]
        if key_of(our_word.text) == key_of(other.text):
            return is_other_word(our_word, other)
        if is_content(key_of(our_word.text)) and is_content(key_of(other.text)):
            return True
    return any(
        is_content(key_of(word.text)) and key_of(word.text) not in moved for word in change.ours
    )


def is_edited(changes: Sequence[Change], known: AbstractSet[str]) -> bool:
    """Whether one change may change what is said, or two words changed places."""
    ours = {key_of(word.text) for change in changes for word in change.ours if change.theirs}
    theirs = {key_of(word.text) for change in changes for word in change.theirs if change.ours}
    moved = known - (ours & theirs)
    return any(_is_edit(change, moved) for change in changes)


_ENDINGS = re.compile(r"(?:e|e?s|e?d|ing|y|ies|ied|ly|'s|[eo]r|a?t?ions?|al|ment|able|ive)?")
_VERBAL = frozenset("하되있없했됐였었았겠지고며는한할된될인일")


def is_other_word(our_word: Word, other: Word) -> bool:
    """Whether two words with one stem are two, mostly names: 김민수 and 김민주, Anderson and Andersen."""
    if our_word.text == other.text or our_word.is_number:
        return False
    if HANGUL.match(our_word.text):
        names = (
            len(our_word.text) == len(other.text) > _SYLLABLES
            and our_word.particle == other.particle
        )
        return names and not {our_word.text[-1], other.text[-1]} & _VERBAL
    same = takewhile(lambda pair: pair[0] == pair[1], zip(our_word.text, other.text, strict=False))
    shared = sum(1 for _ in same)
    return not all(_ENDINGS.fullmatch(word.text[shared:]) for word in (our_word, other))


@dataclass(frozen=True, slots=True)
class Substitution:
    """Words of a claim as it has them, and those of its source that stand in their place."""

    ours: str
    theirs: str


def substitution(says: Reading, source: Reading) -> Substitution | None:
    """The first word that stands in the place of another in an otherwise copied sentence; None where none does."""
    return _substitution(says, source, _COPIED)


def substitution_in_item(says: Reading, item: Reading) -> Substitution | None:
    """The same of a table's row or a list's item, which leaves out the grammar that a claim of it has."""
    # Korean puts little grammar between its words: the same share would cost 3 of 59 honest claims.
    copied = _COPIED if says.is_korean else _COPIED_BUT_ONCE
    return _substitution(_Content(says.raw), _Content(item.raw), copied)


class _Content(Reading):
    """A text as its content words alone."""

    @cached_property
    def words(self) -> Sequence[Word]:
        return [word for word in words(self.text) if is_content(key_of(word.text))]


def _substitution(says: Reading, source: Reading, copied: float) -> Substitution | None:
    gaps = list(_gaps(says, source))
    equal = len(says.keys) - sum(len(gap.ours) for gap in gaps)
    gaps = [gap for gap in gaps if not _names_pronoun(gap)]
    whole = equal + sum(max(len(gap.ours), len(gap.theirs)) for gap in gaps)
    lone = [gap for gap in gaps if len(gap.ours) == len(gap.theirs) == 1]
    turned = _exchanged(lone, says)
    if len(turned) > 1:  # two words have taken each other's place, whatever else differs
        return Substitution(*next(gap for gap in lone if key_of(gap.ours[0].text) in turned).texts)
    term = next((gap for gap in gaps if _has_other_term(gap, says, source)), None)
    if term and says.is_korean:
        return Substitution(*term.texts)
    if equal < (copied if len(gaps) > 1 else _COPIED_BUT_ONCE) * whole:
        return None
    exchanged = _exchanged(gaps, says)
    replaced = (gap for gap in gaps if gap.ours and gap.theirs)
    others = (gap for gap in replaced if _is_other(gap, says, source, exchanged))
    return next((Substitution(*gap.texts) for gap in others), None)


_TERM = re.compile(r"[a-z][a-z0-9_.+/-]+")


def _has_other_term(gap: Change, says: Reading, source: Reading) -> bool:
    """Whether a word in Latin letters, in Korean a name, stands in the place of another, however much differs."""
    here, there = ({word.text for word in reading.words} for reading in (says, source))
    ours = (word.text for word in gap.ours if word.text not in there)
    theirs = (word.text for word in gap.theirs if word.text not in here)
    return any(map(_TERM.fullmatch, ours)) and any(map(_TERM.fullmatch, theirs))


_PRONOUNS_EN = (
    "he",
    "she",
    "it",
    "they",
    "him",
    "her",
    "them",
    "his",
    "its",
    "their",
    "this",
    "these",
)
_PRONOUNS = frozenset((*_PRONOUNS_EN, "이", "그", "이는", "그는", "해당"))


def _names_pronoun(gap: Change) -> bool:
    """Whether a claim says what a pronoun of its source stands for, which puts no other word in."""
    theirs = {word.text for word in gap.theirs}
    named = bool(gap.ours) and not _PRONOUNS.isdisjoint(theirs)
    return named and not any(is_content(key_of(word)) for word in theirs)


def _gaps(says: Reading, source: Reading) -> Iterator[Change]:
    """What differs, in order; of the source's words before and behind the claim's as many as stand in their place."""
    ours: list[Word] = []
    theirs: list[Word] = []
    begun = False
    for code in Levenshtein.opcodes(says.keys, source.keys):
        here = says.words[code.src_start : code.src_end]
        there = source.words[code.dest_start : code.dest_end]
        if code.tag != "equal":
            ours += here
            theirs += there
            continue
        if not begun:
            theirs = theirs[len(theirs) - len(ours) :] if ours else []
        if ours or theirs:
            yield Change(ours, theirs)
        pairs = zip(here, there, strict=True)
        yield from (
            Change([our_word], [other])
            for our_word, other in pairs
            if is_other_word(our_word, other)
        )
        ours, theirs, begun = [], [], True
    if ours:
        yield Change(ours, theirs[: len(ours)])


_NOUN_IS = re.compile(r"\w{2}(?:입니다|이다|이었다|이에요)$")


def _is_other(gap: Change, says: Reading, source: Reading, exchanged: Collection[str]) -> bool:
    """Whether a content word of the source is gone, and another stands in its place; or a bound, such as all or some.

    The other may stand elsewhere in the source: "the installer" for "the owner", where both are spoken of.
    """
    if len(gap.ours) != 1 or len(gap.theirs) != 1:  # several are said in other words
        return False
    our_word, other = gap.ours[0], gap.theirs[0]
    # Digits are compared by `numbers`.
    if our_word.is_number or other.is_number or ELLIPSIS in our_word.text:
        return False
    if our_word.whole == other.whole:  # written together with the word before: "DVD같은"
        return False
    if is_bound_otherwise(our_word.whole, other.whole):
        return True
    # A Korean verb at the end is often said in other words: 4 of 7 honest pairs that this cost in half of KorNLI.
    is_noun = _NOUN_IS.search(our_word.whole) and _NOUN_IS.search(other.whole)
    if says.is_korean and our_word is says.words[-1] and not is_noun:
        return False
    here, there = key_of(our_word.text), key_of(other.text)
    is_gone = there in exchanged or says.keys.count(there) < source.keys.count(there)
    return (
        is_content(here)
        and is_content(there)
        and is_gone
        and not is_typo(our_word, other, frozenset())
    )


def _exchanged(gaps: Sequence[Change], says: Reading) -> frozenset[str]:
    """Words that have changed places, but for such as only are listed in another order."""
    ours = {key_of(word.text) for gap in gaps for word in gap.ours}
    both = ours & {key_of(word.text) for gap in gaps for word in gap.theirs}
    places = [at for at, key in enumerate(says.keys) if key in both]
    listed = places and _JOINING & {*says.keys[places[0] : places[-1]]}
    return frozenset() if listed else frozenset(both)


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
_SYMMETRIC = frozenset(("and", "or", "with", "equals", "same", "between"))


def swapped(says: Reading, source: Reading, _: Sequence[Change]) -> bool | None:
    """Whether two words have changed places; False where other words around them differ, too."""
    if source.raw.startswith("|"):  # cells stand in the order of their columns
        return None
    if not says.is_korean:
        return _order_swapped(says, source)
    return True if _particles_swapped(says, source) else _cases_swapped(says, source)


_PHRASE = 3  # words within which a Korean noun has its particle


def _particles_swapped(says: Reading, source: Reading) -> bool:
    """Whether two Korean words changed places, but not their particles, which go with a word that only moves.

    "표준 사용자는 관리자 사용자가" of "관리자 사용자는 표준 사용자가".
    """
    ours, theirs = _once(says), _once(source)
    shared = sorted(ours.keys() & theirs.keys(), key=lambda key: ours[key])
    turned = (
        (key, other)
        for index, key in enumerate(shared)
        for other in shared[index + 1 : index + _FAR]
        if theirs[other] < theirs[key]
    )
    for key, other in turned:
        first, second = _particle(says, ours[key]), _particle(says, ours[other])
        there = _particle(source, theirs[other]), _particle(source, theirs[key])
        if first and second and first != second and there == (first, second):
            return True
    return False


def _once(reading: Reading) -> dict[str, int]:
    """Where each content word stands that stands once; without the last, the predicate."""
    counts = Counter(reading.keys)
    return {
        key: at for at, key in enumerate(reading.keys[:-1]) if counts[key] == 1 and is_content(key)
    }


def _particle(reading: Reading, at: int) -> str:
    """That of a word, or of the phrase that it begins."""
    return next((word.particle for word in reading.words[at : at + _PHRASE] if word.particle), "")


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
    once = {key for key in ours if ours.count(key) == theirs.count(key) == 1 and is_content(key)}

    def is_pivot(run: Sequence[str]) -> bool:
        return _SYMMETRIC.isdisjoint(run) and any(map(is_content, run))

    return any(
        is_pivot(ours[at : at + size])
        and (
            _are_exchanged(_sides(ours, at, size), _sides(theirs, there, size), once)
            or _is_turned(
                ours[:at], ours[at + size :], theirs[:there], theirs[there + size :], once
            )
        )
        for at, there, size in _shared_runs(ours, theirs)
    )


_SUBJECTS = frozenset(map(key_of, ("he", "she", "it", "they", "who", "which")))
_Sides = tuple[Sequence[str], Sequence[str]]


def _sides(keys: Sequence[str], at: int, size: int) -> _Sides:
    """The words just before some, and those just behind."""
    return keys[max(0, at - _NAME_WORDS) : at], keys[at + size : at + size + _NAME_WORDS + 1]


def _are_exchanged(ours: _Sides, theirs: _Sides, once: AbstractSet[str]) -> bool:
    """Whether the words next to the one stand on the other side of the other; those that stand twice tell nothing."""
    (before, behind), (their_before, their_behind) = ours, theirs
    if not (before and behind and their_before and their_behind):
        return False
    left, their_left = before[-1], their_before[-1]
    return (
        left != their_left
        and {left, their_left} <= once
        # "In the cabinet lie samples" is "samples lie in the cabinet".
        and is_content(behind[0])
        and is_content(their_behind[0])
        and left in their_behind
        and their_left in behind
        and their_behind[0] in before
        and behind[0] in their_before
    )


def _is_turned(
    before: Sequence[str],
    behind: Sequence[str],
    their_before: Sequence[str],
    their_behind: Sequence[str],
    once: AbstractSet[str],
) -> bool:
    """The same of a source that has a pronoun on the one side, and before it, what that stands for."""
    if not (behind and their_before and their_behind) or their_before[-1] not in _SUBJECTS:
        return False
    right, their_right = behind[0], their_behind[0]
    return (
        right != their_right
        and {right, their_right} <= once
        and right in their_before
        and their_right in before
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
            if d < b and not _SYMMETRIC & {*between, *source.keys[d + 1 : b]}:
                if between and between == source.keys[d + 1 : b]:
                    return True
                if c - a < _NEXT and b - d < _NEXT:
                    turned = False
    return turned
