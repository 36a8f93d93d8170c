"""Decides whether a located quote proves what it says. Memory and all judges share this rule.

The passage is widened to whole words. All words of the two must be equal, except for the few differences that are
forgiven here, and the rest of the sentence must not negate or limit the quote. Any other difference changes the
statement, so no list of significant words is needed.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise

from rapidfuzz.distance import OSA, Levenshtein, Opcodes

from gigamind.evidence.critical import NEGATION, differences
from gigamind.evidence.normalize import Folding, foldings, foldings_of_quote
from gigamind.evidence.result import Flaw, Loss, Unproven
from gigamind.evidence.stated import stated, why_unstated
from gigamind.evidence.words import ELLIPSIS, Word, is_rest, words
from gigamind.spans import Span
from gigamind.text import goes_on, sentences, unwrapped

_AROUND = 80  # characters on either side by which a window may be extended
_FURTHER = 4  # words by which a fuzzy window is extended, because it may have cut them off
_HANGUL = re.compile("[ㄱ-ㅣ가-힣]*+")
_NAME = re.compile(r"\b[A-Z]\w+")
_YEAR_DIGITS = 4
_NO_UNITS = frozenset(("and", "but", "so", "while", "which"))
_Names = Callable[[], frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Run:
    """Words of a quote and the different words of the source in their place; either may be empty."""

    quoted: Sequence[Word]
    original: Sequence[Word]
    last: bool


def why_unproven(quote: str, span: Span, source: str, *, fuzzy: bool) -> Unproven | None:
    """Return why the words of a quote found at `span` prove nothing; None if they prove what they say.

    A fuzzy window is also tried four words longer: the window with the fewest edits may end before "지 않았다".
    """
    if unstated := why_unstated(source, span):
        return Unproven(unstated)
    start, end = _region(span, source)
    # The mark in front keeps the start of the region from being read as the start of a line.
    mark = "" if start == 0 or source[start - 1] == "\n" else "\0"
    _, quoted, quoted_bare = foldings_of_quote(quote)
    _, around, around_bare = foldings(mark + source[start:end])
    pairs = [(quoted, around)]
    # The numbers of list items may be absent on one side. If both dropped them, a changed number would go unnoticed.
    if around_bare.text != around.text:
        pairs.append((quoted, around_bare))
    elif quoted_bare.text != quoted.text:
        pairs.append((quoted_bare, around))
    best: Unproven | None = None
    for quote_folding, other in pairs:
        quoted_words = words(quote_folding.text)
        unproven = _Comparison(
            quote=quote,
            quoted=quoted_words,
            questions=quote_folding.text.count("?", quoted_words[0].start if quoted_words else 0),
            folding=other,
            around=words(other.text),
            base=start - len(mark),
            span=span,
            source=source,
            fuzzy=fuzzy,
        ).why()
        if unproven is None:
            return None
        best = best or unproven
    return best


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The words of a quote and those around a span of its source; `base` is where `folding` begins in the source."""

    quote: str
    quoted: list[Word]
    questions: int
    folding: Folding
    around: list[Word]
    base: int
    span: Span
    source: str
    fuzzy: bool

    def why(self) -> Unproven | None:
        first, last = self._window()
        unproven = self._between(first, last)
        # Two words of the quote that occur nowhere around it, even inside others; one may be a typo.
        around = "".join(word.whole for word in self.around)
        foreign = (w.text not in around and w.text != ELLIPSIS for w in self.quoted)
        if unproven is None or not self.fuzzy or (any(foreign) and any(foreign)):
            return unproven
        further = self._trimmed(max(0, first - _FURTHER), min(len(self.around), last + _FURTHER))
        if further == (first, last) or self._between(*further, detailed=False):
            return unproven
        return None

    def _window(self) -> tuple[int, int]:
        inside = Span(self.span.start - self.base, self.span.end - self.base)
        start, end = self.folding.range(inside)
        words_around = self.around
        first = bisect_right(words_around, start, key=lambda word: word.end)
        last = bisect_left(words_around, end, key=lambda word: word.start)
        if first >= last:
            return 0, 0
        while first > 0 and words_around[first].tight:
            first -= 1
        while last < len(words_around) and words_around[last].tight:
            last += 1
        return first, last

    def _trimmed(self, first: int, last: int) -> tuple[int, int]:
        runs = _opcodes(self.quoted, self.around[first:last])
        if runs and runs[0].tag == "insert":
            first += runs[0].dest_end
        if len(runs) > 1 and runs[-1].tag == "insert":
            last -= runs[-1].dest_end - runs[-1].dest_start
        return first, last

    def _between(self, first: int, last: int, *, detailed: bool = True) -> Unproven | None:
        """Return how the quote differs from the words `first` to `last`; any reason unless `detailed`."""
        original = self.around[first:last]
        if not original and not self.quoted:
            return None
        if not original or not self.quoted:
            return _changed(self.quoted, original, frozenset)
        inside = self.folding.span(original[0].start, original[-1].end)
        span = Span(max(0, inside.start + self.base), inside.end + self.base)

        @cache  # few differences need the names
        def names() -> frozenset[str]:
            both = f"{self.quote} {span.slice(self.source)}"
            return frozenset(name.lower() for name in _NAME.findall(both))

        if unproven := _difference(self.quoted, original, names, detailed=detailed):
            return unproven if self.fuzzy else replace(unproven, reason="cut_word")
        behind = self.around[last].start if last < len(self.around) else None
        if self.questions != self.folding.text[original[0].start : behind].count("?"):
            return Unproven("question")
        if self._loses_unit(last):
            return Unproven("cut_word", original[-1].whole, self.around[last].whole)
        loss = _context_loss(stated(self.source), span)
        return Unproven(loss) if loss else None

    def _loses_unit(self, last: int) -> bool:
        """Return whether the quote ends with a number that is no year and lost its unit, such as days or millions."""
        number, behind = self.around[last - 1], self.around[last : last + 1]
        if not number.text.isdigit() or len(number.text) == _YEAR_DIGITS or not behind:
            return False
        gap = self.folding.text[number.end : behind[0].start]
        unit = behind[0].text
        return gap == " " and unit.isascii() and unit.isalpha() and unit not in _NO_UNITS


