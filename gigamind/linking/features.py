"""The features of a place of a note and a note that it may mean."""

from dataclasses import dataclass
from typing import Literal

from gigamind.spans import Span

NameKind = Literal["title", "alias", "heading", "text"]
"""Kind of name."""

NAME_KINDS: tuple[NameKind, ...] = ("title", "alias", "heading", "text")  # the strongest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Features that names and phrases share.

    Attributes:
        chars: of the anchor, folded.
        words: of the anchor.
        occurrence: 1 for the first occurrence of the words in the note.
        names_in_note: notes named in the text, at least 1; of many names a person links few.
        cue_beside: log odds of a link given the adjacent words, from the vault's own links; 0 is neutral.
        cue_near: the same for all near words and the kind of line.
        words_shared: tf-idf cosine of the paragraph around the anchor and the target, in [0, 1].
        words_shared_by_notes: the same for the whole note and the target.
        neighbours: ln(1 + Adamic-Adar) of shared links of the two notes, from 0.
        folders_between: steps from the note's folder to the target's.
        linked: whether the note links to the target elsewhere.
        linked_back: whether the target links to the note.
        centrality: of the target in the link graph, in (0, 1].
    """

    chars: int
    words: int
    occurrence: int
    names_in_note: int
    cue_beside: float
    cue_near: float
    words_shared: float
    words_shared_by_notes: float
    neighbours: float
    folders_between: int
    linked: bool
    linked_back: bool
    centrality: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFeatures(Features):
    """Features of a place that contains a name of the target.

    Attributes:
        link_probability: of the anchor, in (0, 1).
        commonness: of the target for this anchor, in (0, 1].
        kind: kind of name.
        linked_notes: other notes in which the anchor is a link.
        saying_notes: other notes that mention it, linked or not, except the target, which cannot link to itself.
        spelled_as_name: whether it is spelled exactly like the target's name, with a capital in Latin script.
    """

    link_probability: float
    commonness: float
    kind: NameKind
    linked_notes: int
    saying_notes: int
    spelled_as_name: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantFeatures(Features):
    """Features of a phrase that means the target without containing a name of it.

    Attributes:
        name_cosine: of the phrase and the target's nearest name, in [-1, 1].
        beginning_cosine: of the phrase and the beginning of the target.
        lead: difference of the sum of both to that of the next note, from 0.
        note_cosine: of the beginnings of both notes.
        overlap: share of distinctive words that the phrase and that name have in common, in [0, 1].
        passage: the nearer of name and beginning.
    """

    name_cosine: float
    beginning_cosine: float
    lead: float
    note_cosine: float
    overlap: float
    passage: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place of a note and a note that it may mean."""

    span: Span
    target: str
    features: Features
