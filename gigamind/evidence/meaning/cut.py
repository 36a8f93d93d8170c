"""Tells whether a quote was cut so that it says something else than its source: inside a word, or off its negation.

"활성화되어 있습니다" stands in "비활성화되어 있습니다" letter for letter, and "stored in plain text" behind a "never".
In doubt a quote is cut: a longer one is easily given.  It was tuned on `tests/data/quote_cuts.jsonl`.
"""

import re
from typing import Literal

from gigamind.evidence.meaning import clause_en, clause_ko
from gigamind.evidence.meaning.clause import clause_around
from gigamind.evidence.normalize import IGNORABLE
from gigamind.spans import Span

Cut = Literal["word", "number", "negation", "comparison"]

# Marks that show nothing but how a word looks, so that "비**활성화**" is one word.
_UNSEEN_BEHIND = re.compile(f"[*_~`{IGNORABLE}]+$")
_UNSEEN_BEFORE = re.compile(f"^[*_~`{IGNORABLE}]+")
_NEAR = 24  # characters to either side in which a word or a number may go on
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7ff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_IN_NUMBER = re.compile(r"[.,:/\-~‐-―−∼〜～]")
_SIGN = re.compile(r"(?:^|[\s(|])[-−]$")
_TIMES = re.compile(
    r"\s?(?:[만억조천백](?=\s*(?:[\d천백만]|원|명|개|건|달러|유로|회|번|대|부)|\W|$)"
    r"|(?:hundred|thousand|million|billion|trillion)\b|[kKmM]\b)"
)


def cut(text: str, span: Span) -> Cut | None:
    """What the words under a span lost of the word, the number or the clause that they stand in; None when nothing."""
    before, behind = (
        text[max(0, span.start - _NEAR) : span.start],
        text[span.end : span.end + _NEAR],
    )
    words = span.slice(text)
    if found := _begins_inside(before, words) or _ends_inside(words, behind):
        return found
    clause = clause_around(text, span)
    language = clause_ko if clause.is_korean else clause_en
    if language.loses_comparison(clause):
        return "comparison"
    return "negation" if language.loses_negation(clause) else None


def _begins_inside(before: str, words: str) -> Cut | None:
    first = _UNSEEN_BEFORE.sub("", words)[:1]
    last, seen = _last(before)
    if first.isdigit() and (_splits_number(before, words) or _SIGN.search(before)):
        return "number"
    if _joined(last, first, seen=seen) or _is_hyphened(before, words):
        return "word"
    return None


def _ends_inside(words: str, behind: str) -> Cut | None:
    last, _ = _last(words)
    if last.isdigit() and (_splits_number(words, behind) or _TIMES.match(behind)):
        return "number"
    follows = _UNSEEN_BEFORE.sub("", behind)[:1]
    # A Korean word may end before its particle or ending, which `clause_ko` looks at.
    if _LATIN.match(last) and _LATIN.match(follows):
        return "word"
    return "word" if _is_hyphened(words, behind) else None


def _last(text: str) -> tuple[str, bool]:
    """The last character, marks aside, and whether it stands there without one."""
    bare = _UNSEEN_BEHIND.sub("", text)
    return bare[-1:], len(bare) == len(text)


def _joined(last: str, first: str, *, seen: bool) -> bool:
    """Whether two characters are of one word; of Chinese and Japanese, which have no spaces, nobody can tell."""
    scripts = [_script(char) for char in (last, first)]
    return "" not in scripts and (seen or scripts[0] == scripts[1])


def _script(char: str) -> str:
    if char.isdigit():
        return "digit"
    if _HANGUL.match(char):
        return "hangul"
    return "latin" if _LATIN.match(char) else ""


def _splits_number(left: str, right: str) -> bool:
    """Whether digits go on behind a place, at once or behind one mark, as in "1,500", "3.5" and "10~20"."""
    if left[-1:].isdigit():
        rest = right[1:] if _IN_NUMBER.match(right) else right
        return rest[:1].isdigit()
    return bool(_IN_NUMBER.match(left[-1:])) and left[-2:-1].isdigit() and right[:1].isdigit()


def _is_hyphened(left: str, right: str) -> bool:
    """Whether a place is before or behind the hyphen of "non-refundable" or the apostrophe of "can't"."""
    near = left[-2:] + "\n" + right[:2]
    return bool(re.search(r"[A-Za-z](?:[-‐‑'’]\n|\n[-‐‑'’])[A-Za-z]", near))