def _region(span: Span, source: str) -> tuple[int, int]:
    """Return the span with as many whole words around it as a window may need."""
    start, end = max(0, span.start - _AROUND), min(len(source), span.end + _AROUND)
    while 0 < start < span.start and not source[start - 1].isspace():
        start += 1
    while span.end < end < len(source) and not source[end].isspace():
        end -= 1
    if start == span.start:
        start = max(0, span.start - _AROUND)
    return start, end if end > span.end else min(len(source), span.end + _AROUND)


def _opcodes(quoted: Sequence[Word], original: Sequence[Word]) -> Opcodes:
    return Levenshtein.opcodes([w.text for w in quoted], [w.text for w in original])


def _difference(
    quoted: Sequence[Word], original: Sequence[Word], names: _Names, *, detailed: bool
) -> Unproven | None:
    """Return the first difference of two word lists that is not forgiven; any difference unless `detailed`."""
    pairs: list[tuple[Word, Word]] = []
    changes: list[_Run] = []
    typos = 0
    for run in _runs(quoted, original, pairs):
        if len(changes) > 1:  # the first is reported, and whether it is the only one
            break
        if _is_forgiven(run, original):
            continue
        if _is_typo(run, original, names):
            typos += 1
            pairs.append((run.quoted[0], run.original[0]))
        elif not detailed:
            return Unproven("wording")
        else:
            changes.append(run)
    if changes:
        first = changes[0]
        return _changed(first.quoted, first.original, names, alone=len(changes) == 1 and not typos)
    if typos > 1:
        return Unproven("wording")
    for quoted_word, other in [] if _same_particles(pairs) else pairs:
        if quoted_word.particle != other.particle:
            return Unproven("wording", quoted_word.whole, other.whole)
    return None


def _runs(
    quoted: Sequence[Word], original: Sequence[Word], pairs: list[tuple[Word, Word]]
) -> Iterator[_Run]:
    for equal, group in groupby(_opcodes(quoted, original), lambda code: code.tag == "equal"):
        codes = list(group)
        left = quoted[codes[0].src_start : codes[-1].src_end]
        right = original[codes[0].dest_start : codes[-1].dest_end]
        if equal:
            pairs += zip(left, right, strict=True)
        else:
            yield _Run(left, right, codes[-1].dest_end == len(original))


