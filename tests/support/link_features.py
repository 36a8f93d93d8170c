"""Links that could be made, and what is known of them."""

import re

from gigamind.linking.features import MeantFeatures, NamedFeatures
from gigamind.linking.habits import load_weights
from gigamind.linking.suggest import LinkSuggestion
from gigamind.spans import Span
from gigamind.vault.notes import Note

_OF_BOTH = {
    "chars": 5, "words": 1, "occurrence": 1, "names_in_note": 1, "words_shared": 0.0,
    "words_shared_by_notes": 0.0, "neighbours": 0.0, "folders_between": 0, "linked": False,
    "linked_back": False, "centrality": 1.0,
}  # fmt: skip
PLAIN = NamedFeatures(
    **_OF_BOTH, link_probability=0.5, commonness=1.0, kind="title", linked_notes=1, saying_notes=1,
    spelled_as_name=False,
)  # fmt: skip
MEANT = MeantFeatures(
    **_OF_BOTH, name_cosine=0.5, beginning_cosine=0.25, lead=0.1, note_cosine=0.0, overlap=0.0,
    passage="leave",
)  # fmt: skip


def suggestion_at(note: Note, span: Span, target: str) -> LinkSuggestion:
    """A suggestion to link that part of a note."""
    return LinkSuggestion(
        anchor=span.slice(note.text), span=span, target=target, target_title=target, confidence=0.5,
        scores=load_weights().scores(PLAIN), reason="", context="", features=PLAIN,
    )  # fmt: skip


def suggestions_of(note: Note, anchor: str, target: str) -> list[LinkSuggestion]:
    """The same for every place where the words stand, whatever they stand in."""
    return [
        suggestion_at(note, Span(*found.span()), target)
        for found in re.finditer(re.escape(anchor), note.text)
    ]
