from dataclasses import replace
from math import log, log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_features import MEANT, PLAIN
from pydantic import ValidationError

from gigamind.linking.anchors import _NAME_KINDS
from gigamind.linking.features import MeantFeatures, NamedFeatures
from gigamind.linking.habits import _term_names, _terms, _Weights, load_weights, logistic

SHARES, COSINES, LOG_ODDS = st.floats(0.001, 0.999), st.floats(-1, 1), st.floats(-5, 5)
COUNTS, FLAGS = st.integers(1, 50), st.booleans()
# What speaks for a link, and what speaks against it.
FOR = {
    "chars": COUNTS, "words": COUNTS, "words_shared": SHARES, "words_shared_by_notes": SHARES,
    "neighbours": st.floats(0, 5), "linked_back": FLAGS, "centrality": SHARES,
}  # fmt: skip
FOR_NAMES = {"link_probability": SHARES, "commonness": SHARES, "spelled_as_name": FLAGS}
FOR_PHRASES = {
    "name_cosine": COSINES, "beginning_cosine": COSINES, "lead": st.floats(0, 2),
    "note_cosine": COSINES, "overlap": SHARES,
}  # fmt: skip
AGAINST = {
    "occurrence": COUNTS, "names_in_note": COUNTS, "folders_between": COUNTS, "linked": FLAGS,
}  # fmt: skip
AGAINST_NAMES = {"saying_notes": COUNTS}


def only(features, name, weight=1.0):
    """The score where nothing else is weighed."""
    names = _term_names(type(features))
    return _Weights(bias=0.0, weights=dict.fromkeys(names, 0.0) | {name: weight}).score(features)


@pytest.mark.each(
    "name, changed, score",
    [
        ("chars", {"chars": 4}, log(4)), ("first", {"occurrence": 3}, -log(3)),
        ("names_in_note", {"names_in_note": 4}, -log(4)),
        ("words_shared", {"words_shared": 0.25}, 0.25),
        ("words_shared_by_notes", {"words_shared_by_notes": 0.75}, 0.75),
        ("neighbours", {"neighbours": 2.0}, 2.0), ("folder_near", {"folders_between": 3}, -3),
        ("folder_near", {"folders_between": 9}, -4),  # farther than four folders is all one
        ("not_linked", {"linked": False}, 1), ("not_linked", {"linked": True}, 0),
        ("linked_back", {"linked_back": True}, 1), ("centrality", {"centrality": 0.25}, log(0.25)),
    ],
)  # fmt: skip
def test_each_feature_that_names_and_phrases_have_counts_for_itself(name, changed, score):
    for features in (PLAIN, MEANT):
        assert only(replace(features, **changed), name) == pytest.approx(score)
        assert only(replace(features, **changed), name, 2.0) == pytest.approx(2 * score)


@pytest.mark.each(
    "features, name, changed, score",
    [
        (PLAIN, "link_probability", {"link_probability": 0.75}, log(3)),
        (PLAIN, "commonness", {"commonness": 0.5}, log(0.5)),
        (PLAIN, "rarely_said", {"saying_notes": 7}, -log1p(7)),
        (PLAIN, "spelled_as_name", {"spelled_as_name": True}, 1),
        (MEANT, "name_cosine", {"name_cosine": 0.5}, 0.5),
        (MEANT, "beginning_cosine", {"beginning_cosine": -0.25}, -0.25),
        (MEANT, "lead", {"lead": 0.125}, 0.125),
        (MEANT, "note_cosine", {"note_cosine": 0.5}, 0.5),
        (MEANT, "overlap", {"overlap": 0.75}, 0.75),
    ],
)
def test_each_feature_of_one_kind_counts_for_itself(features, name, changed, score):
    assert only(replace(features, **changed), name) == pytest.approx(score)


@pytest.mark.each(
    "kind, words, spelled, named, distinct",
    [
        ("title", 1, True, 1, 1), ("heading", 1, True, 1, 1), ("title", 1, False, 1, 0),
        ("alias", 1, True, 1, 0), ("alias", 2, False, 1, 1), ("text", 1, False, 0, 0),
        ("text", 2, False, 1, 1),
    ],
)  # fmt: skip
def test_one_common_word_tells_little(kind, words, spelled, named, distinct):
    found = _terms(replace(PLAIN, kind=kind, words=words, spelled_as_name=spelled))
    assert (found["named"], found["distinct"]) == (named, distinct)


