"""Judges of answers are certified on both scales, and claim by claim."""

import pytest
from certified import answer, card_of, claim, values

from gigamind.errors import InputError


def test_answers_are_certified_on_both_scales(run_folder, labels_file):
    answers = [
        answer("x", 1.0), answer("y", 0.5), answer("z", 0.0), answer("w", None),
        answer("v", 1.0, judged=False),
    ]  # fmt: skip
    rows = [
        {"id": "x", "correctness": 1.0, "utility": 1.0}, {"id": "y", "correctness": 0.0},
        {"id": "z", "correctness": 0.0}, {"id": "w", "utility": 0.5}, {"id": "v", "utility": 0.5},
    ]  # fmt: skip
    card = card_of(run_folder(items=answers, task="answers"), labels=labels_file(rows))
    correctness, utility = card.scales
    assert (correctness.kind, correctness.overall.positive) == ("graded", None)
    assert correctness.overall.items == 3
    assert values(correctness.overall)["mean_absolute_error"] == pytest.approx(0.5 / 3)
    assert values(correctness.overall)["mean_error"] == pytest.approx(0.5 / 3)
    assert [m.id for m in correctness.misses] == ["y"]
    assert (utility.overall.items, [m.id for m in utility.misses]) == (2, ["x"])
    assert (card.labels.count, card.labels.unscored) == (5, 1)


def test_answers_may_be_labelled_in_their_dataset_down_to_their_claims(run_folder):
    claims = [claim(1, "supported", "a quote"), claim(2, "unverified"), claim(3, "supported")]
    labels = {
        "correctness": 1.0,
        "utility": None,
        "claims": [
            {"text": "claim 1", "verdict": "not_found", "claim": 1},
            {"text": "claim 2", "verdict": "contradicted", "claim": 2},
            {"text": "cut in another way", "verdict": "supported", "claim": None},
        ],
    }
    items = [answer("x", 0.5, labels=labels, claims=claims), answer("y", 1.0)]
    correctness, supported = card_of(run_folder(items=items, task="answers")).scales
    assert (correctness.name, correctness.overall.items) == ("correctness", 1)
    assert (supported.name, supported.kind, supported.overall.items) == ("supported", "binary", 2)
    (miss,) = supported.misses
    assert (miss.id, miss.question, miss.quotes) == ("x#1", "claim 1", ("a quote",))
    assert supported.headline is None  # labels of a single answer say nothing of another
    assert (supported.overall.clusters, supported.overall.figures["accuracy"].low) == (1, None)


def test_labelled_claims_of_an_answer_without_an_evaluation_count_as_unscored(run_folder):
    rows = [{"text": "a", "verdict": "supported", "claim": None}] * 2
    labels = {"correctness": 1.0, "utility": None, "claims": rows}
    items = [
        answer("x", 1.0, labels=labels | {"claims": []}),
        answer("y", None, judged=False, labels=labels),
    ]
    card = card_of(run_folder(items=items, task="answers"))
    assert (card.labels.count, card.labels.unscored) == (4, 3)  # y, and its two claims


def test_an_answer_that_is_called_like_a_claim_of_another_is_refused(run_folder):
    items = [answer("x", 1.0, claims=[claim(1, "supported")]), answer("x#1", 1.0)]
    with pytest.raises(InputError, match='"x#1"'):
        card_of(run_folder(items=items, task="answers"))


@pytest.mark.parametrize(("verdict", "missed"), [(0.75, 1), (0.76, 0)])
def test_a_graded_verdict_is_a_miss_a_quarter_away(run_folder, labels_file, verdict, missed):
    folder = run_folder(items=[answer("x", verdict), answer("y", 1.0)], task="answers")
    card = card_of(folder, labels=labels_file([{"id": "x", "correctness": 1.0}]))
    assert card.scales[0].missed == missed


def test_answers_have_no_labels_of_their_own(run_folder):
    with pytest.raises(InputError, match="--labels"):
        card_of(run_folder(items=[answer("x", 1.0)], task="answers"))
