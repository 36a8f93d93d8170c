"""Vectors at 8 bits a number, and what an engine that sees only those can say of cosines.

Scalar quantization, each dimension about its own middle, which distances do not see: the direction that vectors of many
an encoder share takes none of the 256 steps.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.retrieval.embed import Vectors

_STEPS = 255
_ROWS = 1_000  # that are looked at at once: of many vectors, no second copy stands in memory
_NOISE = 1e-5  # of distances summed as float32


@dataclass(frozen=True, slots=True)
class Quantizer:
    """A grid that every one of some unit vectors lies on, but for `error`.

    Attributes:
        low: what 0 stands for in each dimension, shape (dimensions,).
        step: what one more stands for, above 0.
        error: the farthest that one of the vectors is from its point.
    """

    low: npt.NDArray[np.float32]
    step: float
    error: float

    @classmethod
    def of(cls, units: Vectors) -> "Quantizer":
        """The finest for these vectors, shape (count, dimensions), at least one."""
        least, most = units.min(axis=0), units.max(axis=0)
        reach = float((most - least).max()) / 2
        low = (least + most) / 2 - np.float32(reach)
        found = cls(low, 2 * reach / _STEPS or 1.0, 0.0)
        batches = (units[rows] for rows in row_slices(len(units)))
        error = max(float(found._errors(some, found.points(some)).max()) for some in batches)
        return cls(low, found.step, error)

    def points(self, vectors: Vectors) -> Vectors:
        """Whole numbers from 0 to 255, of the shape of the vectors; what lies outside is put to the edge."""
        steps = np.rint((vectors - self.low) * np.float32(1 / self.step))
        return np.minimum(np.maximum(steps, 0), _STEPS)

    def highest_cosine(self, asked: Vectors, point: Vectors, distance: float) -> float:
        """What the cosine of no vector is above whose point is so far from `point`, that of the unit vector `asked`.

        By the triangle inequality: the vectors themselves are nearer by the errors of both at most, and of two of
        length 1 the cosine is 1 - distance**2 / 2.
        """
        errors = self.error + float(self._errors(asked, point)) + _NOISE
        return 1.0 - max(0.0, distance * self.step - errors) ** 2 / 2

    def _errors(self, vectors: Vectors, points: Vectors) -> npt.NDArray[np.float32]:
        off = points * np.float32(self.step) + (self.low - vectors)
        return np.sqrt(np.einsum("...i,...i", off, off))


def row_slices(count: int) -> list[slice]:
    """Batches of rows, in order."""
    return [slice(first, min(first + _ROWS, count)) for first in range(0, count, _ROWS)]
