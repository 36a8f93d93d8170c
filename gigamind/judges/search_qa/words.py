"""A text as words for comparison: what each shares with its other forms, and which are negated."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import takewhile

from gigamind.evidence.normalize import Folding
from gigamind.evidence.words import Word, words

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
HANGUL = re.compile("[가-힣]")
_POSSESSIVE = re.compile(r"['’]\w{1,2}$")
_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|ly|e|d|y)$|(?<=\w{3})s$")
_SYLLABLES, _LETTERS = 2, 5  # letters that distinguish words; the rest is usually an ending


@cache
def stem(word: str) -> str:
    """Return roughly what a lower-case word shares with its other forms: "휴가는", "휴가를"; "stated", "states"."""
    if HANGUL.search(word):
        return word[:_SYLLABLES]
    return _ENDING.sub("", _POSSESSIVE.sub("", word))[:_LETTERS]


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text."""
    return frozenset(map(stem, _WORD.findall(unicodedata.normalize("NFC", text).casefold())))


GRAMMAR = stems(
    """a an the this that these those some any all each both other others such same more most much many few and or
    but nor if then than as so also too only just even very still yet while although though however therefore
    thus hence because since whereas of to in on at by for from with without within about into over under
    between among through during before across after up out off per via i you we they he she it its me us them
    my your our their his her who whom whose which what whether is are was were be been being am do does did
    done doing have has had having will would can could should may might must shall not no none never cannot
    don't doesn't didn't isn't aren't wasn't can't couldn't won't there here one ones i'm i'd i'll it's that's
    here's what's you'd you're there's let's 이 그 저 및 등 수 것 것은 것이 것을 더 또 또는 또한 이를 이는 이에
    이와 이런 이러 그러 그런 대한 대해 대하 관한 관해 따라 따르면 위한 위해 통해 의해 의하 경우 있는 있습 있지
    있으 있다 있어 있을 없는 없습 없으 없다 없어 없이 않은 않는 않습 않다 않아 않으 않고 못했 못하 아닙 아니
    합니 하는 하고 하지 하여 해서 했습 한다 하기 됩니 되는 되어 되지 된다 입니 이며 지만 에서 에는 에게 으로
    부터 까지 때문 저는 제가 저희 우리"""
)

_FEWEST_WORDS, _LEAST_GRAMMAR = 20, 0.1
_LATIN_OR_HANGUL = re.compile(r"[a-zA-Z\u00c0-\u024f가-힣ㄱ-ㅎㅏ-ㅣ]")


def is_of_another_language(text: str) -> bool:
    """Return whether a longer text is neither Korean nor English, so that the word lists do not apply."""
    words = _WORD.findall(text.casefold())
    letters = sum(map(str.isalpha, text))
    if len(_LATIN_OR_HANGUL.findall(text)) < letters / 2:
        return letters >= _FEWEST_WORDS
    latin = [word for word in words if not HANGUL.search(word) and word.isalpha()]
    if len(latin) < max(_FEWEST_WORDS, len(words) / 2):
        return False
    return sum(stem(word) in GRAMMAR for word in latin) < _LEAST_GRAMMAR * len(latin)


_FURTHEST = 5  # words from an English negation to the word that it negates
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"`[^`\n]*`")


# Endings of Korean predicates in jamo: 씁니다, 쓴다, 쓰고 and 쓰지 are one word. A bare 요 is an ending after the
# vowels of 해요 and 가요, but part of 필요 and 중요.
_PREDICATE = re.compile(
    unicodedata.normalize(
        "NFD",
        "(?:이)?(?:었|았|였|했|겠)?(?:습니|ㅂ니|는|ㄴ)?다(?:는|고|며|면서)?$|해야$|(?:으?세|어|아|여|이에|예)요$|(?<=[ᅡᅥᅢᅦᅧᅨᅪᅯᅫᅰ])요$|(?:이)?(?:고|며|지|지만|으며|어야|아야)$",
    )
    .replace("ㅂ", "\u11b8")
    .replace("ㄴ", "\u11ab")
)


# 바꿔야 is 바꾸어야, 알렸다 is 알리었다: the vowels of stem and ending are contracted. 결과서 is no verb.
_CONTRACTED = re.compile(
    unicodedata.normalize("NFD", "ᅪ(?=ᆻ|야$)|ᅯ(?=ᆻ|(?:야|서)$)|(?<!ᄋ)ᅧ(?=ᆻ|(?:야|서)$)")
)
_SPREAD = {
    vowel: unicodedata.normalize("NFD", two) for vowel, two in (("ᅪ", "ᅩ아"), ("ᅯ", "ᅮ어"), ("ᅧ", "ᅵ어"))
}


@lru_cache(maxsize=16_384)
def key_of(word: str) -> str:
    """Return the part of a word that its other forms share."""
    if not HANGUL.match(word):
        return stem(word)
    decomposed = unicodedata.normalize("NFD", word)
    spread = _CONTRACTED.sub(lambda match: _SPREAD[match[0]], decomposed)
    bare = _PREDICATE.sub("", spread)
    return stem(unicodedata.normalize("NFC", bare) or word)


# Stems of 있다, 없다, 하다, ... and of 그리고.
_LIGHT = frozenset("있없하되이않못아") | {"그리", "해야", "했다", "했습"}


