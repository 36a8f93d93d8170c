"""Estimate how likely a person would link a place to a note: small models for names, for phrases and for meaning.

`Habits` are the models of one vault with their calibration.

Weights are in `weights.toml`. For names and phrases, benchmarks/fit_links.py fitted them on links removed from vaults;
for meaning, they were fitted on phrases that a reader judged. None is negative.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from functools import cache, cached_property
from importlib.resources import files
from math import exp, inf, log, log1p
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from gigamind.linking.features import Features, MeantFeatures, NamedFeatures

PRIOR = 10.0  # weight of the shipped calibration, in suggestions
_FAR = 4  # folders; longer distances count the same
_Floats = npt.NDArray[np.float64]

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

_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Weights(BaseModel, extra="forbid", frozen=True):
    """A model: a weight for each of `terms`."""

    bias: float = Field(allow_inf_nan=False)
    weights: dict[str, _Weight]

    def score(self, features: Features) -> float:
        """Return log odds."""
        return self.bias + sum([weight * term(features) for weight, term in self._weighing])

    @cached_property
    def _weighing(self) -> list[tuple[float, Callable[[Any], float]]]:
        return [(self.weights[name], _TERMS[name]) for name in _TERMS if self.weights.get(name)]


class Shipped(Weights, frozen=True):
    """Weights, and the spread of each term in the data they were fitted on."""

    spreads: dict[str, _Weight]


class Scores(NamedTuple):
    """The evidence for a suggestion, each in (0, 1)."""

    mention: float  # the words themselves: a name of the target, or close to it in meaning
    context: float  # the surroundings, and texts, links and folders of both notes
    centrality: float  # PageRank of the target divided by the highest


class Models(BaseModel, extra="forbid", frozen=True):
    """The models of names and phrases."""

    names: Weights
    phrases: Weights

    def of(self, features: Features) -> Weights:
        """Return the model for these features."""
        return self.phrases if isinstance(features, MeantFeatures) else self.names

    def scores(self, features: Features) -> Scores:
        """Return the parts of a suggestion's score, with the model's bias shared by the first two."""
        weights = self.of(features)
        parts = {name: weights.weights[name] * value for name, value in terms(features).items()}
        mention = sum(part for name, part in parts.items() if name in _MENTION)
        context = sum(parts.values()) - mention - parts["centrality"]
        half = weights.bias / 2
        return Scores(logistic(half + mention), logistic(half + context), features.centrality)


class WeightFile(Models, frozen=True):
    """The content of `weights.toml`."""

    fitted_on: str
    names: Shipped
    phrases: Shipped
    meaning: Weights  # whether a reader accepts a phrase, whatever the vault links


def terms(features: Features) -> dict[str, float]:
    """Return name of a weight -> the value that it multiplies."""
    return {name: _TERMS[name](features) for name in term_names(type(features))}


def term_names(kind: type[Features]) -> list[str]:
    """Return the weights of the model for features of this kind, in the order of `terms`."""
    return [*_OF_BOTH, *(_OF_PHRASES if issubclass(kind, MeantFeatures) else _OF_NAMES)]


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


class Scored(NamedTuple):
    """A suggestion: its log odds and its target."""

    score: float
    target: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Beta calibration of log odds: low · ln p - high · ln(1 - p) + offset (Kull 2017)."""

    low: float = 1.0  # steepness for unlikely links, above 0
    high: float = 1.0  # steepness for likely links; equal values give a line
    offset: float = 0.0

    def toward(self, other: "Curve", share: float) -> "Curve":
        """Interpolate: this curve at a share of 0, the other at 1."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Curve(*(own + share * (its - own) for own, its in pairs))

    def __call__(self, score: float) -> float:
        unlikely, likely = bends(score)
        return self.low * float(unlikely) + self.high * float(likely) + self.offset


def bends(scores: _Floats | float) -> tuple[_Floats, _Floats]:
    """Return ln p and -ln(1 - p) of log odds."""
    return -np.logaddexp(0.0, np.negative(scores)), np.logaddexp(0.0, scores)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Converts log odds to a confidence."""

    names: Curve = Curve()
    phrases: Curve = Curve()
    suggestions: int = 0  # number of names it was fitted on; 0 for the shipped calibration
    phrase_links: int = 0  # number of hidden links that phrases found: links on names say nothing

    @property
    def is_of_other_vaults(self) -> bool:
        """Return whether this vault's links weigh less than the shipped calibration."""
        return self.suggestions < PRIOR

    @property
    def phrases_are_of_other_vaults(self) -> bool:
        """Return the same for phrases."""
        return self.phrase_links < PRIOR

    def odds(self, score: float, *, is_phrase: bool) -> float:
        """Return calibrated log odds of a link in this vault."""
        return (self.phrases if is_phrase else self.names)(score)


@dataclass(frozen=True, slots=True)
class Habits:
    """The linking habits of a vault: weights and their calibration."""

    models: Models
    calibration: Calibration = Calibration()

    def score(self, features: Features) -> float:
        """Return log odds by the weights."""
        return self.models.of(features).score(features)

    def odds(self, features: Features) -> float:
        """Return calibrated log odds of a link in this vault."""
        is_phrase = isinstance(features, MeantFeatures)
        return self.calibration.odds(self.score(features), is_phrase=is_phrase)
