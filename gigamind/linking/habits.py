"""The linking habits of a vault: weights and their calibration."""

from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gigamind.linking.features import Features, MeantFeatures
from gigamind.linking.ranking import Models

PRIOR = 10.0  # weight of the shipped calibration, in suggestions

_Floats = npt.NDArray[np.float64]


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


def bends(scores: "_Floats | float") -> "tuple[_Floats, _Floats]":
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
