"""The graph rerank: notes that others link to move up a little.  It changes the order, never what a note is worth."""

import numpy as np
import numpy.typing as npt

BOOST = 0.2  # β of the seed


def boosts(centralities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What each note's base_score is multiplied by: 1 + β * centrality, in [1, 1 + β] for centralities in [0, 1]."""
    return 1.0 + BOOST * centralities
