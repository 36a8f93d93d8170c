"""Whether two Korean words are one stem with other particles or verb endings: 휴가를 and 휴가, 됩니다 and 되며.

A particle or ending that carries sense is no mere ending: 만, 까지 and 부터, 해야 and 하면 must stand in both words.
Stems are compared by jamo, because an ending may begin inside a syllable: 된다 is 되 and ㄴ다.
"""

import re
import unicodedata
from functools import lru_cache

from rapidfuzz.distance import Prefix

from gigamind.text import ends_in_consonant

_TOPIC = "은 는 의 도 들"  # says nothing about the role of the word
_CASES = {
    "subject": "이 가 께서",
    "object": "을 를",
    "to": "에 에게 한테 께 로 으로",
    "in": "에서",  # 회사에 보낸다 and 회사에서 보낸다 are opposites
    "with": "와 과 랑 이랑 하고",
    "says": "라고 이라고 라는 이라는",
}
# Who does what to whom stays the same: 회사를 방문 and 회사에 방문, 회사가 지급 and 회사에서 지급.
_LIKE_CASES = {frozenset(("object", "to")), frozenset(("subject", "in"))}
_LIMITS = "만 까지 부터 밖에 보다 처럼 같이 만큼 조차 마저 대로 뿐 쯤 씩 마다 나 이나 든 이든 에게서 한테서 라도 이라도"
_AFTER_CONSONANT = "은 이 을 과 으로 이나 이라고 이라는 이라도 이든 이랑"
_AFTER_VOWEL = "는 가 를 와 나 라고 라는 라도 든 랑"
_BEGIN_OTHERS = {"이", "나", "든"}  # 이었다 after either sound, 나마
_MAX_PARTICLES = 3
_LEAST_NOUN = 2
_LONGEST_ENDING = 8  # jamo
_PARTICLE = (
    dict.fromkeys(_TOPIC.split(), ("topic", ""))
    | {word: ("case", name) for name, words in _CASES.items() for word in words.split()}
    | {word: ("limit", word) for word in _LIMITS.split()}
)

# Endings by what they say; those of the first two say nothing that another of them does not.  A clear ending stands
# behind verbs only; the others also end nouns (사고, 사기; 공간, 공감), which share no stem.
_CLEAR = "다 ㄴ다 는다 ㅂ니다 습니다 아요 어요 여요 으며 며 면서 으면서"
_UNCLEAR = "ㅁ 음 기 고 아 어 여 아서 어서 여서 는 ㄴ 은"
_SENSES = {
    "must": "아야 어야 여야 아야만 어야만 여야만",
    "if": "면 으면 다면 ㄴ다면 는다면",
    "even if": "아도 어도 여도 더라도",
    "but": "지만 으나",
    "or": "거나 든지",
    "not yet": "ㄹ 을 ㄹ지 을지",
    "so that": "도록 려고 으려고 려면 으려면 러 으러",
    "question": "ㅂ니까 습니까 나요 ㄹ까 을까 ㄹ까요 을까요",
    "order": "라 아라 어라 여라 세요 으세요 십시오 으십시오 시오 으시오",
    "not": "지 지는 지도 지를",
    "while": "는데 ㄴ데 은데",
}
_PAST = "았 었 였 ㅆ"
_LATER = "다 습니다 음 고 으며 던 어요 지만 거나 으면 을 으나 기"
_FINALS = str.maketrans("ㄴㄹㅁㅂㅆ", "\u11ab\u11af\u11b7\u11b8\u11bb")
_LIGHT = "하 되 있 없 않 받 시키 못하"
_DO = "한다 합니다 하다 했다 하였다 했습니다 하였습니다 하며 해요"
_BE = "이다 입니다 이며 이었다 이었습니다 이에요 였다 였습니다 예요"
_CONTRACTED = [
    (unicodedata.normalize("NFD", contracted), unicodedata.normalize("NFD", written))
    for contracted, written in (
        ("해", "하여"), ("돼", "되어"), ("\u116a", "\u1169아"), ("\u116f", "\u116e어"),  # 와 as 오아, 워 as 우어
        ("려", "리어"), ("져", "지어"), ("쳐", "치어"), ("켜", "키어"), ("셔", "시어"), ("텨", "티어"),
    )
]  # fmt: skip
_CONTRACTED_PAST = "\u11bb"


