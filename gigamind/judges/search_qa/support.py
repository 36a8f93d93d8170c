"""Says whether a passage supports a claim, without a model: a guard that may only refuse, and a score.

The score is the share of the claim's words that the passage carries. The guard refuses a claim that differs from its
source in a number, negation, limit, name, role or word. Only rules that earn something on labelled text or on forgeries
are left: benchmarks/MEASUREMENTS.md, "Ablation".
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from gigamind.evidence.critical import are_opposed
from gigamind.evidence.proof import is_question, is_typo
from gigamind.evidence.words import ELLIPSIS, Word
from gigamind.judges.search_qa.numbers import is_number_word, number_refusal
from gigamind.judges.search_qa.passage import (
    Asked,
    Contradiction,
    Passage,
    Refusal,
    Support,
    completed,
    is_row,
    label_of,
)
from gigamind.judges.search_qa.segments import without_note_names
from gigamind.judges.search_qa.words import (
    HANGUL,
    Reading,
    is_content,
    is_other_word,
    key_of,
)
from gigamind.text import is_particle, sentences

_MOSTLY = 0.5  # share of the claim's words in the order of the source from which single words are compared
_FEW_REPLACED = 2  # words replaced by others


@dataclass(frozen=True, slots=True)
class _Change:
    """Words of a claim in place of other words of the source, between equal words; one of the two may be empty."""

    in_claim: Sequence[Word]
    in_source: Sequence[Word]

    @property
    def is_short(self) -> bool:
        return max(len(self.in_claim), len(self.in_source)) <= _FEW_REPLACED

    @property
    def pair(self) -> tuple[Word, Word] | None:
        """The word of the claim and that of the source, if there is one of each."""
        is_single = len(self.in_claim) == len(self.in_source) == 1
        return (self.in_claim[0], self.in_source[0]) if is_single else None

    @property
    def texts(self) -> tuple[str, str]:
        """The words of claim and source, as written."""
        in_claim = " ".join(word.whole for word in self.in_claim)
        return in_claim, " ".join(word.whole for word in self.in_source)


def _changes_of(claim: Reading, source: Reading) -> Iterator[_Change]:
    """Yield where a claim that consists mostly of its source's words differs; nothing for a paraphrase."""
    codes = Levenshtein.opcodes(claim.keys, source.keys)
    same = sum(code.src_end - code.src_start for code in codes if code.tag == "equal")
    if same < _MOSTLY * len(claim.keys):
        return
    for at, code in enumerate(codes):
        in_claim = claim.words[code.src_start : code.src_end]
        in_source = source.words[code.dest_start : code.dest_end]
        inside = 0 < at < len(codes) - 1 or (code.tag == "replace" and len(codes) > 1)
        if code.tag == "equal":
            pairs = zip(in_claim, in_source, strict=True)
            yield from (_Change([a], [b]) for a, b in pairs if a.whole != b.whole)
        elif inside or not in_source or (at == 0 and len(in_source) <= _FEW_REPLACED):
            yield _Change(in_claim, in_source)


# Words that limit a statement or quantify it.
_BOUND = re.compile(
    r"(?:(?<!지)|(?<=까지))만(?!\w)|만[이을은의]|밖에|뿐|외에|제외|까지|이상|이하|미만|초과|이내|최대|최소|마다|보다|조차|단지|거의|대부분|일부|보통|주로|모[든두]|항상"
    r"|\b(?:only|just|solely|except\w*|excluding|unless|at (?:least|most)|up to|nearly|almost|about|most(?:ly)?|usually"
    r"|often|sometimes|some|all|every|always|many|few|more|less|than|by|or|until|before|after|without|hardly|rarely|seldom"
    r"|must|may|might|should|would)\b"
)


def _bounds_differ(in_claim: str, in_source: str) -> bool:
    """Return whether two texts have different limits: all and some, until and before, only."""
    return sorted(_BOUND.findall(in_claim)) != sorted(_BOUND.findall(in_source))


