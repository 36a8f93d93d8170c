"""How sure a suggestion is: a logistic model of its features, its weights read from `weights.toml`.

The confidence estimates how likely a person would accept the link.  Every weight is 0 or more and every term rises
with what speaks for a link, so that more evidence never lowers a confidence.  How they were fitted stands in `fit.py`,
and on what in the file itself.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from gigamind.linking.features import Features, FeaturesWithCosine

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _logit(share: float) -> float:
    return log(share / (1 - share))


def _is_named(one: Features) -> bool:
    """Whether the words are a name, or several words: one that linked a note once or twice is often just a word.

    "Korean" may link a note on leave in one place; in others it is the language.
    """
    return one.kind != "text" or one.words > 1


def _is_distinct(one: Features) -> bool:
    """Whether the words alone tell that a note is meant.

    One common word does not ("approval" in "no approval needed", the alias "패스" in "학생 패스"), unless it is a
    title, written as one.
    """
    return one.words > 1 or (one.spelled_as_name and one.kind in {"title", "heading"})


_TERMS: Mapping[str, Callable[[Features], float]] = {
    "link_probability": lambda one: _logit(one.link_probability),
    "commonness": lambda one: log(one.commonness),
    "named": lambda one: float(_is_named(one)),
    "distinct": lambda one: float(_is_distinct(one)),
    "chars": lambda one: log(one.chars),
    "spelled_as_name": lambda one: float(one.spelled_as_name),
    "names_in_note": lambda one: -log(one.names_in_note),
    "linked_back": lambda one: float(one.linked_back),
    "centrality": lambda one: log(one.centrality),
}


class Weights(BaseModel):
    """Of one model.  `cosine` is None in that for features without one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class WeightFile(BaseModel):
    """`weights.toml`: one model without the cosine, one with it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fitted_on: str
    plain: Weights
    with_cosine: Weights

    def of(self, features: Features) -> Weights:
        """The model for these features."""
        return self.with_cosine if isinstance(features, FeaturesWithCosine) else self.plain


def terms(features: Features) -> dict[str, float]:
    """Name of a weight -> what it is multiplied with."""
    found = {name: term(features) for name, term in _TERMS.items()}
    if isinstance(features, FeaturesWithCosine):
        found["cosine"] = features.cosine
    return found


@cache
def load_weights() -> WeightFile:
    """The weights that are shipped."""
    text = (files("gigamind.linking") / "weights.toml").read_text("utf-8")
    return WeightFile.model_validate(tomllib.loads(text))
