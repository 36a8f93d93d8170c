"""Hides from the sentence splitter what looks like the end of a sentence and is none.

The masked text is as long as the text, so spans in one are spans in the other.
"""

import re

from gigamind.judges.search_qa.segments.citations import citations_in

_ENDS = str.maketrans(dict.fromkeys(".!?…。！？\n", "x"))
_QUOTES = '"”’」』'
_STOPS = ".!?。！？"  # the empty text before a bracket at the beginning is in it, too
_MAX_QUOTED = 300  # characters; a mark that stands open for longer was no quotation
_WHOLE = re.compile(
    rf"""
    "[^"\n]{{1,{_MAX_QUOTED}}}" | “[^”\n]{{1,{_MAX_QUOTED}}}” | ‘[^’\n]{{1,{_MAX_QUOTED}}}’
  | 「[^」\n]{{1,{_MAX_QUOTED}}}」 | 『[^』\n]{{1,{_MAX_QUOTED}}}』 | 《[^》\n]{{1,{_MAX_QUOTED}}}》
  | `[^`\n]+` | \[\[[^\[\]\n]+\]\] | \]\([^()\s]+\)
  | \([^()\n]{{1,{_MAX_QUOTED}}}\) | （[^（）\n]{{1,{_MAX_QUOTED}}}）
  | (?:https?://|www\.)[^\s<>()]*[^\s<>().,!?;:]
  | \b(?:Prof|Jr|Sr|Gen|Rep|Sen|Gov|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec
      |pp?|vol|ed|eds|al|est|min|max|avg|dept|tel|ext)
    \.(?=\s+[\da-z]|[,;:)])
  | \b(?:a\.m|p\.m|Ph\.D|M\.Sc|B\.Sc|U\.S|U\.K|E\.U)\.(?!\s+[A-Z가-힣]|\s*$)
  | \b(?:et\ al|No|Art|Ch|Eq|Sec|Fig)\.(?=\s*[\d(])
  | (?<=[\w가-힣])(?:\.{{2,}}|…+)(?=\s*[a-z가-힣])               # a pause, not an end
    """,
    re.VERBOSE,
)
# Syllables that a polite 요 follows: open ones with the vowels of 아, 애, 어, 에, 여, 예, 와, 왜, 워 and 웨.
_OPEN = "".join(
    chr(0xAC00 + 588 * first + 28 * vowel)
    for first in range(19)
    for vowel in (0, 1, 4, 5, 6, 7, 9, 10, 14, 15)
)
_EMOJI = r"[\u2600-\u27bf\u2b50\u2b55\ufe0f\u200d\U0001f000-\U0001faff]"
# Behind an emoji that touches its full stop, or a polite ending, a sentence ends, too.
_EMOJI_END = re.compile(rf"(?:[.!?…。！？]|니다|[가-힣][요죠]){_EMOJI}{{1,12}}(?=\s|$)")
_LOWER_BEHIND = re.compile(r"\s[a-z]")
# A polite Korean ending stands at the end of a sentence even where its full stop is missing.
_POLITE = re.compile(
    rf"(?:니다|(?:(?<=[가-힣])[{_OPEN}]|(?![개가]요)[{_OPEN}]|지|거든|군|걸)요|[가-힣]죠)(?= [가-힣A-Z\d\"'“‘「])"
    r"(?! (?:라고|라는|라며|하고|하며|하는|만|마는|고 |며 |이라))"
)


def mask(text: str) -> str:
    """The text for the splitter: no end inside quotations, brackets, code and abbreviations, no text of citations.

    The text is composed (NFC), as all our patterns are.
    """
    masked = _WHOLE.sub(_without_ends, re.sub(r"\s", " ", text))
    blanks = list(masked)
    for one in citations_in(
        text
    ):  # white space, unless the sentence goes on in it: "[노트 1]에 따르면"
        filler = "x" if one.names else " "
        blanks[one.span.start : one.span.end] = filler * len(one.span)
    masked = _EMOJI_END.sub(_with_last_end, "".join(blanks))
    return _POLITE.sub(_with_end, masked)


def _without_ends(found: re.Match[str]) -> str:
    """A quotation or bracket; the mark before its closing stays, for it may end the sentence around it."""
    whole = found[0]
    body, closing = whole[:-1], whole[-1]
    ends = (
        len(body) > 1
        and body[-1] in ".!?。！？…"
        and not _LOWER_BEHIND.match(found.string, found.end())
    )
    before = found.string[max(0, found.start() - 2) : found.start()].rstrip()[-1:]
    if ends and (closing in _QUOTES or (closing in ")）" and before in _STOPS)):
        return body[:-1].translate(_ENDS) + body[-1] + closing
    return whole.translate(_ENDS)


def _with_last_end(found: re.Match[str]) -> str:
    return found[0][:-1].translate(_ENDS) + "."


def _with_end(found: re.Match[str]) -> str:
    return found[0][:-1] + "."