def same_stem(left: str, right: str) -> bool:
    """Whether two words differ in nothing but particles and endings that carry no sense.  Both are NFC."""
    shared = left[: Prefix.similarity(left, right)]
    if any(_fit(left, right, len(shared) - back) for back in range(min(4, len(shared)))):
        return True
    return _same_verb(left, right, shared)


def limits(word: str) -> bool:
    """Whether a word ends in a particle that limits it: 정규직만, 3일까지."""
    return any(
        (sense := _particles(word[at:])) is not None and bool(sense[1])
        for at in range(max(1, len(word) - 4), len(word))
    )


def is_case_particle(word: str) -> bool:
    """Whether a run of Hangul behind a number or a sign can only be a particle that may be left out: 3은, 2를."""
    return word in {
        "은",
        "는",
        "이",
        "가",
        "을",
        "를",
        "의",
        "에",
        "에서",
        "로",
        "으로",
        "와",
        "과",
    }


def _fit(left: str, right: str, at: int) -> bool:
    """Whether what follows the first `at` characters are particles in both words, of one sense."""
    if left[at - 1].isdigit():
        return False  # 12도 is a temperature
    first, second = _particles(left[at:]), _particles(right[at:])
    if first is None or second is None:
        return False
    if not (_agrees(left, at) and _agrees(right, at)):
        return False
    return first[1] == second[1] and _like(first[0], second[0])


def _like(first: frozenset[str], second: frozenset[str]) -> bool:
    if not first or not second or first == second:
        return True
    return first | second in _LIKE_CASES