def _is_forgiven(run: _Run, original: Sequence[Word]) -> bool:
    quoted, given = run.quoted, run.original
    if not quoted:
        if run.last and len(given) == 1 and given[0].tight and is_rest("-", "-" + given[0].whole):
            return True
        numbers = {word.bracket for word in given}
        whole = 0 not in numbers and len(given) == sum(w.bracket in numbers for w in original)
        return whole and _may_be_left_out(given)
    if not given:
        return all(word.text == ELLIPSIS for word in quoted)
    if len(quoted) == 1 and quoted[0].text == ELLIPSIS:
        # An ellipsis may replace part of a sentence, or whole sentences.
        before = next((left for left, right in pairwise(original) if right is given[0]), None)
        begins = before is None or before.ends
        inside = not begins and not any(word.ends for word in given)
        return (inside or (begins and given[-1].ends)) and _may_be_left_out(given)
    if run.last and len(quoted) == len(given) == 1 and is_rest(quoted[0].whole, given[0].whole):
        return True
    return _joined(quoted) == _joined(given) is not None


def _is_typo(run: _Run, original: Sequence[Word], names: _Names) -> bool:
    if len(run.quoted) != 1 or len(run.original) != 1:
        return False
    quoted_word, other = run.quoted[0], run.original[0]
    if not _is_keystroke(quoted_word.text, other.text):  # saves collecting the names
        return False
    return is_typo(
        quoted_word, other, names() | {word.text for word in original if word is not other}
    )


def _joined(group: Sequence[Word]) -> str | None:
    text = "".join(word.whole for word in group)
    return text if _HANGUL.fullmatch(text) else None


def _changed(
    quoted: Sequence[Word], original: Sequence[Word], names: _Names, *, alone: bool = False
) -> Unproven:
    quoted_text, other = (" ".join(word.whole for word in group) for group in (quoted, original))
    differing = differences(quoted_text, other)
    reason: Flaw = "wording"
    if differing:
        reason = differing[0]
    elif any(word.text in names() for word in (*quoted, *original)):
        reason = "name"
    numbers = any(word.is_number for word in (*quoted, *original))
    single = alone and not numbers and len(quoted) == len(original) == 1
    return Unproven(reason, quoted_text, other, single and _is_keystroke(quoted_text, other))


_EXCHANGED = frozenset("은는이가")
_ADDED = frozenset("은는이가을를의")
_DOUBLED = re.compile(r"(.)\1")


def _same_particles(pairs: Sequence[tuple[Word, Word]]) -> bool:
    """Return whether the particles of words that are otherwise equal, in quote and source, mean the same.

    Any may be omitted. Only one may be added or change between topic and subject: two might swap subject and object.
    """
    changed = [(q.particle, s.particle) for q, s in pairs if q.particle != s.particle]
    if all(original.startswith(quoted) for quoted, original in changed):
        return True
    if len(changed) > 1:
        return False
    quoted, original = changed[0]
    return quoted in _ADDED if not original else {quoted, original} <= _EXCHANGED


# Minimum lengths in letters and in syllables of a stem, and the letters and syllables at both ends (prefixes, endings)
# that must be equal. With these values, no two of 4 201 words in the vault and half of XQuAD are confused.
_SLIP, _LONG, _LONG_HANGUL = 6, 11, 5
_HEAD, _TAIL, _TAIL_HANGUL = 2, 3, 2


def is_typo(quoted: Word, original: Word, known: AbstractSet[str]) -> bool:
    """Return whether two long words differ by one keystroke inside them, and neither is a known name or other word."""
    word, other = quoted.text, original.text
    is_known = quoted.is_number or original.is_number or {word, other} & known
    if is_known or not _is_keystroke(word, other):
        return False
    if not word.isascii():
        ends = (word[0], word[-_TAIL_HANGUL:]) == (other[0], other[-_TAIL_HANGUL:])
        return ends and len(word) == len(other) >= _LONG_HANGUL
    # A doubled letter, or two swapped ones, seldom produce another word.
    is_doubled = _DOUBLED.sub(r"\1", word) == _DOUBLED.sub(r"\1", other)
    least = _SLIP if is_doubled or sorted(word) == sorted(other) else _LONG
    ends = (word[:_HEAD], word[-_TAIL:]) == (other[:_HEAD], other[-_TAIL:])
    return ends and min(len(word), len(other)) >= least


def _is_keystroke(word: str, other: str) -> bool:
    """Return whether two words differ by one letter or jamo, or by two swapped neighbours."""
    if word.isascii() != other.isascii():
        return False
    left, right = (unicodedata.normalize("NFD", text) for text in (word, other))
    return OSA.distance(left, right, score_cutoff=1) == 1


