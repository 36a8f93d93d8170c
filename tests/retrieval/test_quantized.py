"""What 8 bits a number leave of a cosine: a bound that always holds, and is near."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.retrieval.edge import _Quantizer, _unit


def spread(seed: int, count: int, share: float) -> np.ndarray:
    """Unit vectors that share a direction, as those of many an encoder do; the larger `share`, the nearer to it."""
    rng = np.random.default_rng(seed)
    return _unit((rng.normal(size=(count, 64)) + 8 * share * np.eye(64)[3]).astype(np.float32))


def bounds(units: np.ndarray, asked: np.ndarray) -> np.ndarray:
    quantizer = _Quantizer.of(units)
    point = quantizer.points(asked)
    distances = np.linalg.norm(quantizer.points(units) - point, axis=1)
    return np.array([quantizer.highest_cosine(asked, point, float(far)) for far in distances])


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 50, 1_500]), st.floats(0, 3), st.floats(0, 3))
def test_no_cosine_is_above_what_is_told_of_its_distance(seed, count, share, other):
    units, asked = spread(seed, count, share), spread(seed + 1, 1, other)[0]

    over = bounds(units, asked) - units @ asked

    assert over.min() >= 0


@pytest.mark.parametrize(("share", "most"), [(0, 0.05), (2, 0.02)])
def test_the_bound_is_near_and_nearer_where_vectors_share_a_direction(share, most):
    units = spread(7, 2_000, share)
    over = bounds(units[:1_990], units[1_995]) - units[:1_990] @ units[1_995]
    assert over.max() <= most


def test_a_query_unlike_every_vector_and_one_without_a_direction_are_bounded_too():
    units = spread(7, 200, 3)
    units[5] = 0
    for asked in (-units[0], units[5], units[6]):
        assert (bounds(units, asked) >= units @ asked).all()


@pytest.mark.parametrize(
    "units", [np.zeros((3, 8), np.float32), np.eye(8, dtype=np.float32)[[2, 2]]]
)
def test_vectors_that_are_all_the_same_lie_on_their_grid(units):
    quantizer = _Quantizer.of(units)
    assert quantizer.error == 0
    assert quantizer.points(units).tolist() == np.zeros(units.shape).tolist()


def test_points_are_whole_numbers_of_a_byte_and_reach_both_ends():
    units = spread(7, 500, 1)
    points = _Quantizer.of(units).points(np.vstack([units, -3 * units]))
    assert points.min() == 0
    assert points.max() == 255
    assert (points == points.astype(np.uint8)).all()
