"""Learn the surroundings of links from a vault: the words before and after them, and the start of their line.

They differ by vault and language, so nothing is listed: links of the vault are compared with unlinked names.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import log
from typing import NamedTuple

from gigamind.spans import Span

_REACH = 60  # code points on either side, within the line
_BESIDE, _NEAR = 3, 8  # words on either side
_SMOOTHING = 2.0  # pseudo-counts of links and unlinked names added to every word
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_MARKUP = re.compile(r"\]\([^)\n]{0,200}\)|\[\[|\]\]|\[|(?<=\[\[)[^|\]\n]{0,200}\|")
_LIST = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
_PLACES = ""  # no sign is empty
_HANGUL_KEPT = 2  # syllables of a Hangul word: 참고하세요, 참고합니다 and 참고 are equal


class Around(NamedTuple):
    """Surroundings of a place: adjacent words with their side, and all near words with the kind of line."""

    beside: frozenset[str]
    near: frozenset[str]


def around(text: str, span: Span) -> Around:
    """Return the surroundings of `text[span]`, without brackets of links."""
    line = text.rfind("\n", 0, span.start) + 1
    begin = max(line, span.start - _REACH)
    stop = text.find("\n", span.end, span.end + _REACH)
    left = _words(text[begin : span.start])
    right = _words(text[span.end : stop if stop >= 0 else span.end + _REACH])
    beside = {f"<{min(i, 1)} {word}" for i, word in enumerate(left[: -_BESIDE - 1 : -1])}
    beside |= {f">{min(i, 2)} {word}" for i, word in enumerate(right[:_BESIDE])}
    beside |= ({"<"} if not left else set()) | ({">"} if not right else set())
    kind = "list" if _LIST.match(text, line) else "table" if text[line : line + 1] == "|" else ""
    return Around(frozenset(beside), frozenset((*left[-_NEAR:], *right[:_NEAR], f"= {kind}")))


def _words(text: str) -> list[str]:
    bare = _MARKUP.sub("", text) if "[" in text or "]" in text else text
    words = _WORD.findall(bare.lower())
    return [word[:_HANGUL_KEPT] if "가" <= word[0] <= "힣" else word for word in words]


class Cues:
    """Scores how much a place resembles the surroundings of links rather than of unlinked names, each by path."""

    def __init__(
        self, links: Mapping[str, Iterable[Around]], plain: Mapping[str, Iterable[Around]]
    ) -> None:
        self._links, self._plain = _by_note(links), _by_note(plain)
        self._all_links = sum(self._links.values(), Counter[str]())
        self._all_plain = sum(self._plain.values(), Counter[str]())

    def of(self, note: str) -> Callable[[Around], tuple[float, float]]:
        """Return a function that rates places by *other* notes: log odds of a link, for adjacent and near words."""
        links, plain = (of.get(note, Counter[str]()) for of in (self._links, self._plain))
        n_links = self._all_links[_PLACES] - links[_PLACES]
        n_plain = self._all_plain[_PLACES] - plain[_PLACES]
        share = (n_links + 1) / (n_links + n_plain + 2)
        prior = log(share / (1 - share))

        @cache  # a note repeats its words
        def odds(sign: str) -> float:
            yes = self._all_links[sign] - links[sign] + 2 * _SMOOTHING * share
            no = self._all_plain[sign] - plain[sign] + 2 * _SMOOTHING * (1 - share)
            return log(yes / no) - prior

        # sorted, because floating-point sums depend on the order
        return lambda place: (
            sum(map(odds, sorted(place.beside))),
            sum(map(odds, sorted(place.near))),
        )


def _by_note(places: Mapping[str, Iterable[Around]]) -> dict[str, Counter[str]]:
    """Return how many links, or unlinked names, have each sign around them, and under `_PLACES` how many there are."""
    return {
        note: Counter(sign for at in of_note for sign in (*at.beside, *at.near, _PLACES))
        for note, of_note in places.items()
    }