# Words that limit a statement: brackets and "..." must not leave them out.
_LIMIT = re.compile(
    r"만(?!\w)|만이|까지|부터|밖에|외에|제외|(?<=\w)\s?(?:이상|이하|미만|초과|이전|이후)|한정|경우|조건|거짓|(?<!\w)단(?!\w)|[으지]면(?!\w)"
    r"|\b(?:only|just|solely|except|excluding|unless|if|until|till|from|before|after|must|may|might|can|could|should|would"
    r"|at least|at most|most of|more|less|fewer|than|false|untrue|hardly|rarely|seldom|nearly|almost|nobody|nothing)\b"
)


def _may_be_left_out(omitted: Sequence[Word]) -> bool:
    """Return whether words neither negate nor limit anything."""
    text = " ".join(word.whole for word in omitted)
    return not (NEGATION.search(text) or _LIMIT.search(text))


# What a quote lost when it was cut from its sentence: a negation, a limit or a question mark, such as "stored in plain
# text" after "never", or "확인되" before "지 않았다". In doubt it counts as cut: a longer quote is easily given.
_REACH = 600  # characters on either side; longer sentences are not readable
_NEGATABLE = 2  # the first characters of a negation that a quote may still hold: "지 " of "지 말고"
_ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）")
_LIMITED_ASIDE = re.compile(r"\b(?:only|except|excluding|unless)\b|제외|한정|[가-힣]만(?!\w)")
_TAG = re.compile(r"<[^<>\n]{1,100}>")  # markup only
_ASKS = re.compile(
    r"[?？][\"'”’」』)*_\s]*$|(?:까|나요|[인은는]가요?|(?<=하)냐|느냐)[\"'”’」』)*_\s]*$"
)