def _is_edit(change: _Change, moved: AbstractSet[str]) -> bool:
    """Return whether a change may change the statement; `moved` are words that replace others elsewhere."""
    in_claim, in_source = change.texts
    if not change.is_short:
        return False
    if not in_claim or not in_source:
        return bool(_BOUND.search(in_claim + in_source))
    if _bounds_differ(in_claim, in_source):
        return True
    if change.pair:
        claim_word, other = change.pair
        if key_of(claim_word.text) == key_of(other.text):
            return is_other_word(claim_word, other)
        if is_content(key_of(claim_word.text)) and is_content(key_of(other.text)):
            return True
    return any(
        is_content(key_of(word.text)) and key_of(word.text) not in moved for word in change.in_claim
    )


def _is_edited(changes: Sequence[_Change], known: AbstractSet[str]) -> bool:
    """Return whether a change may change the statement, or two words are swapped."""
    replaced = [change for change in changes if change.in_claim and change.in_source]
    in_claim = {key_of(word.text) for change in replaced for word in change.in_claim}
    in_source = {key_of(word.text) for change in replaced for word in change.in_source}
    moved = known - (in_claim & in_source)
    return any(_is_edit(change, moved) for change in changes)


# Share of the longer text from which a claim is a copy: with several differences, and with a single one.
_COPIED, _COPIED_BUT_ONCE = 0.85, 0.6
_JOINING = frozenset(("and", "or", "with", "및", "와", "과", "또는", "그리고"))


def substitution(claim: Reading, source: Reading) -> _Change | None:
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


def _gaps(claim: Reading, source: Reading) -> Iterator[_Change]:
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
            yield _Change(in_claim, in_source)
        pairs = zip(here, there, strict=True)
        yield from (
            _Change([claim_word], [other])
            for claim_word, other in pairs
            if is_other_word(claim_word, other)
        )
        in_claim, in_source, begun = [], [], True
    if in_claim:
        yield _Change(in_claim, in_source[: len(in_claim)])


_NOUN_IS = re.compile(r"\w{2}(?:입니다|이다|이었다|이에요)$")


def _is_other(gap: _Change, claim: Reading, source: Reading, exchanged: Collection[str]) -> bool:
    """Return whether a content word of the source, or a limit such as all or some, is replaced by another word."""
    if gap.pair is None:  # several words are a paraphrase
        return False
    claim_word, other = gap.pair
    # `numbers` compares digits.
    if claim_word.is_number or other.is_number or ELLIPSIS in claim_word.text:
        return False
    if claim_word.whole == other.whole:  # written together with the word before: "DVD같은"
        return False
    if _bounds_differ(claim_word.whole, other.whole):
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


def _exchanged(gaps: Sequence[_Change], claim: Reading) -> frozenset[str]:
    """Return the words that are swapped, except those that are only listed in another order."""
    in_claim = {key_of(word.text) for gap in gaps for word in gap.in_claim}
    both = in_claim & {key_of(word.text) for gap in gaps for word in gap.in_source}
    places = [at for at, key in enumerate(claim.keys) if key in both]
    listed = places and _JOINING & {*claim.keys[places[0] : places[-1]]}
    return frozenset() if listed else frozenset(both)


_UNIT = re.compile(r"[^\W_]+(?:[.,:/-][^\W_]+)*")
_HANGUL = re.compile("[가-힣]+")


