"""What is known of one place of a note and one note that it may mean, each thing for itself."""

from dataclasses import dataclass
from typing import Literal

from gigamind.spans import Span

NameKind = Literal["title", "alias", "heading", "text"]
"""How words name a note."""

NAME_KINDS: tuple[NameKind, ...] = ("title", "alias", "heading", "text")  # the strongest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What names and phrases have in common.

    Attributes:
        chars: of the anchor, folded.
        words: of the anchor.
        occurrence: 1 where the note says the words for the first time.
        names_in_note: notes that are named in the text, at least 1: of many names a person links few.
        cue_beside: log odds that a link stands between these words, by the vault's own links; 0 says nothing.
        cue_near: the same of all words near it and of the kind of line.
        words_shared: tf-idf cosine of the paragraph around the anchor and the target, in [0, 1].
        words_shared_by_notes: of the whole note and the target.
        neighbours: ln(1 + Adamic-Adar) of the links that the two notes share, from 0.
        folders_between: steps from the note's folder to the target's.
        linked: the note links to the target elsewhere.
        linked_back: the target links to the note.
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
    """Of a place that says a name of the target.

    Attributes:
        link_probability: of the anchor, in (0, 1).
        commonness: of the target for this anchor, in (0, 1].
        kind: how the anchor names the target.
        linked_notes: other notes in which the anchor is a link.
        saying_notes: other notes that say it, linked or not; the target, which cannot link to itself, is none.
        spelled_as_name: it stands just as the target calls itself, and in Latin letters with a capital.
    """

    link_probability: float
    commonness: float
    kind: NameKind
    linked_notes: int
    saying_notes: int
    spelled_as_name: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantFeatures(Features):
    """Of a phrase that means the target without saying a name of it.

    Attributes:
        name_cosine: of the phrase and the target's nearest name, in [-1, 1].
        beginning_cosine: of the phrase and the beginning of the target.
        lead: by which the sum of both is above the next note's, from 0.
        note_cosine: of the beginnings of both notes.
        overlap: share of telling words that the phrase and that name have in common, in [0, 1].
        passage: the name or the beginning that is nearer.
    """

    name_cosine: float
    beginning_cosine: float
    lead: float
    note_cosine: float
    overlap: float
    passage: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place of a note and one note that it may mean."""

    span: Span
    target: str
    features: Features