@lru_cache(maxsize=4096)
def _particles(tail: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The cases and the limits that a run of particles states; None when it is no such run."""
    if len(tail) > 2 * _MAX_PARTICLES:
        return None
    if not tail:
        return frozenset(), frozenset()
    for end in range(len(tail), 0, -1):
        kind, name = _PARTICLE.get(tail[:end], ("", ""))
        rest = _particles(tail[end:]) if kind else None
        if rest is not None:
            cases = rest[0] | {name} if kind == "case" else rest[0]
            return cases, (rest[1] | {name} if kind == "limit" else rest[1])
    return None


def _agrees(word: str, at: int) -> bool:
    """Whether the particle behind the first `at` characters follows their last sound; Latin is only guessed."""
    tail = word[at:]
    if not tail or not "가" <= word[at - 1] <= "힣":
        return True
    wrong = _OPEN if ends_in_consonant(word[:at]) else _CLOSED
    return tail not in wrong and tail[0] not in wrong - _BEGIN_OTHERS


def _same_verb(left: str, right: str, shared: str) -> bool:
    """Whether two words are forms of one verb, or one is the noun of the other: 신청 and 신청합니다."""
    shorter, longer = sorted((left, right), key=len)
    if shorter == shared and len(shared) >= _LEAST_NOUN and longer[len(shared) :] in _PREDICATES:
        return True
    first, second = _opened(left), _opened(right)
    if first == second:
        return True
    common = Prefix.similarity(first, second)
    return any(
        _inflects(first, second, at) for at in range(common, max(1, common - _LONGEST_ENDING), -1)
    )


def _inflects(first: str, second: str, at: int) -> bool:
    """Whether both words, in jamo, are the first `at` jamo as a stem with endings of one sense."""
    stem, tails = first[:at], (first[at:], second[at:])
    if tails[0] == tails[1] or not _is_stem(stem):
        return False
    if stem[-1] == "\u1175" and any(tail.startswith(_CONTRACTED_PAST) for tail in tails):
        return False  # 있다 is no past of 이다
    if "" in tails:
        return "".join(tails) in _CLEAR_ENDINGS
    senses = [_ENDINGS.get(tail) for tail in tails]
    if None in senses or senses[0] != senses[1]:
        return False
    return stem.endswith(_LIGHT_VERBS) or any(tail in _CLEAR_ENDINGS for tail in tails)


def _is_stem(stem: str) -> bool:
    return any("\u1161" <= jamo <= "\u1175" for jamo in stem)


@lru_cache(maxsize=4096)
def _opened(word: str) -> str:
    """Jamo of a word with its contracted syllables written out: 했다 as 하였다, 됐다 as 되었다, 걸려 as 걸리어."""
    jamo = unicodedata.normalize("NFD", word)
    for contracted, written in _CONTRACTED:
        jamo = jamo.replace(contracted, written)
    return jamo


def _jamo(ending: str) -> str:
    return _opened(ending[0].translate(_FINALS) + ending[1:])


def _table() -> dict[str, str]:
    """Every ending, in jamo, and its sense; "" for those that carry none."""
    senses = {"": f"{_CLEAR} {_UNCLEAR}"} | _SENSES
    table = {_jamo(ending): sense for sense, words in senses.items() for ending in words.split()}
    later = {ending: table.get(_jamo(ending), "") for ending in _LATER.split()}
    past = {
        _jamo(tense) + _jamo(ending): sense
        for tense in _PAST.split()
        for ending, sense in later.items()
    }
    will = {_jamo("겠") + _jamo(ending): "not yet" for ending in _LATER.split()}
    return table | past | will


_ENDINGS = _table()
_CLEAR_ENDINGS = frozenset(_jamo(ending) for ending in _CLEAR.split()) | {
    ending
    for ending, sense in _ENDINGS.items()
    if sense == "" and ending.startswith(tuple(_jamo(tense) for tense in _PAST.split()))
}
_LIGHT_VERBS = tuple(unicodedata.normalize("NFD", stem) for stem in _LIGHT.split())
_CLOSED, _OPEN = frozenset(_AFTER_CONSONANT.split()), frozenset(_AFTER_VOWEL.split())
_PREDICATES = frozenset(f"{_DO} {_BE}".split())


_LEAST_BASE = 3  # "needs" and "need", but not "is" and "i"
_LEAST_TYPO = 6
_IRREGULAR = {
    form: forms.split()[0]
    for forms in (
        "go went gone goes", "take took taken", "give gave given", "make made", "pay paid", "send sent",
        "keep kept", "hold held", "get got gotten", "say said", "write wrote written", "begin began begun",
        "know knew known", "run ran", "build built", "meet met", "choose chose chosen", "lose lost",
        "become became", "come came", "bring brought", "buy bought", "show shown", "man men", "woman women",
        "child children", "person people persons", "sell sold", "speak spoke spoken", "see saw seen",
    )
    for form in forms.split()
}  # fmt: skip
# What looks like their inflection is another word: "tens" are not "ten", "news" are not "new", an evening is not even.
_UNINFLECTED_WORDS = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion
    trillion dozen first second third half quarter double triple new all good even custom arm must may can will need
    not no any past
"""
_CONFUSABLE_PAIRS = """
    finish/finnish canvas/canvass diners/dinners peeking/peking posses/possess belies/bellies belied/bellied
    discus/discuss garret/garrett supers/suppers filets/fillets biters/bitters taters/tatters rapers/rappers
    reenter/renter carers/careers needles/needless princes/princess desert/dessert deserts/desserts planing/planning
    filings/fillings scraper/scrapper striper/stripper gravely/gravelly chilies/chillies corals/corrals
    hoping/hopping scared/scarred stared/starred angels/angles trails/trials carter/crater carted/crated
    barely/barley silver/sliver tilted/titled carved/craved carves/craves carvings/cravings carving/craving
    farmed/framed farming/framing farmers/framers salted/slated basest/basset creeps/crepes garter/grater
    gilded/glided gilding/gliding pluses/pulses bugles/bulges barked/braked barking/braking direst/driest
    permed/premed signer/singer signing/singing signed/singed perfect/prefect soldier/solider parting/prating
    coroner/crooner compiled/complied discreet/discrete discreetly/discretely casual/causal casualty/causality
    marital/martial united/untied uniting/untying sacred/scared complaint/compliant infarction/infraction
    conservation/conversation conserve/converse untied/united reserve/reverse reserved/reversed diaries/dairies
    calvary/cavalry boards/broads ordnance/ordinance except/expect pervious/previous perform/preform
    performs/preforms performed/preformed performing/preforming cruses/curses percept/precept perceptive/preceptive
    ailment/aliment ailments/aliments unites/unties retired/retried retires/retries trailed/trialed
    trailing/trialing casually/causally heresy/hersey patron/parton titles/tittles filers/fliers sorites/sorties
    forward/froward minuets/minutes cruets/curets concerted/concreted concerting/concreting infarct/infract
    repertoires/repertories belated/bleated demurer/demurrer corespondent/correspondent corespondents/correspondents
    missuses/misuses timbers/timbres tilting/titling maters/matters misfield/misfiled plaint/pliant flours/fluors
    salves/slaves salved/slaved regarding/regrading regarded/regraded parties/praties compiles/complies
    casino/cassino realtor/relator navies/navvies curies/curries caries/carries riffles/rifles poison/poisson
    balding/blading bruins/burins primer/primmer scraped/scarped poises/posies waiver/wavier carven/craven
    saltier/slatier maligner/malinger maligners/malingers cornet/cornett potage/pottage spiers/spires gabled/gabbled
    marvel/marvell bulging/bugling silvers/slivers signers/singers carters/craters creates/cerates steels/steles
    lories/lorries tinier/tinnier bonier/bonnier boniest/bonniest saliva/salvia falcon/flacon scotus/scouts
    cannons/canons
"""
_UNINFLECTED = frozenset(_UNINFLECTED_WORDS.split())
_CONFUSABLE = {frozenset(pair.split("/")) for pair in _CONFUSABLE_PAIRS.split()}
_SPELLINGS = (
    (re.compile(r"(?<=..)iz(?=e|ing|ation|ab)"), "is"),  # organize, organise
    (re.compile(r"(?<=..)yz(?=e|ing)"), "ys"),
    (
        re.compile(r"(?<=...)our(?=(?:s|ed|ing|al|ite|able|ful|hood)?$)"),
        "or",
    ),  # behaviour, behavior
    (re.compile("^(?:seperat|separat)"), "separat"),
    (re.compile("^definat"), "definit"),
    (re.compile("^goverment"), "government"),
    (re.compile("^enviroment"), "environment"),
)
_VOWEL = re.compile(r"[aeiouy]")
# A short stem doubles its consonant to be told from another: filing and filling, rated and ratted.
_DOUBLES = re.compile(
    r"^[^aeiou]*[aeiou][^aeiou](?:ed|ing|ings|er|ers|es|est|y|ies|le|les|led|ling|ly)$"
)
# Of plan comes planned, so that planed comes of plane.
_WOULD_DOUBLE = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")


def same_word(left: str, right: str, names: frozenset[str]) -> bool:
    """Whether two words are one; `names` are words that a letter more or less makes another name."""
    if left == right:
        return True
    if not _UNINFLECTED.isdisjoint((left, right)):
        return False
    left, right = _spelled(left), _spelled(right)
    if _bases(left) & _bases(right):
        return True
    return names.isdisjoint((left, right)) and _is_typo(left, right)


def _spelled(word: str) -> str:
    """The word in one of its spellings, British and American or often mistaken."""
    if len(word) >= _LEAST_TYPO:
        for pattern, spelling in _SPELLINGS:
            word = pattern.sub(spelling, word)
    return word


def _bases(word: str) -> set[str]:
    """What a word may be an inflection of, itself included."""
    found = {word, _IRREGULAR.get(word, word)}
    if word.endswith(("ies", "ied")):
        found.add(f"{word[:-3]}y")
    elif word.endswith("es") and word[:-2].endswith(("s", "x", "z", "ch", "sh", "o")):
        found |= {word[:-2], word[:-1]}
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        found.add(word[:-1])
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            found |= _verbs(word[: -len(suffix)])
    return {base for base in found if len(base) >= _LEAST_BASE or base == word}


def _verbs(stem: str) -> set[str]:
    """What the verb may be: requir -> require, sign -> sign, stopp -> stop, plan -> plane."""
    if not _VOWEL.search(stem):
        return set()
    if stem[-1] == stem[-2:-1]:
        return {stem, stem[:-1]}
    return {f"{stem}e"} if _WOULD_DOUBLE.match(stem) else {stem, f"{stem}e"}


def _is_typo(left: str, right: str) -> bool:
    """Whether inside a long word one consonant is doubled or two letters have changed places.

    The first and the last letter stay: there a letter makes other words, such as a-typical and employ-er, employ-ee.
    """
    if min(len(left), len(right)) < _LEAST_TYPO or frozenset((left, right)) in _CONFUSABLE:
        return False
    if left[0] != right[0] or left[-1] != right[-1]:
        return False
    start = Prefix.similarity(left, right)
    one, two = left[start:], right[start:]
    if len(one) == len(two):
        return one[:2] == two[1::-1] and one[2:] == two[2:]
    longer, shorter = max(one, two, key=len), min(one, two, key=len)
    if longer[1:] != shorter or longer[0] != left[start - 1] or _VOWEL.match(longer):
        return False
    ends_other = shorter == "" and longer != "l"  # princes and princess, but fulfil and fulfill
    return not (ends_other or _DOUBLES.match(min(left, right, key=len)))
