"""What is known about one suggestion before it is weighed: counts of the vault, the words themselves, and the graph."""

from dataclasses import dataclass, fields

from gigamind.linking.anchors import Kind


@dataclass(frozen=True, slots=True)
class Features:
    """What a confidence is made of, each for itself.

    Attributes:
        link_probability: of the anchor, in (0, 1).
        commonness: of the target for this anchor, in (0, 1].
        kind: how the anchor names the target.
        linked_notes: other notes in which the anchor is a link.
        saying_notes: other notes that say it, linked or not.
        chars: of the anchor.
        words: of the anchor.
        spelled_as_name: it stands just as the target calls itself, and in Latin letters with a capital.
        names_in_note: notes that are named in the text, at least 1: of many names a person links few.
        linked_back: the target links to the note.
        centrality: of the target in the link graph, in (0, 1].
    """

    link_probability: float
    commonness: float
    kind: Kind
    linked_notes: int
    saying_notes: int
    chars: int
    words: int
    spelled_as_name: bool
    names_in_note: int
    linked_back: bool
    centrality: float


@dataclass(frozen=True, slots=True)
class FeaturesWithCosine(Features):
    """The same with the meaning of the text.

    Attributes:
        cosine: of the paragraph around the anchor and the beginning of the target, in [-1, 1].
    """

    cosine: float


def with_cosine(features: Features, cosine: float) -> FeaturesWithCosine:
    """The features, and a cosine beside them."""
    known = {field.name: getattr(features, field.name) for field in fields(Features)}
    return FeaturesWithCosine(**known, cosine=cosine)
