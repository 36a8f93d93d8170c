"""How a vault links: its weights, and what their sum is worth in it."""

from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gigamind.linking.features import Features, MeantFeatures
from gigamind.linking.ranking import Models

PRIOR = 10.0  # suggestions that the shipped numbers are worth

_Floats = npt.NDArray[np.float64]


class Scored(NamedTuple):
    """One suggestion: its log odds, and its target."""

    score: float
    target: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Turns log odds by the weights into those in a vault: low · ln p - high · ln(1 - p) + offset (Kull 2017).

    Attributes:
        low: steepness where a link is unlikely, above 0.
        high: where it is likely; a line where both are the same.
    """

    low: float = 1.0
    high: float = 1.0
    offset: float = 0.0

    def toward(self, other: "Curve", share: float) -> "Curve":
        """This one at a share of 0, the other at 1."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Curve(*(own + share * (its - own) for own, its in pairs))

    def __call__(self, score: float) -> float:
        unlikely, likely = bends(score)
        return self.low * float(unlikely) + self.high * float(likely) + self.offset


def bends(scores: "_Floats | float") -> "tuple[_Floats, _Floats]":
    """Ln p and -ln(1 - p) of log odds."""
    return -np.logaddexp(0.0, np.negative(scores)), np.logaddexp(0.0, scores)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns log odds into a confidence.

    Attributes:
        suggestions: names by which the numbers were found; 0: the shipped ones.
    """

    names: Curve = Curve()
    phrases: Curve = Curve()
    suggestions: int = 0

    @property
    def is_of_other_vaults(self) -> bool:
        """Whether this vault's own links say less than the shipped numbers do."""
        return self.suggestions < PRIOR

    def odds(self, score: float, *, is_phrase: bool) -> float:
        """Log odds of a link in this vault, by the sum of its weights."""
        return (self.phrases if is_phrase else self.names)(score)


@dataclass(frozen=True, slots=True)
class Habits:
    """How a vault links: its weights, and what their sum is worth."""

    models: Models
    calibration: Calibration = Calibration()

    def score(self, features: Features) -> float:
        """Log odds by the weights."""
        return self.models.of(features).score(features)

    def odds(self, features: Features) -> float:
        """Log odds of a link in this vault."""
        is_phrase = isinstance(features, MeantFeatures)
        return self.calibration.odds(self.score(features), is_phrase=is_phrase)
