import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from link_features import MEANT, PLAIN

from gigamind.errors import InputError
from gigamind.linking.features import MeantFeatures, NamedFeatures
from gigamind.linking.habits import logistic

FIT_LINKS = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "fit_links.py"))
Example, fit_weights = FIT_LINKS["Example"], FIT_LINKS["fit_weights"]
removed_link_examples = FIT_LINKS["removed_link_examples"]

SPELLED = replace(PLAIN, spelled_as_name=True)


def examples(features, hits, misses):
    """Each of a pair of its own."""
    return [
        Example(features, is_link, (str(features), str(number)))
        for number, is_link in enumerate([True] * hits + [False] * misses)
    ]


def test_the_fitted_confidence_is_the_share_of_hits():
    weights = fit_weights([examples(PLAIN, 200, 600) + examples(SPELLED, 600, 200)], NamedFeatures)
    assert logistic(weights.score(PLAIN)) == pytest.approx(0.25, abs=0.01)
    assert logistic(weights.score(SPELLED)) == pytest.approx(0.75, abs=0.01)


def test_what_speaks_against_a_link_by_chance_gets_no_weight():
    weights = fit_weights([examples(PLAIN, 600, 200) + examples(SPELLED, 200, 600)], NamedFeatures)
    assert weights.weights["spelled_as_name"] == 0
    assert logistic(weights.score(PLAIN)) == pytest.approx(0.5, abs=0.01)


def test_every_vault_counts_alike_however_large():
    weights = fit_weights([examples(PLAIN, 900, 100), examples(PLAIN, 1, 9)], NamedFeatures)
    assert logistic(weights.score(PLAIN)) == pytest.approx(0.5, abs=0.01)


def test_names_and_phrases_are_fitted_apart():
    both = [examples(PLAIN, 300, 100) + examples(MEANT, 100, 300)]
    assert logistic(fit_weights(both, NamedFeatures).score(PLAIN)) == pytest.approx(0.75, abs=0.01)
    assert logistic(fit_weights(both, MeantFeatures).score(MEANT)) == pytest.approx(0.25, abs=0.01)


def test_of_the_places_that_mean_one_note_the_likeliest_counts():
    # Half of the pairs are links, and every pair has a second, worse place: it would be a hit as often.
    sure = examples(SPELLED, 300, 100) + examples(PLAIN, 100, 300)
    worse = [replace(one, features=PLAIN) for one in examples(SPELLED, 300, 100)]
    alone, beside = (fit_weights([vault], NamedFeatures) for vault in (sure, sure + worse))
    assert logistic(beside.score(SPELLED)) == pytest.approx(logistic(alone.score(SPELLED)), abs=0.01)  # fmt: skip
    assert logistic(beside.score(PLAIN)) == pytest.approx(logistic(alone.score(PLAIN)), abs=0.01)


@pytest.mark.parametrize(("hits", "misses"), [(0, 5), (5, 0), (0, 0)])
def test_without_hits_or_misses_nothing_can_be_fitted(hits, misses):
    with pytest.raises(InputError):
        fit_weights([examples(PLAIN, hits, misses)], NamedFeatures)
    with pytest.raises(InputError):
        fit_weights([examples(PLAIN, 5, 5)], MeantFeatures)


def test_examples_are_the_candidates_of_notes_that_lost_links(vault_of):
    # Both links are removed.  "hail" stands in a note that lost one; "snow" is plain in a note that lost none.
    linking = {"a.md": "[[rain]] and hail.", "b.md": "[[rain|Rain]]", "c.md": "snow"}
    vault = vault_of({"rain.md": "x", "hail.md": "x", "snow.md": "x", **linking})
    found = removed_link_examples(vault.root, [1], remove_ratio=1.0)
    assert {(one.pair, one.is_link) for one in found} == {
        (("1 a.md", "rain.md"), True),
        (("1 a.md", "hail.md"), False),
        (("1 b.md", "rain.md"), True),
    }
    assert len(found) == 3
    assert (vault.root / "a.md").read_text() == "[[rain]] and hail."
    twice = removed_link_examples(vault.root, [1, 2], remove_ratio=1.0)
    assert len(twice) == 2 * len(found)
