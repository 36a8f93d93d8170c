"""Where a text has Markdown markers, as opposed to what a reader sees.

A quote has lost its surroundings, so each rule looks only at a marker's own neighbours and works the same in the
quote and in its source; nothing is paired over a distance, and the whole takes linear time.
"""

import re
from collections.abc import Iterator

from gigamind.spans import Span

_TASK = r"(?:\[[ xX]\][ \t]++)?"
_BULLET = rf">[ \t]?|[-*+][ \t]++{_TASK}|\#{{1,6}}[ \t]++"
# Three digits at most and no number behind: a line that begins "2024. 1. 3." is a date.
_ORDERED = rf"[0-9]{{1,3}}[.)][ \t]++(?![0-9]){_TASK}"
_FENCE = r"(?:`{3,}[^`\n]*+|~{3,}[^\n]*+)$"
_INLINE = r"""
    !?\[\[(?:[^\[\]|\n]*+\|)?                           # the opening of a wikilink, up to its display text
  | \]\]
  | !?\[(?=[^\[\]\n]*+\]\()                             # the opening of a link
  | \]\((?:<[^<>\n]*+>|[^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*)(?:[ \t]++(?:"[^"\n]*+"|'[^'\n]*+'))?[ \t]*+\)
  | `+
  | (?P<emphasis>\*+|_+|~~|==)
"""


def _compiled(prefix: str) -> re.Pattern[str]:
    line = rf"^[ \t]*+(?:(?:(?:{prefix})[ \t]*+)+(?:{_FENCE})?|{_FENCE})"
    return re.compile(f"{line}|{_INLINE}", re.MULTILINE | re.VERBOSE)


_MARKERS = _compiled(_BULLET)
_MARKERS_AND_NUMBERS = _compiled(f"{_BULLET}|{_ORDERED}")


def markers(text: str, *, ordered_lists: bool) -> Iterator[Span]:
    """The ranges of the markers in rising order: headings, quotes, lists, fences, links, code and emphasis.

    The numbers of ordered lists are markers only with `ordered_lists`.
    """
    pattern = _MARKERS_AND_NUMBERS if ordered_lists else _MARKERS
    for match in pattern.finditer(text):
        if match["emphasis"] is None or _emphasises(text, match.start(), match.end()):
            yield Span(match.start(), match.end())


def _emphasises(text: str, start: int, end: int) -> bool:
    """Whether a run of emphasis characters can be markup: `a * b`, `2*3`, `x == 1` and `snake_case` are not."""
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if before.isspace() and after.isspace():
        return False
    if text[start] == "_":
        return not (before.isalnum() and after.isalnum())
    return not (before.isdigit() and after.isdigit())
