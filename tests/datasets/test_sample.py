import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import InputError


@pytest.mark.each(
    "text, size", [("1", 1), ("50", 50), ("0.2", 0.2), ("1.0", 1.0), (".5", 0.5), ("1e-3", 0.001)]
)
def test_whole_numbers_are_counts_and_the_rest_ratios(text, size):
    assert sample_size(text) == size
    assert type(sample_size(text)) is type(size)


@pytest.mark.each(
    "text", ["0", "-1", "0.0", "-0.2", "1.01", "2.0", "nan", "inf", "20%", "all", "", "1/5"]
)
def test_anything_else_is_an_error_that_says_what_to_write(text):
    with pytest.raises(InputError, match="50"):
        sample_size(text)


def test_the_seed_decides():
    assert sample(range(100), 10, seed=42) == sample(range(100), 10, seed=42)
    assert sample(range(100), 10, seed=42) != sample(range(100), 10, seed=43)


@pytest.mark.each(
    "size, of, count",
    [
        (4, 5, 4), (5, 5, 5), (6, 5, 5), (0.2, 10, 2), (0.24, 10, 2), (0.26, 10, 3), (0.01, 10, 1),
        (1.0, 10, 10),
    ],
)  # fmt: skip
def test_a_size_gives_so_many_items(size, of, count):
    assert len(sample(range(of), size, seed=42)) == count


def test_a_sample_of_nothing_is_nothing():
    assert sample((), 0.5, seed=42) == ()


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.text()), st.integers(1, 20), st.integers())
def test_items_are_drawn_by_place_and_never_twice(items, size, seed):
    numbered = list(enumerate(items))

    drawn = sample(numbered, size, seed)

    assert len(drawn) == min(size, len(items))
    assert sorted(drawn) == list(drawn)
    assert set(drawn) <= set(numbered)


def test_every_item_can_be_drawn():
    assert {sample(range(5), 1, seed)[0] for seed in range(200)} == set(range(5))