@pytest.mark.parametrize("features", [PLAIN, MEANT])
def test_without_evidence_the_bias_decides(features):
    nothing = dict.fromkeys(_term_names(type(features)), 0.0)
    assert _Weights(bias=-1.25, weights=nothing).score(features) == -1.25


def test_names_and_phrases_have_a_model_each_with_a_weight_for_every_term():
    file = load_weights()
    assert (file.of(PLAIN), file.of(MEANT)) == (file.names, file.phrases)
    assert list(file.names.weights) == list(_terms(PLAIN)) == _term_names(NamedFeatures)
    assert list(file.phrases.weights) == list(_terms(MEANT)) == _term_names(MeantFeatures)


@pytest.mark.parametrize(
    "changed",
    [{"weights": {"chars": -0.1}}, {"bias": float("nan")}, {"weights": {"chars": float("inf")}}, {"more": 1.0}],
)  # fmt: skip
def test_weights_that_cannot_be_are_refused(changed):
    with pytest.raises(ValidationError):
        _Weights.model_validate({"bias": 0.0, "weights": {}} | changed)


@pytest.mark.parametrize(
    ("score", "probability"), [(0.0, 0.5), (log(3), 0.75), (-log(3), 0.25), (1e6, 1.0), (-1e6, 0.0)]
)
def test_log_odds_become_a_probability_however_far_they_go(score, probability):
    assert logistic(score) == pytest.approx(probability)


def drawn(draw, base, more, less):
    """Two places, nothing at the first of which speaks more for a link than at the second."""
    weak, strong = {}, {}
    for name, values in (more | less).items():
        low, high = sorted((draw(values), draw(values)))
        weak[name], strong[name] = (low, high) if name in more else (high, low)
    return replace(base, **weak), replace(base, **strong)


@st.composite
def named_pairs(draw):
    base = replace(PLAIN, kind=draw(st.sampled_from(_NAME_KINDS)))
    return drawn(draw, base, FOR | FOR_NAMES, AGAINST | AGAINST_NAMES)


@st.composite
def meant_pairs(draw):
    return drawn(draw, MEANT, FOR | FOR_PHRASES, AGAINST)


@given(st.one_of(named_pairs(), meant_pairs()))
def test_more_evidence_never_makes_a_link_less_likely(pair):
    weak, strong = pair
    shipped = load_weights().of(weak)
    assert shipped.score(weak) <= shipped.score(strong) + 1e-9
    for less, more in zip(load_weights().scores(weak), load_weights().scores(strong), strict=True):
        assert less <= more + 1e-9


@given(st.one_of(named_pairs(), meant_pairs()))
def test_the_scores_shown_apart_are_the_parts_of_the_whole(pair):
    features, _ = pair
    shown, model = load_weights().scores(features), load_weights().of(features)
    assert shown.centrality == features.centrality
    central = model.weights["centrality"] * log(features.centrality)
    if all(1e-6 < part < 1 - 1e-6 for part in shown):  # else rounding hides what it was
        whole = logit(shown.mention) + logit(shown.context) + central
        assert whole == pytest.approx(model.score(features), abs=1e-6)


def logit(share):
    return log(share / (1 - share))


def test_the_words_count_for_the_mention_and_what_stands_around_them_for_the_context():
    for features in (PLAIN, MEANT):
        before, near = (
            load_weights().scores(features),
            load_weights().scores(replace(features, words_shared=0.9)),
        )
        assert near.mention == pytest.approx(before.mention)
        assert near.centrality == before.centrality
        assert near.context > before.context
    certain = load_weights().scores(replace(PLAIN, link_probability=0.9))
    assert certain.mention > load_weights().scores(PLAIN).mention
    assert certain.context == pytest.approx(load_weights().scores(PLAIN).context)
    nearer = load_weights().scores(replace(MEANT, beginning_cosine=0.9))
    assert nearer.mention > load_weights().scores(MEANT).mention
    assert nearer.context == pytest.approx(load_weights().scores(MEANT).context)