_HARMLESS = re.compile(
    r"없이|(?:뿐|뿐만|만)(?:이)? ?아니라|지 ?않으면 안|않을 수 없|못지 ?않|\bnot (?:only|just|merely)\b|\bno matter\b"
)
# Words other than negations that reverse the meaning of what they describe.
_REFUSES = re.compile(
    r"거부|거절|반려|제외|차단|실패|미포함|취소|무효|부결|무산|꺼짐|아니요|거짓|틀[렸린리]|오해|사실과 다|어렵|힘들"
    r"|\b(?:forbidden|prohibited|banned|refus\w+|fail(?:s|ed)?|unable|false|untrue|myth|wrong|den(?:y|ies|ied)"
    r"|instead of|rather than|prevent\w*|doubt\w*|hardly|rarely|seldom|barely|nobody|nothing|off|disabled)\b"
)
_LIMITED_BEFORE = re.compile(
    r"\b(?:only|just|than|at (?:least|most)|up to|over|under|above|below|nearly|almost|until|before|except|without)\s+$"
    r"|(?<!\w)(?:최대|최소|거의|오직|단지|약|대략|주로|대부분|보통|가끔|일부)\s+$"
)
_LIMITED_BEHIND = re.compile(
    r"\s?(?:이상|이하|초과|미만|이전|이후|제외|외에|만(?!\w)|밖에|뿐|넘|못 ?되)"
    r"|\W{0,3}(?:only|except|excluding|unless|without|(?:\w+ )?or (?:more|less|fewer|above|below|older|younger|later"
    r"|earlier|higher|lower))\b|\s?(?:hundred|thousand|million|billion|trillion|[만억조]\b)"
)
# Clause boundaries. Commas, colons and table cells are boundaries only beside a statement: "환불:" and "Remote work,
# even on Fridays," merely name the subject of what follows.
_CONNECTIVE = (
    r"(?:(?<![다라냐자])고(?! ?[있싶계])|며|면서|지만|으나|[는은인한]데|므로|니까|[하되]나|[이하되]니|[아어해]서)"
    r"(?=[\s,]|$)"
)
_BREAK_BEHIND = re.compile(
    rf"[;—–]|{_CONNECTIVE}"
    r"|\b(?:and|or|but|however|whereas|while|although|though|because|since|if|when|which|who|so|otherwise)\b"
)
_BREAK_BEFORE = re.compile(
    r"[;—–]|, (?:and|so|which|who|while)\b|\b(?:but|however|whereas|although|though|because)\b"
)
_BREAK_OF_VALUES = re.compile(r"[,:|]|\band\b")
_KEY = re.compile(r"[:|][-*_`\s]*$")
_FINITE = re.compile(r"(?:다|요|죠|[음함됨임])$")
_CONNECTED = re.compile(rf"{_CONNECTIVE},?$|\b(?:but|while|whereas|although|because),?$")
_VALUE = re.compile(r"\w[^|:\w]*+[|:][^|:\w]*+\w")
_IN_ROW = re.compile(r"[^\s|:*-][\s:*-]*+\|[\s*_`]*$")
_KOREAN_NOT = re.compile(r"(?<!\w)[안못]\s+[*_`]*$")


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question, which states nothing."""
    return bool(_ASKS.search(sentence))


def _context_loss(text: str, span: Span) -> Loss | None:
    """Return what the rest of the sentences around a span of whole words changes about its meaning; None if nothing."""
    start, end = _lines(text, span)
    near = unwrapped(text[start:end])
    first, last = span.start - start, span.end - start
    whole = _sentences(near, first, last)
    head, tail = near[whole.start : first], near[last : whole.end]
    quote = _plain(near[first:last]).rstrip(" \t*_`\"'")
    aside = _ASIDE.match(_plain(tail).lstrip())
    if aside and _LIMITED_ASIDE.search(aside[0]):
        return "cut_limit"
    head, tail = (_ASIDE.sub(" ", _plain(part)) for part in (head, tail))
    if re.search(r"\w", _TAG.sub("", tail)) and is_question(tail):
        return "question"
    if _LIMITED_BEFORE.search(head) or _LIMITED_BEHIND.match(tail):
        return "cut_limit"
    is_negated = _negated_before(head, quote) or _negated_behind(head, quote, tail)
    return "cut_negation" if is_negated else None


def sentences_around(text: str, span: Span) -> Span:
    """Return the span of the whole sentences that a span touches, across line wraps."""
    start, end = _lines(text, span)
    whole = _sentences(unwrapped(text[start:end]), span.start - start, span.end - start)
    return Span(start + whole.start, start + whole.end)


def _sentences(near: str, first: int, last: int) -> Span:
    begin, end = 0, len(near)
    for sentence in sentences(near):
        if sentence.start <= first < sentence.end:
            begin = sentence.start
        if sentence.start < last <= sentence.end:
            end = sentence.end
    return Span(begin, end)


def _negated_before(head: str, quote: str) -> bool:
    hangul = sum("가" <= char <= "힣" for char in head + quote)
    if 2 * hangul >= sum(char.isascii() and char.isalpha() for char in head + quote):
        key = _KEY.search(head)
        if key is None or _FINITE.search(quote):
            return bool(_KOREAN_NOT.search(head))
        return bool(NEGATION.search(re.split(r"[|:]", head[: key.start()])[-1]))
    breaks = [*_BREAK_BEFORE.finditer(head)]
    if _states(quote):
        breaks += _BREAK_OF_VALUES.finditer(head)
    return _denies(head[max((match.end() for match in breaks), default=0) :])


def _negated_behind(head: str, quote: str, tail: str) -> bool:
    goes_on = re.match(r"\s*[있싶계]", tail)
    if (_CONNECTED.search(quote) and not goes_on) or (
        _FINITE.search(quote) and not tail[:1].isalnum()
    ):
        return False
    breaks = [*_BREAK_BEHIND.finditer(tail)]
    if _states(quote) or _IN_ROW.search(head):
        breaks += _BREAK_OF_VALUES.finditer(tail)
    return _denies(
        tail[: min((match.start() for match in breaks), default=None)], quote[-_NEGATABLE:]
    )


def _states(quote: str) -> bool:
    return any(map(str.isdigit, quote)) or bool(_VALUE.search(quote))


def _denies(rest: str, before: str = "") -> bool:
    """Return whether words negate; the end of `before` may be the start of the negation: 걸지 | 말고."""
    bare = _HARMLESS.sub(" ", before + rest)
    ends = [match.end() for match in NEGATION.finditer(bare)]
    return max(ends, default=0) > len(before) or bool(_REFUSES.search(bare, len(before)))


def _plain(text: str) -> str:
    return Folding.visible(text).text


def _lines(text: str, span: Span) -> tuple[int, int]:
    least, most = max(0, span.start - _REACH), min(len(text), span.end + _REACH)
    start = max(least, text.rfind("\n", least, span.start) + 1)
    end = text.find("\n", span.end, most)
    end = most if end < 0 else end
    while start > least:
        before = max(least, text.rfind("\n", least, start - 1) + 1)
        if not goes_on(text[before : start - 1], text[start:end]):
            break
        start = before
    while end < most:
        behind = text.find("\n", end + 1, most)
        behind = most if behind < 0 else behind
        if not goes_on(text[start:end].rpartition("\n")[2], text[end + 1 : behind]):
            break
        end = behind
    return start, end
