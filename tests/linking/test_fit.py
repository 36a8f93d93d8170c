import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from link_features import PLAIN

from gigamind.errors import InputError

FIT_LINKS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "fit_links.py"))
Example, fit_weights = FIT_LINKS["Example"], FIT_LINKS["fit_weights"]
removed_link_examples = FIT_LINKS["removed_link_examples"]

SPELLED = replace(PLAIN, spelled_as_name=True)


def examples(features, hits, misses):
    return [Example(features, is_link) for is_link in [True] * hits + [False] * misses]


def test_the_fitted_confidence_is_the_share_of_hits():
    weights = fit_weights([examples(PLAIN, 200, 600) + examples(SPELLED, 600, 200)])
    assert weights.confidence(PLAIN) == pytest.approx(0.25, abs=0.01)
    assert weights.confidence(SPELLED) == pytest.approx(0.75, abs=0.01)


def test_what_speaks_against_a_link_by_chance_gets_no_weight():
    weights = fit_weights([examples(PLAIN, 600, 200) + examples(SPELLED, 200, 600)])
    assert weights.spelled_as_name == 0
    assert weights.confidence(PLAIN) == weights.confidence(SPELLED) == pytest.approx(0.5, abs=0.01)


def test_every_vault_counts_alike_however_large():
    weights = fit_weights([examples(PLAIN, 900, 100), examples(PLAIN, 1, 9)])
    assert weights.confidence(PLAIN) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("hits", "misses"), [(0, 5), (5, 0), (0, 0)])
def test_without_hits_or_misses_nothing_can_be_fitted(hits, misses):
    with pytest.raises(InputError, match="no hits or no misses"):
        fit_weights([examples(PLAIN, hits, misses)])


def test_examples_are_the_suggestions_of_notes_that_lost_links(vault_of):
    # Both links are removed.  "hail" stands in a note that lost one, and comes first, for no other note says it without
    # linking it; "snow" is plain in a note that lost none.
    vault = vault_of({
        "rain.md": "x",
        "hail.md": "x",
        "snow.md": "x",
        "a.md": "[[rain]] and hail.",
        "b.md": "[[rain|Rain]]",
        "c.md": "snow",
    })  # fmt: skip
    found = removed_link_examples(vault.root, [1], remove_ratio=1.0)
    assert [one.is_link for one in found] == [False, True, True]
    assert (vault.root / "a.md").read_text() == "[[rain]] and hail."
    twice = removed_link_examples(vault.root, [1, 2], remove_ratio=1.0)
    assert len(twice) == 2 * len(found)
