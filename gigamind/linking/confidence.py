"""How sure a suggestion is: what is known about it, the weights of that (`weights.toml`), and the reason in words."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Annotated

from pydantic import BaseModel, Field

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


Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _logit(share: float) -> float:
    return log(share / (1 - share))


def _is_named(features: Features) -> bool:
    """Whether the words are a name, or several words: one that linked a note once or twice is often just a word.

    "Korean" may link a note on leave in one place; in others it is the language.
    """
    return features.kind != "text" or features.words > 1


def _is_distinct(features: Features) -> bool:
    """Whether the words alone tell that a note is meant.

    One common word does not ("approval" in "no approval needed", the alias "패스" in "학생 패스"), unless it is a
    title, written as one.
    """
    return features.words > 1 or (
        features.spelled_as_name and features.kind in {"title", "heading"}
    )


_TERMS: Mapping[str, Callable[[Features], float]] = {
    "link_probability": lambda features: _logit(features.link_probability),
    "commonness": lambda features: log(features.commonness),
    "named": lambda features: float(_is_named(features)),
    "distinct": lambda features: float(_is_distinct(features)),
    "chars": lambda features: log(features.chars),
    "spelled_as_name": lambda features: float(features.spelled_as_name),
    "names_in_note": lambda features: -log(features.names_in_note),
    "linked_back": lambda features: float(features.linked_back),
    "centrality": lambda features: log(features.centrality),
}


class Weights(BaseModel, extra="forbid", frozen=True):
    """Of one model.  `cosine` is None in that for features without one."""

    bias: float = Field(allow_inf_nan=False)
    link_probability: Weight
    commonness: Weight
    named: Weight
    distinct: Weight
    chars: Weight
    spelled_as_name: Weight
    names_in_note: Weight
    linked_back: Weight
    centrality: Weight
    cosine: Weight | None = None

    def confidence(self, features: Features) -> float:
        """In (0, 1)."""
        values = terms(features)
        score = self.bias + sum(getattr(self, name) * value for name, value in values.items())
        return 1 / (1 + exp(-score))


class WeightFile(BaseModel, extra="forbid", frozen=True):
    """`weights.toml`: one model without the cosine, one with it."""

    fitted_on: str
    plain: Weights
    with_cosine: Weights

    def of(self, features: Features) -> Weights:
        """The model for these features."""
        return self.with_cosine if isinstance(features, FeaturesWithCosine) else self.plain


def terms(features: Features) -> dict[str, float]:
    """Name of a weight -> what it is multiplied with."""
    values = {name: term(features) for name, term in _TERMS.items()}
    if isinstance(features, FeaturesWithCosine):
        values["cosine"] = features.cosine
    return values


@cache
def load_weights() -> WeightFile:
    """The weights that are shipped."""
    text = (files("gigamind.linking") / "weights.toml").read_text("utf-8")
    return WeightFile.model_validate(tomllib.loads(text))


_CLOSE = 0.5  # cosine from which a paragraph is said to be about the same
_REASONS = {
    "ko": {
        "title": "노트 제목과 같음",
        "alias": "노트의 별칭과 같음",
        "heading": "노트의 첫 제목과 같음",
        "text": "다른 노트에서 이 말로 연결함",
        "linked": "이 말을 쓴 다른 노트 {said}개 중 {linked}개가 연결함",
        "shared": "연결의 {share:.0%}가 이 노트로 감",
        "back": "그 노트가 이 노트를 연결함",
        "cosine": "문단과 노트의 내용이 가까움(코사인 {cosine:.2f})",
    },
    "en": {
        "title": "title of the note",
        "alias": "alias of the note",
        "heading": "first heading of the note",
        "text": "other notes link it with these words",
        "linked": "linked in {linked} of {said} other notes that say it",
        "shared": "{share:.0%} of such links lead there",
        "back": "that note links here",
        "cosine": "paragraph and note are close (cosine {cosine:.2f})",
    },
}


def reason(features: Features, language: str) -> str:
    """The features that speak for a link, the name first."""
    words = _REASONS["ko" if language == "ko" else "en"]
    parts = [words[features.kind]]
    if features.linked_notes:
        numbers = {"linked": features.linked_notes, "said": features.saying_notes}
        parts.append(words["linked"].format(**numbers))
    if features.commonness < 1:
        parts.append(words["shared"].format(share=features.commonness))
    if features.linked_back:
        parts.append(words["back"])
    if isinstance(features, FeaturesWithCosine) and features.cosine >= _CLOSE:
        parts.append(words["cosine"].format(cosine=features.cosine))
    return "; ".join(parts)
