import numpy as np
import pytest

from gigamind.retrieval.fuse import boosts


def test_a_boost_is_one_and_a_fifth_of_the_centrality():
    assert boosts(np.array([0.0, 0.25, 1.0])) == pytest.approx([1.0, 1.05, 1.2])
