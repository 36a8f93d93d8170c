"""Where the text of an expected span stands after its note was edited."""

from gigamind.evidence.align import align
from gigamind.evidence.config import AlignConfig
from gigamind.evidence.result import Aligned
from gigamind.evidence.source import Source
from gigamind.spans import Span

_CONFIG = AlignConfig(max_quote_chars=5_000)  # a label may be a whole section, no model wrote it


def find_again(text: str, note_text: str) -> Span | None:
    """The one place of `text` in a note, verbatim or all but; `None` when it is gone, or stands there twice."""
    found = align(text, Source(note_text, max_chars=len(note_text)), config=_CONFIG)
    if isinstance(found, Aligned) and found.promotable and found.occurrences == 1:
        return found.span
    return None
