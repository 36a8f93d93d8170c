"""Vectors with 8 bits per number, and the bounds of cosines that follow from them.

Scalar quantization with a separate range for each dimension.  Distances do not depend on the position of the ranges, so
a direction shared by all vectors of an encoder uses none of the 256 steps.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gigamind.retrieval.embed import Vectors

_STEPS = 255
_ROWS = 1_000  # rows processed at once, to avoid a second copy of many vectors in memory
_NOISE = 1e-5  # of distances summed as float32


@dataclass(frozen=True, slots=True)
class Quantizer:
    """A grid that contains each of the given unit vectors up to `error`."""

    low: npt.NDArray[np.float32]  # value of step 0 in each dimension, shape (dimensions,)
    step: float  # difference between steps, above 0
    error: float  # largest distance of a vector from its grid point

    @classmethod
    def of(cls, units: Vectors) -> "Quantizer":
        """Return the finest grid for these vectors, shape (count, dimensions), at least one."""
        least, most = units.min(axis=0), units.max(axis=0)
        reach = float((most - least).max()) / 2
        low = (least + most) / 2 - np.float32(reach)
        grid = cls(low, 2 * reach / _STEPS or 1.0, 0.0)
        batches = (units[rows] for rows in row_slices(len(units)))
        error = max(float(grid._errors(some, grid.points(some)).max()) for some in batches)
        return cls(low, grid.step, error)

    def points(self, vectors: Vectors) -> Vectors:
        """Return integers from 0 to 255 in the shape of the vectors; values outside the range are clipped."""
        steps = np.rint((vectors - self.low) * np.float32(1 / self.step))
        return np.minimum(np.maximum(steps, 0), _STEPS)

    def highest_cosine(self, query: Vectors, point: Vectors, distance: float) -> float:
        """Return an upper bound for the cosine of `query`, a unit vector with grid point `point`, and a stored vector.

        `distance` is the distance of their grid points.  By the triangle inequality the vectors are at most both errors
        nearer than that, and for unit vectors the cosine is 1 - distance**2 / 2.
        """
        errors = self.error + float(self._errors(query, point)) + _NOISE
        return 1.0 - max(0.0, distance * self.step - errors) ** 2 / 2

    def _errors(self, vectors: Vectors, points: Vectors) -> npt.NDArray[np.float32]:
        off = points * np.float32(self.step) + (self.low - vectors)
        return np.sqrt(np.einsum("...i,...i", off, off))


def row_slices(count: int) -> list[slice]:
    """Return slices of consecutive rows."""
    return [slice(first, min(first + _ROWS, count)) for first in range(0, count, _ROWS)]