def _is_of_another_row(
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


_SAME_MATTER = 0.6
"""Share of the claim's content words in the passage from which both have the same topic."""


def _contradiction_of_form(claim: Reading, source: Reading, own: float) -> Contradiction | None:
    """Return whether a passage only asks, or denies or merely reports, what a claim states."""
    passage = source.raw.strip()
    asks = [is_question(sentence.slice(passage)) for sentence in sentences(passage)]
    if asks and all(asks) and not is_question(claim.text):
        return "question"
    match = _DENYING.search(source.text) or _HEARSAY.search(source.text)
    same = _DENYING.search(claim.text) or _HEARSAY.search(claim.text)
    is_reported = match and not same and not claim.denials and own >= _SAME_MATTER
    return "reported" if is_reported else None


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


# Negations that state something: "not only", "뿐만 아니라", "않으면 안 된다", "그렇지 않으면".
_HARMLESS = re.compile(
    r"그렇지 않|(?:뿐|뿐만|만)(?:이)? ?아니라|않으면 안|않을 수 없|못지 ?않|\bnot (?:only|just|merely)\b"
)
_AFTER = 2  # words behind the last shared one in which a light verb is negated: "있지 않다"


def _negates_otherwise(
    claim: Reading, source: Reading, own: float
) -> Literal["contradicts", "differs"] | None:
    """Return whether a claim negates more than its passage, or less of what both state.

    Returns "differs" if code cannot tell: two negations more, or few words in common.
    """
    claimed, denied = _negations(claim), _negations(source)
    more = len(claimed) - len(denied)
    shared = [at for at, key in enumerate(source.keys) if is_content(key) and key in claim.content]
    if more <= 0 and (own < _SAME_MATTER or not shared):
        return None
    of_both = [
        places
        for _, places in denied
        if any(
            source.keys[at] in claim.keys
            if is_content(source.keys[at])
            else shared[0] <= at <= shared[-1] + _AFTER
            for at in places
        )
    ]
    if more > 0:
        return "contradicts" if more % 2 and own >= _SAME_MATTER else "differs"
    less = len(of_both) - len(claimed)
    return None if less <= 0 else "contradicts" if less % 2 else "differs"


def _negations(reading: Reading) -> list[tuple[Word, Sequence[int]]]:
    spans = [match.span() for match in _HARMLESS.finditer(reading.text)]
    return [
        (word, places)
        for word, places in reading.negations
        if not any(start < word.end and word.start < end for start, end in spans)
    ]


_ONLY = re.compile(
    r"(?<![미\d십백천])(?:(?<!지)|(?<=까지))만(?:[을이은의]?(?!\w))|밖에|뿐|\b(?:only|solely|exclusively)\b"
)
_ALL = re.compile(
    r"(?<!\w)(?:모든|모두(?! ?(?:\d|(?:한|두|세|네|[다여]섯|일곱|여덟|아홉|열) ))"  # not a total such as "모두 3명"
    r"|누구나|누구든|(?:어느|아무|어떤) \w+[나든](?!\w)|어디서나|언제나|언제든|항상|전부|전원|무조건|예외 ?없이)"
    r"|\b(?:all|every|everyone|everybody|anyone|anybody|always|anytime"
    r"|everything|everywhere|regardless)\b"
)
# Words that may express "all" or "only" in the source.
_ANY = re.compile(
    r"(?<!\w)(?:각|매 |누구|아무|어느|어떤|단 )|마다|전체|오직|유일|단지|하나|제외|외에|한해|한하여"
    r"|\b(?:each|any\w*|whole|entire|just|no|none)\b"
)
# "Elected by the members" equals "the members elect"; "3 l or 0.75 gallons" equals 3 l; what all do, some do.
_LEFT_OUT_FREELY = frozenset(("by", "or", "all", "every", "always"))


def _limits_differ(claim: Reading, source: Reading, changes: Sequence[_Change]) -> bool:
    """Return whether a claim adds "all" or "only", or drops a limit of the words that it copies."""
    limits = (_ALL, _ONLY)
    is_added = any(limit.search(claim.text) for limit in limits) and not source.denials
    if is_added and not any(limit.search(source.text) for limit in (*limits, _ANY)):
        return True
    kept = _LEFT_OUT_FREELY.union(_BOUND.findall(claim.text))
    return any(set(_BOUND.findall(change.texts[1])) - kept for change in changes if _drops(change))


def _drops(change: _Change) -> bool:
    """Return whether a change leaves out a word outside brackets, or only what is written to it: "회원만", "회원은"."""
    if not change.in_claim:
        return change.is_short and not all(word.bracket for word in change.in_source)
    pair = change.pair
    return pair is not None and key_of(pair[0].text) == key_of(pair[1].text)


_EXCEPT = re.compile(
    r"제외|예외|아닌 한|뺀(?!\w)|빼고|외에는"
    r"|\b(?:except(?: for)?|excluding|unless|other than|apart from|aside from|but not)\b(?P<en>(?: [\w'-]+){1,4})"
)
_LONGEST = 20  # maximum length of an excepted word


def _is_unlimited(claim: Reading, source: Reading) -> bool:
    """Return whether a claim says of all, or of what is excepted, what its source says of some."""
    if claim.denials or _EXCEPT.search(claim.text):
        return False
    if _ONLY.search(source.text) and not _ONLY.search(claim.text):
        return bool(_ALL.search(claim.text)) and not _ALL.search(source.text)
    excepted: set[str] = set()
    for match in _EXCEPT.finditer(source.text):
        before = source.text[max(0, match.start() - _LONGEST) : match.start()].split()
        excepted |= Reading(match["en"] or "".join(before[-1:])).content
    is_excepted = bool(excepted) and excepted <= claim.content <= source.content
    return bool(excepted) and (is_excepted or bool(_ALL.search(claim.text)))


def _changes_number_word(changes: Sequence[_Change]) -> bool:
    """Return whether a number word replaces another: "one", elsewhere usually no number, for "two"."""
    pairs = (one.pair for one in changes if one.pair)
    return any(a.text != b.text and is_number_word(a.text, b.text) for a, b in pairs)


_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w'-]*[a-z]\w*")


def _has_new_name(claim: Reading, around: str, note: str) -> bool:
    """Return whether a claim has a capitalised word that neither the note nor `around`, in lower case, has."""
    names = (name.casefold().removesuffix("'s") for name in _NAME.findall(claim.raw))
    return any(name not in around and name not in note.casefold() for name in names)


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


def _swaps_roles(claim: Reading, source: Reading) -> bool:
    """Return whether two Korean words have swapped their particles; cells have none."""
    if not claim.is_korean or source.raw.startswith("|"):
        return False
    in_source = _cases(source.text)
    in_claim = _cases(claim.text, in_source)
    if bool(_PASSIVE.search(claim.text)) != bool(_PASSIVE.search(source.text)):
        return False
    moved = {
        (case.replace("T", "S"), in_source[word].replace("T", "S"))
        for word, case in in_claim.items()
        if in_source.get(word, case) != case
    }
    is_swapped = any(case != other and (other, case) in moved for case, other in moved)
    return is_swapped and claim.keys[-1:] == source.keys[-1:]


def _cases(text: str, known: Collection[str] = ()) -> dict[str, str]:
    cases: dict[str, str] = {}
    twice: set[str] = set()
    for match in _CASE.finditer(text):
        if match[1] in known or is_particle(match[1], text, match.end(1)):
            twice |= {match[1]} & cases.keys()
            cases[match[1]] = _CASES[match[2]]
    return {word: case for word, case in cases.items() if word not in twice}


_FEW = 2  # words of the sentences around the source
LEAST: Mapping[bool, float] = {True: 0.62, False: 0.77}
"""Scores from which a claim counts as supported, by whether it is Korean; a judge of words has its own."""


def support(
    claim_text: str,
    passage: Passage,
    *,
    title: str = "",
    question: str = "",
    note: str = "",
    asked: Asked | None = None,
) -> Support:
    """Return how a passage supports a claim, given in Markdown with its citations.

    The passage has this `title` and `note`. Numbers of the `question` do not count as added by the claim. `asked`
    completes a short answer; None for a sentence among others.
    """
    claim, source = Reading(without_note_names(claim_text)), Reading(passage.text)
    context = Reading(f"{passage.heading}\n{title}")
    around = f"{source.text}\n{context.text}\n{Reading(question).text}"
    own = len(claim.content & source.content) / len(claim.content) if claim.content else 1.0
    share = _score(claim, source, context, is_terse=passage.is_terse)
    same_matter = own >= _SAME_MATTER
    by_number = number_refusal(claim.text, source.text, around, note, same_matter=same_matter)
    contradictions: list[Contradiction] = []
    if by_form := _contradiction_of_form(claim, source, own):
        contradictions.append(by_form)
    if by_number == "number":
        contradictions.append("number")
    in_table = is_row(passage.said)
    sentence = Reading(passage.said) if passage.lead else source
    # A row may consist of figures and codes only; its header has a language.
    language = source if in_table else sentence
    if claim.is_foreign_to(is_korean=language.is_korean):
        return Support(tuple(contradictions), share, doubtful=True, foreign=True)
    changes = list(_changes_of(claim, source))
    # A short answer is negated if its question is.
    whole = Reading(completed(claim.raw, question)) if asked else claim
    negates = _negates_otherwise(whole, source, own)
    if negates == "contradicts":
        contradictions.append("negation")
    if same_matter:
        rules: dict[Contradiction, bool] = {
            "number": by_number != "number" and _changes_number_word(changes),
            "limit": _is_unlimited(claim, source),
            "polarity": any(are_opposed(*one.texts) for one in changes if one.is_short),
            "roles": _swaps_roles(claim, source),
        }
        contradictions.extend(name for name, found in rules.items() if found)
    keys = {*source.keys, *context.keys, *Reading(question).keys}
    others = claim.content - {*source.keys, *context.keys}
    replaced = substitution(claim, source) or (
        passage.is_terse and _is_of_another_row(claim, passage.said, passage.beside, keys)
    )
    refusals: dict[Refusal, object] = {
        "new_name": _has_new_name(claim, around, note),
        "new_number": by_number == "new_number",
        "other_word": replaced,
        # It says of the source sentence what the sentences around it say.
        "other_sentence": len(others) >= _FEW
        and len(others & set(Reading(passage.near).keys)) >= _FEW,
        "other_limits": negates or _limits_differ(claim, source, changes),
        "other_question": asked
        and asked.is_left_open_by(claim.raw, f"{title}\n{passage.heading}\n{passage.text}"),
    }
    refusal: Refusal | None = next((name for name, found in refusals.items() if found), None)
    sparse = share < LEAST[claim.is_korean]
    return Support(
        tuple(contradictions),
        share,
        doubtful=bool(sparse or contradictions or refusal) or _is_edited(changes, keys),
        sparse=sparse,
        refusal=refusal,
    )


def _score(claim: Reading, source: Reading, context: Reading, *, is_terse: bool) -> float:
    """Return the share of the claim's words that source and context carry, in [0, 1]; content words count twice.

    A word that they lack counts by its similarity to the most similar one, in letters or jamo, from 0.5.
    """
    known = {*source.keys, *context.keys}
    letters = [_decomposed(word.text) for word in (*source.words, *context.words)]
    parts: list[tuple[float, str]] = []
    after_number = False
    for word, key in zip(claim.words, claim.keys, strict=True):
        # The guard compares numbers and their units.
        is_amount = word.is_number or (word.tight and after_number)
        after_number = word.is_number
        if is_amount or key in known:
            parts.append((1.0, key))
        elif any(map(str.isalnum, key)):
            similar = process.extractOne(
                _decomposed(word.text), letters, scorer=fuzz.ratio, score_cutoff=_LEAST_SIMILAR
            )
            parts.append((similar[1] / 100 if similar else 0.0, key))
    # Rows and list items omit the grammar between their words.
    weights = [2 if is_content(key) else not is_terse for _, key in parts]
    carried = sum(w * credit for w, (credit, _) in zip(weights, parts, strict=True))
    return carried / sum(weights) if any(weights) else 1.0


_LEAST_SIMILAR = 50  # percent


@lru_cache(maxsize=16_384)
def _decomposed(word: str) -> str:
    return unicodedata.normalize("NFD", word)
