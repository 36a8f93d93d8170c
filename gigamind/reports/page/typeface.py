"""Fonts of the figures.

SVG keeps text as text, and the reader's browser has the fonts.  PNG is drawn here: with DejaVu Sans, which matplotlib
brings and which has no Hangul, and behind it the first Korean font that this machine has, if any.
"""

# matplotlib's own types leave every **kwargs unknown.
# pyright: reportUnknownMemberType=false

import functools
import unicodedata
from pathlib import Path

KOREAN_FAMILIES = (
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "Noto Sans KR",
    "Noto Sans CJK KR",
    "NanumGothic",
)
_KOREAN_FILES = ("NotoSansCJK-Regular", "NotoSansKR", "NanumGothic", "malgun", "AppleSDGothicNeo")
_LATIN = "DejaVu Sans"


@functools.cache
def png_families() -> tuple[str, ...]:
    """Families to draw with, in order.

    Font files are looked for on disk: matplotlib's own list is a cache, which misses fonts that were installed later.
    """
    from matplotlib import font_manager

    found = {Path(path).stem: path for path in font_manager.findSystemFonts()}
    for name in _KOREAN_FILES:
        for stem in sorted(found):
            if stem.lower().startswith(name.lower()):
                font_manager.fontManager.addfont(found[stem])
                family = font_manager.FontProperties(fname=found[stem]).get_name()
                return (_LATIN, family)
    return (_LATIN,)


def can_draw(text: str) -> bool:
    """Whether the fonts of `png_families` have every letter of `text`."""
    from matplotlib import font_manager

    fonts = [
        font_manager.get_font(font_manager.findfont(family, fallback_to_default=False))
        for family in png_families()
    ]
    return all(any(font.get_char_index(ord(char)) for font in fonts) for char in text)


def columns(text: str) -> int:
    """Width in half-width columns; Hangul takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def shortened(text: str, width: int) -> str:
    """At most `width` columns, an ellipsis at the end where it was cut."""
    if columns(text) <= width:
        return text
    while columns(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"
