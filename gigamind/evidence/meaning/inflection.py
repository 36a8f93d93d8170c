"""Whether two English words are inflections or spellings of one: days and day, approves and approved, its typing error.

Words are lower-cased.  In doubt they are two words, for no dictionary stands behind this.  Of the typing errors only
doubled consonants and exchanged neighbours are forgiven, in words of six letters and more: the 165 pairs of real words
that one such slip turns into each other are listed.  A letter left out or replaced does so in some 1 900 pairs of the
24 000 most frequent such words (action, auction; expert, export; officers, offices), and is not forgiven.
"""

import re

from rapidfuzz.distance import Prefix

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
