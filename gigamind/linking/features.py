"""Features of a possible link: a place in a note, and the note that it may mean."""

from dataclasses import dataclass
from typing import Literal

from gigamind.spans import Span

NameKind = Literal["title", "alias", "heading", "text"]  # the strongest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Features that names and phrases share."""

    chars: int  # of the anchor, folded
    words: int  # of the anchor
    occurrence: int  # 1 for the first occurrence of the words in the note
    names_in_note: int  # notes named in the text, at least 1; of many names a person links few
    words_shared: float  # tf-idf cosine of the paragraph and the target, in [0, 1]
    words_shared_by_notes: float  # the same for the whole note and the target
    neighbours: float  # ln(1 + Adamic-Adar) of shared links of the two notes, from 0
    folders_between: int  # steps from the note's folder to the target's
    linked: bool  # whether the note links to the target elsewhere
    linked_back: bool  # whether the target links to the note
    centrality: float  # of the target in the link graph, in (0, 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFeatures(Features):
    """Features of a place that contains a name of the target."""

    link_probability: float  # of the anchor, in (0, 1)
    commonness: float  # of the target for this anchor, in (0, 1]
    kind: NameKind  # kind of name
    linked_notes: int  # other notes in which the anchor is a link
    saying_notes: int  # other notes that mention it, linked or not, except the target
    spelled_as_name: bool  # exactly like the target's name, with a capital in Latin script


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantFeatures(Features):
    """Features of a phrase that means the target without containing a name of it."""

    name_cosine: float  # of the phrase and the target's nearest name, in [-1, 1]
    beginning_cosine: float  # of the phrase and the beginning of the target
    lead: float  # difference of the sum of both to that of the next note, from 0
    note_cosine: float  # of the beginnings of both notes
    overlap: float  # share of distinctive words that phrase and name share, in [0, 1]
    passage: str  # the nearer of name and beginning


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place of a note and a note that it may mean."""

    span: Span
    target: str
    features: NamedFeatures | MeantFeatures
