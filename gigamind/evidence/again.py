"""Finds a text again in a note that may have changed since, or that a system shows in its own way."""

from gigamind.spans import Span

_MOST_CHARS = 5_000  # a label may be a whole section, no model wrote it


def find_again(text: str, note_text: str) -> Span | None:
    """The one place of `text` in a note, verbatim or all but; `None` when it is gone, or stands there twice."""
    # The aligner costs a run whose labels all stand where they say twentieths of a second.
    from gigamind.evidence.align import align
    from gigamind.evidence.result import AlignConfig, Aligned
    from gigamind.evidence.source import Source

    config = AlignConfig(max_quote_chars=_MOST_CHARS)
    alignment = align(text, Source(note_text, max_chars=len(note_text)), config=config)
    if (
        isinstance(alignment, Aligned)
        and (alignment.promotable or alignment.method != "fuzzy")
        and alignment.occurrences == 1
    ):
        return alignment.span
    return None