def is_content(key: str) -> bool:
    """Return whether a word has meaning by itself."""
    return key not in GRAMMAR and key not in _LIGHT and any(map(str.isalnum, key))


_BEFORE_NUMBER = (
    r"(?= ?[€$£]?\d| (?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half)\b)"
)
_ALIKE = (
    (re.compile(rf"\b(?:over|above|exceeding){_BEFORE_NUMBER}"), "more than"),
    (
        re.compile(rf"\b(?:no more than|not more than|a maximum of|up to|within){_BEFORE_NUMBER}"),
        "at most",
    ),
    (re.compile(rf"\b(?:no less than|no fewer than|a minimum of){_BEFORE_NUMBER}"), "at least"),
    (re.compile(r"\bmight\b"), "may"),
)


@dataclass(frozen=True)
class Reading:
    """A text as words for comparison."""

    raw: str

    @cached_property
    def text(self) -> str:
        """The text without Markdown, in lower case, with single spaces and uniform bounds of numbers."""
        text = Folding.unmarked(self.raw, is_quote=False).text
        for pattern, same in _ALIKE:
            text = pattern.sub(same, text)
        return text

    @cached_property
    def words(self) -> Sequence[Word]:
        return words(self.text)

    @cached_property
    def keys(self) -> Sequence[str]:
        return [key_of(word.text) for word in self.words]

    @cached_property
    def content(self) -> AbstractSet[str]:
        return {key for key in self.keys if is_content(key)}

    @cached_property
    def is_korean(self) -> bool:
        """Whether its language is Korean; code, addresses and paths do not count."""
        text = self._prose
        return 3 * len(HANGUL.findall(text)) >= len(_LETTER.findall(text))

    @cached_property
    def _prose(self) -> str:
        words = _CODE.sub(" ", self.raw).split()
        return "".join(word for word in words if "/" not in word or HANGUL.search(word))

    def is_foreign_to(self, *, is_korean: bool) -> bool:
        """Return whether its language is another; figures alone have none."""
        return self.is_korean != is_korean and bool(_LETTER.search(self._prose))

    @cached_property
    def negations(self) -> Sequence[tuple[Word, Sequence[int]]]:
        """The negating words, each with the places of the words that it negates."""
        found = ((word, list(_denied(self, at, word.whole))) for at, word in enumerate(self.words))
        return [(word, places) for word, places in found if places]

    @cached_property
    def denials(self) -> Sequence[int]:
        return [at for _, places in self.negations for at in places]


_STOP = r"말|마(?=[라세십시요])"  # 지 말고, 지 마세요
_BEHIND = re.compile(rf"않|없|아[니닌닐님닙]|못[하했합한할해함]|{_STOP}|불가|금지")
_INSIDE = re.compile(rf".+지(?:는|도)?(?:않|못|{_STOP})|.+없|.+불가|.+금지|.+(?:n't)$")
_DENIALS = frozenset(("안", "못", "not", "no", "never"))
_BEFORE = _DENIALS | {"cannot", "without", "none"}
# "하면 안 된다", "해서는 안 됩니다".
_IF_DONE = re.compile(r"(?:면|서는?|선)$")
_FORBIDDEN = re.compile(r"안(?:[되돼됩된될됐]|$)")
_AFTER_JI = re.compile(rf"[않못]|{_STOP}")  # 지 않다, 지 못하다, 지 말다; 말 alone is a noun
_JI = re.compile(r"지[는도를만]?$|[진질]$")
# "할 수 없다", "하는 것이 아니다": the negated word comes before.
_MEANS = re.compile(r"[수적일바것필리때](?:[이가은는도을를]|에는?)?")
# "You need not pay" and "you do not need to pay" are equal.
_OF_DUTY = re.compile(r"need(?:ed)?|required|allowed|permitted|able|necessary")


def _denied(reading: Reading, at: int, word: str) -> Iterator[int]:
    """Yield the places of the words that the word at a place negates, if any."""
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
    for next_at in range(at + 1, min(at + _FURTHEST, len(reading.words))):
        if is_content(reading.keys[next_at]):
            yield next_at
            word, *behind = reading.words[next_at : next_at + 2]
            if not (_OF_DUTY.fullmatch(word.text) and behind and behind[0].text == "to"):
                return


_ENDINGS = re.compile(r"(?:e|e?s|e?d|ing|y|ies|ied|ly|'s|[eo]r|a?t?ions?|al|ment|able|ive)?")
_VERBAL = frozenset("하되있없했됐였었았겠지고며는한할된될인일")


def is_other_word(claim_word: Word, other: Word) -> bool:
    """Return whether two words with one stem are different, mostly names: 김민수 and 김민주, Anderson and Andersen."""
    if claim_word.text == other.text or claim_word.is_number:
        return False
    if HANGUL.match(claim_word.text):
        names = len(claim_word.text) == len(other.text) > _SYLLABLES
        same_particle = claim_word.particle == other.particle
        return names and same_particle and not {claim_word.text[-1], other.text[-1]} & _VERBAL
    pairs = zip(claim_word.text, other.text, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return not all(_ENDINGS.fullmatch(word.text[shared:]) for word in (claim_word, other))
