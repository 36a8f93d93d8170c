from dataclasses import fields, replace
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_features import PLAIN
from pydantic import ValidationError

from gigamind.linking.confidence import Features, Weights, load_weights, terms, with_cosine

KNOWN = replace(PLAIN, saying_notes=2, chars=1)
NOTHING = {name: 0.0 for name in Weights.model_fields if name != "cosine"}
SHARES = st.floats(0.001, 0.999)


def weights(**given):
    return Weights.model_validate(NOTHING | given)


def test_without_evidence_the_bias_decides():
    assert weights().confidence(KNOWN) == 0.5
    assert weights(bias=-1.0).confidence(KNOWN) == pytest.approx(1 / (1 + exp(1)))


@pytest.mark.each(
    "name, changed, score",
    [
        ("link_probability", {"link_probability": 0.75}, 1.0986122886681098),  # ln 3
        ("commonness", {"commonness": 0.5}, -0.6931471805599453),  # ln 1/2
        ("chars", {"chars": 4}, 1.3862943611198906),  # ln 4
        ("names_in_note", {"names_in_note": 4}, -1.3862943611198906),
        ("centrality", {"centrality": 0.25}, -1.3862943611198906),
        ("spelled_as_name", {"spelled_as_name": True}, 1.0),
        ("linked_back", {"linked_back": True}, 1.0),
    ],
)
def test_each_feature_counts_for_itself(name, changed, score):
    confidence = weights(**{name: 1.0}).confidence(replace(KNOWN, **changed))
    assert confidence == pytest.approx(1 / (1 + exp(-score)))


@pytest.mark.each(
    "kind, words, spelled, named, distinct",
    [
        ("title", 1, True, 1, 1),
        ("heading", 1, True, 1, 1),
        ("title", 1, False, 1, 0),
        ("alias", 1, True, 1, 0),
        ("alias", 2, False, 1, 1),
        ("text", 1, False, 0, 0),
        ("text", 2, False, 1, 1),
    ],
)
def test_one_common_word_tells_little(kind, words, spelled, named, distinct):
    found = terms(replace(KNOWN, kind=kind, words=words, spelled_as_name=spelled))
    assert (found["named"], found["distinct"]) == (named, distinct)


def test_the_cosine_is_weighed_where_there_is_one():
    both = with_cosine(KNOWN, 0.5)
    assert weights(cosine=2.0).confidence(both) == pytest.approx(1 / (1 + exp(-1)))
    assert [getattr(both, f.name) for f in fields(Features)] == [
        getattr(KNOWN, f.name) for f in fields(Features)
    ]
    file = load_weights()
    assert file.of(KNOWN) is file.plain
    assert file.of(both) is file.with_cosine


@pytest.mark.parametrize("changed", [{"chars": -0.1}, {"bias": float("nan")}, {"other": 1.0}])
def test_weights_that_cannot_be_are_refused(changed):
    with pytest.raises(ValidationError):
        weights(**changed)


@given(SHARES, SHARES, st.integers(1, 50), st.integers(1, 50))
def test_more_evidence_never_lowers_a_confidence(less, more, few, many):
    shipped = load_weights().plain
    less, more = sorted((less, more))
    few, many = sorted((few, many))
    weak = replace(KNOWN, link_probability=less, commonness=less, chars=few, names_in_note=many)
    strong = replace(KNOWN, link_probability=more, commonness=more, chars=many, names_in_note=few)
    assert 0 < shipped.confidence(weak) <= shipped.confidence(strong) < 1
