"""Items that stand and fall together, such as the claims of one answer: what an interval draws, or sums up, as one.

Taken for independent, items of which m at a time are alike give intervals that are too narrow, by up to sqrt(m).  Here
clusters are a vector of group numbers, one an item.  Where each item is a cluster of its own, every figure and interval
is exactly the one without clusters.  After Cameron & Miller, "A Practitioner's Guide to Cluster-Robust Inference",
Journal of Human Resources 50, 2015.
"""

from collections.abc import Hashable, Iterable

import numpy as np
import numpy.typing as npt

Clusters = npt.NDArray[np.intp]


def clusters_of(names: Iterable[Hashable]) -> Clusters:
    """One number for each name, from 0, in the order in which the names first appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def numbered(clusters: Clusters | None, items: int) -> Clusters:
    """Numbers without gaps, from 0, in the order in which the clusters first appear; of None, each item alone.

    Raises:
        ValueError: there are not as many as items.
    """
    if clusters is None:
        return np.arange(items)
    if clusters.shape != (items,):
        raise ValueError(f"{items} items have as many cluster numbers, not {clusters.shape}")
    _, first, places = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def summed(values: npt.NDArray[np.float64], clusters: Clusters) -> npt.NDArray[np.float64]:
    """The sum of the values, or rows of values, of each number from 0 to the highest; 0 where there are none."""
    sums = np.zeros((clusters.max(initial=-1) + 1, *values.shape[1:]))
    np.add.at(sums, clusters, values)
    return sums


def count(clusters: Clusters) -> int:
    """How many different clusters, of numbers from 0."""
    return int(np.count_nonzero(np.bincount(clusters)))


def is_single(clusters: Clusters) -> bool:
    """Whether they are several items of one cluster, which say nothing of how far another cluster would be off."""
    return clusters.size > 1 and count(clusters) == 1


def effective_items(clusters: Clusters) -> float:
    """As how many independent items at least one they count, if those of a cluster are always alike.

    n^2 / sum of squared sizes: Kish, Survey Sampling, 1965.  Right in the worst case, and safe in any other.
    """
    sizes = summed(np.ones(clusters.size), numbered(clusters, clusters.size))
    return clusters.size**2 / float((sizes**2).sum())
