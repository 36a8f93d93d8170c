"""Estimate how likely a person would link a place to a note: small models for names, for phrases and for meaning.

Weights are in `weights.toml`. For names and phrases, benchmarks/fit_links.py fitted them on links removed from vaults;
for meaning, they were fitted on phrases that a reader judged. None is negative.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib.resources import files
from math import exp, inf, log, log1p
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field

from gigamind.linking.features import Features, MeantFeatures, NamedFeatures

_FAR = 4  # folders; longer distances count the same


_OF_NAMES: Mapping[str, Callable[[NamedFeatures], float]] = {
    "link_probability": lambda f: log(f.link_probability / (1 - f.link_probability)),
    "commonness": lambda f: log(f.commonness),
    # A single word linked once or twice is often a word.
    "named": lambda f: float(f.kind != "text" or f.words > 1),
    # One common word that is no title does not show alone that a note is meant.
    "distinct": lambda f: float(
        f.words > 1 or (f.spelled_as_name and f.kind in {"title", "heading"})
    ),
    "rarely_said": lambda f: -log1p(f.saying_notes),
    "spelled_as_name": lambda f: float(f.spelled_as_name),
}
_OF_PHRASES: Mapping[str, Callable[[MeantFeatures], float]] = {
    name: attrgetter(name)
    for name in ("name_cosine", "beginning_cosine", "lead", "note_cosine", "overlap")
}
# Beyond these values, a phrase does not mean a note more clearly: a reader accepts no more of them.
_CLOSE, _CLEAR = 1.05, 0.3  # sum of both cosines; lead
_OF_MEANING: Mapping[str, Callable[[MeantFeatures], float]] = {
    "close": lambda f: min(f.name_cosine + f.beginning_cosine, _CLOSE),
    "clear": lambda f: min(f.lead, _CLEAR),
    "clear_words": lambda f: (f.words > 1) * min(f.lead, _CLEAR),
}
_OF_BOTH: Mapping[str, Callable[[Features], float]] = {
    "chars": lambda f: log(f.chars),
    "first": lambda f: -log(f.occurrence),
    "names_in_note": lambda f: -log(f.names_in_note),
    "words_shared": attrgetter("words_shared"),
    "words_shared_by_notes": attrgetter("words_shared_by_notes"),
    "neighbours": attrgetter("neighbours"),
    "folder_near": lambda f: -float(min(f.folders_between, _FAR)),
    "not_linked": lambda f: float(not f.linked),
    "linked_back": lambda f: float(f.linked_back),
    "centrality": lambda f: log(f.centrality),
}
_TERMS: Mapping[str, Callable[[Any], float]] = {
    **_OF_BOTH, **_OF_NAMES, **_OF_PHRASES, **_OF_MEANING
}  # fmt: skip
# All other terms except bias and centrality describe the place: the score "context".
_MENTION = frozenset((*_OF_NAMES, "name_cosine", "beginning_cosine", "lead", "overlap", "chars"))

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Weights(BaseModel, extra="forbid", frozen=True):
    """A model: a weight for each of `terms`."""

    bias: float = Field(allow_inf_nan=False)
    weights: dict[str, Weight]

    def score(self, features: Features) -> float:
        """Return log odds."""
        return self.bias + sum([weight * term(features) for weight, term in self._weighing])

    @cached_property
    def _weighing(self) -> list[tuple[float, Callable[[Any], float]]]:
        return [(self.weights[name], _TERMS[name]) for name in _TERMS if self.weights.get(name)]


class Shipped(Weights, frozen=True):
    """Weights, and the spread of each term in the data they were fitted on."""

    spreads: dict[str, Weight]


class Models(BaseModel, extra="forbid", frozen=True):
    """The models of names and phrases."""

    names: Weights
    phrases: Weights

    def of(self, features: Features) -> Weights:
        """Return the model for these features."""
        return self.phrases if isinstance(features, MeantFeatures) else self.names


class WeightFile(Models, frozen=True):
    """The content of `weights.toml`."""

    fitted_on: str
    names: Shipped
    phrases: Shipped
    meaning: Weights  # whether a reader accepts a phrase, whatever the vault links


class Scores(NamedTuple):
    """The evidence for a suggestion, each in (0, 1)."""

    mention: float  # the words themselves: a name of the target, or close to it in meaning
    context: float  # the surroundings, and texts, links and folders of both notes
    centrality: float  # PageRank of the target divided by the highest


def terms(features: Features) -> dict[str, float]:
    """Return name of a weight -> the value that it multiplies."""
    return {name: _TERMS[name](features) for name in term_names(type(features))}


def term_names(kind: type[Features]) -> list[str]:
    """Return the weights of the model for features of this kind, in the order of `terms`."""
    return [*_OF_BOTH, *(_OF_PHRASES if issubclass(kind, MeantFeatures) else _OF_NAMES)]


def scores(features: Features, models: Models) -> Scores:
    """Return the parts of a suggestion's score, with the model's bias shared by the first two."""
    weights = models.of(features)
    parts = {n: weights.weights[n] * value for n, value in terms(features).items()}
    mention = sum(part for name, part in parts.items() if name in _MENTION)
    context = sum(parts.values()) - mention - parts["centrality"]
    half = weights.bias / 2
    return Scores(logistic(half + mention), logistic(half + context), features.centrality)


def logistic(score: float) -> float:
    """Return the probability of log odds."""
    return exp(min(score, 0.0)) / (1 + exp(-abs(score)))


@cache
def load_weights() -> WeightFile:
    """Return the shipped weights."""
    text = (files("gigamind.linking") / "weights.toml").read_text("utf-8")
    return WeightFile.model_validate(tomllib.loads(text))


def clearness(features: Features) -> float:
    """Return the log odds that a reader accepts a phrase, whatever the vault links; -inf for a name."""
    return load_weights().meaning.score(features) if isinstance(features, MeantFeatures) else -inf
