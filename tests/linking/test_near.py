from math import log, log1p, sqrt

import pytest

from gigamind.linking.candidates import _SharedWords
from gigamind.vault.graph import Neighbours, folders_between


def test_notes_that_share_neighbours_are_near_and_those_of_few_links_count_most():
    near = Neighbours({"a": ("x", "y"), "b": ("x",), "c": ("y",), "d": ("y",), "x": (), "y": ()})
    # x has two neighbours, y three
    assert near.shared({"x"}, "a", "b") == pytest.approx(log1p(1 / log(4)))
    assert near.shared({"y"}, "a", "c") == pytest.approx(log1p(1 / log(5)))
    assert near.shared(set(), "a", "b") == 0
    assert near.linked_from["a"] == {"x", "y"}


@pytest.mark.parametrize(
    ("one", "other", "steps"),
    [("a.md", "b.md", 0), ("x/a.md", "x/b.md", 0), ("x/a.md", "b.md", 1), ("x/y/a.md", "x/z/b.md", 2)],
)  # fmt: skip
def test_folders_are_as_far_as_the_steps_between_them(one, other, steps):
    assert folders_between(one, other) == steps


def test_shared_words_are_the_cosine_of_tf_idf_vectors(vault_of):
    notes = vault_of({"a.md": "rain rain", "b.md": "rain wind", "c.md": "wind"}).notes
    words = _SharedWords(notes)
    idf = log(
        4 / 2
    )  # rain and wind stand in two of three notes; a, b and c in one, twice for the title
    title = (1 + log(2)) * log(4)
    of_a = (1 + log(2)) * idf / sqrt(((1 + log(2)) * idf) ** 2 + title**2)
    assert words.cosine(words.vector("rain"), "a.md") == pytest.approx(of_a)
    assert words.cosine(words.vector("rain"), "c.md") == 0
    assert words.cosine(words.vector("unknown"), "a.md") == 0
    assert words.cosine_of_notes("a.md", "a.md") == pytest.approx(1)


def test_overlap_is_the_share_of_telling_words_in_both(vault_of):
    words = _SharedWords(vault_of({"a.md": "rain wind", "b.md": "rain"}).notes)
    rain, wind = log(3 / 2), log(3)
    assert words.overlap("Rain", "rain and wind") == pytest.approx(rain / (rain + 2 * wind))
    assert words.overlap("rain", "RAIN") == 1
    assert words.overlap("", "") == 0
    assert words.weight("rain wind") > words.weight("wind") > words.weight("rain")
