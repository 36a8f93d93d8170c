"""The ranking metrics against trec_eval (through ir_measures), on random rankings full of ties."""

import random

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, R, Success, nDCG
from ranked import ndcg

from gigamind.metrics.ranking import RankedQuery, measure_rankings
from gigamind.retrieval.fuse import Scored

CUTOFFS = (1, 3, 5, 10, 20)
MEASURES = {"mrr": RR} | {
    f"{name}_at_{k}": measure @ k
    for name, measure in (("ndcg", nDCG), ("recall", R), ("hit", Success))
    for k in CUTOFFS
}


def _scored(generator, vault):
    """Some notes of the vault with scores on a grid of six values, so that most of them are tied."""
    found = generator.sample(vault, generator.randint(1, len(vault)))
    return {note: generator.randint(1, 6) / 6 for note in found}


def _ranked(scores):
    """The notes in the order that a search gives them."""
    notes = sorted(scores)  # as in a vault
    final = np.array([scores[note] for note in notes])
    return [notes[place] for place in Scored(final, final, final, final).top(len(notes))]


def _oracle(qrels, runs):
    """Figures by (query, measure name), from trec_eval's own code."""
    provider = ir_measures.providers.registry["pytrec_eval"]
    return {
        (metric.query_id, str(metric.measure)): metric.value
        for metric in provider.iter_calc(MEASURES.values(), qrels, runs)
    }


@pytest.mark.parametrize("most_gain", [1, 3], ids=["binary", "graded"])
@pytest.mark.parametrize("seed", range(3))
def test_figures_agree_with_trec_eval_on_tied_scores(seed, most_gain):
    generator = random.Random(seed)
    vault = [f"{folder}/노트 {i}.md" for folder in ("정책", "notes", "Été") for i in range(12)]
    runs = {f"q{i}": _scored(generator, vault) for i in range(100)}
    qrels = {
        query: {
            note: generator.randint(0, most_gain) or 1
            for note in generator.sample(vault, generator.randint(1, 6))
        }
        for query in runs
    }
    expected = _oracle(qrels, runs)
    queries = [RankedQuery(_ranked(scores), qrels[query]) for query, scores in runs.items()]
    for query, measured in zip(runs, measure_rankings(queries, 20), strict=True):
        theirs = {name: expected[query, str(measure)] for name, measure in MEASURES.items()}
        ours = {name: measured[name] for name in theirs}
        assert ours == pytest.approx(theirs, abs=1e-9), query
    assert len(expected) == len(runs) * len(MEASURES)


def test_trec_eval_gains_are_linear_as_ours():
    qrels = {"q": {"a.md": 1, "b.md": 3}}
    expected = _oracle(qrels, {"q": {"a.md": 1.0, "b.md": 0.5}})["q", "nDCG@3"]
    # Linear gain gives (1 + 3/log2 3) / (3 + 1/log2 3); 2**gain - 1 would give 0.7098.
    assert expected == pytest.approx(0.7967, abs=1e-4)
    assert ndcg(["a.md", "b.md"], qrels["q"], 3) == pytest.approx(expected, abs=1e-9)
