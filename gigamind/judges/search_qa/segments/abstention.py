"""Whether a sentence of an answer says that the notes do not tell.  In doubt it does not: then it is a claim."""

import re

from gigamind.judges.search_qa.segments.abstention_en import says_nothing_en
from gigamind.judges.search_qa.segments.abstention_ko import says_nothing_ko

_AROUND = re.compile(r"^[^\w]+|[^\w]+$")
_HANGUL = re.compile(r"[가-힣]")
_MAX_CHARS = 300  # the patterns take time that grows faster than the sentence


def abstains(text: str) -> bool:
    """Whether a sentence says that the notes do not tell, and nothing besides."""
    if len(text) > _MAX_CHARS:
        return False
    bare = _AROUND.sub("", text.replace("**", ""))
    if _HANGUL.search(bare) and says_nothing_ko(bare):
        return True
    return says_nothing_en(bare)
