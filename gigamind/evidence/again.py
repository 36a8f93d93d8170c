"""Relocates a text in a note that was edited since, or that a system shows in its own format."""

from functools import lru_cache

from gigamind.spans import Span

_MOST_CHARS = 5_000  # characters; a label may be a whole section


@lru_cache(maxsize=20_000)  # a search returns the same texts for many queries
def find_again(text: str, note_text: str) -> Span | None:
    """Return the only place of `text` in a note, verbatim or nearly so; None if it is missing or occurs twice."""
    # Imported here because it takes about 0.05 s, which most runs do not need.
    from gigamind.evidence.align import Source, align
    from gigamind.evidence.result import Aligned
    from gigamind.evidence.schema import AlignConfig

    config = AlignConfig(max_quote_chars=_MOST_CHARS)
    alignment = align(text, Source(note_text, max_chars=len(note_text)), config=config)
    if (
        isinstance(alignment, Aligned)
        and (alignment.promotable or alignment.method != "fuzzy")
        and alignment.occurrences == 1
    ):
        return alignment.span
    return None
