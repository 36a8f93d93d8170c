"""Links that could be made, and what is known of them."""

import re

from gigamind.linking.confidence import Features
from gigamind.linking.suggest import LinkSuggestion
from gigamind.spans import Span
from gigamind.vault.notes import Note

PLAIN = Features(
    link_probability=0.5,
    commonness=1.0,
    kind="title",
    linked_notes=1,
    saying_notes=1,
    chars=5,
    words=1,
    spelled_as_name=False,
    names_in_note=1,
    linked_back=False,
    centrality=1.0,
)


def suggestion_at(note: Note, span: Span, target: str) -> LinkSuggestion:
    """A suggestion to link that part of a note."""
    return LinkSuggestion(
        anchor=span.slice(note.text),
        span=span,
        target=target,
        target_title=target,
        confidence=0.5,
        reason="",
        context="",
        features=PLAIN,
    )


def suggestions_of(note: Note, anchor: str, target: str) -> list[LinkSuggestion]:
    """The same for every place where the words stand, whatever they stand in."""
    return [
        suggestion_at(note, Span(*found.span()), target)
        for found in re.finditer(re.escape(anchor), note.text)
    ]
