"""Judges of searches are certified."""

import pytest
from certified import ITEMS, NOW, card_of, item, values

from gigamind.errors import InputError


def test_a_search_run_is_held_against_the_answerability_of_its_dataset(run_folder):
    card = card_of(run_folder())
    (scale,) = card.scales
    assert (scale.name, scale.kind) == ("unanswerable", "binary")
    assert (scale.overall.items, scale.overall.positive) == (10, 5)
    found = values(scale.overall)
    assert found["accuracy"] == found["sensitivity"] == found["specificity"] == pytest.approx(0.8)
    assert found["cohen_kappa"] == pytest.approx(0.6)
    # every verdict told 0.9, and 8 of 10 were right
    assert found["brier"] == pytest.approx((8 * 0.01 + 2 * 0.81) / 10)
    assert found["calibration_error"] == pytest.approx(0.1)
    assert (card.labels.source, card.labels.count, card.labels.unscored) == ("dataset", 10, 0)
    assert (card.runs, card.judge.model, card.created_at) == (("run",), "openai/gpt-x", NOW)


def test_figures_are_told_apart_by_language(run_folder):
    unknown = item("x", answerable=True, judged=False, language=None)
    (scale,) = card_of(run_folder(items=[*ITEMS, unknown])).scales
    assert {name: group.items for name, group in scale.by_language.items()} == {"en": 5, "ko": 5}
    assert values(scale.by_language["en"])["sensitivity"] == pytest.approx(0.8)
    assert values(scale.by_language["en"])["specificity"] is None


def test_labels_of_people_take_the_place_of_the_datasets(run_folder, labels_file):
    rows = [{"id": "u0", "unanswerable": False, "who": "kim"}, {"id": "a1", "unanswerable": False}]
    card = card_of(run_folder(), labels=labels_file(rows))
    (scale,) = card.scales
    assert (scale.overall.items, values(scale.overall)["accuracy"]) == (2, 1.0)
    assert (card.labels.source, card.labels.name) == ("file", "labels.jsonl")
    assert values(scale.overall)["cohen_kappa"] is None


def test_labels_of_some_items_correct_the_mean_over_all(run_folder, labels_file):
    rows = [{"id": name, "unanswerable": name[0] == "u"} for name in ("u0", "u1", "u2", "a0", "a1", "a2")]  # fmt: skip
    (scale,) = card_of(run_folder(), labels=labels_file(rows)).scales
    headline = scale.headline
    assert (headline.judged, headline.items, headline.labelled.n) == (0.5, 10, 6)
    assert headline.labelled.value == 0.5
    assert 0 < headline.weight < 1
    assert headline.corrected.low < headline.corrected.value < headline.corrected.high


def test_with_labels_of_every_item_there_is_nothing_to_correct(run_folder):
    assert card_of(run_folder()).scales[0].headline is None


def test_misses_come_with_their_question_and_quotes(run_folder):
    (scale,) = card_of(run_folder()).scales
    assert scale.missed == 2
    assert [(m.id, m.label, m.verdict) for m in scale.misses] == [("a0", 0, 1), ("u0", 1, 0)]
    assert (scale.misses[0].question, scale.misses[0].quotes) == ("query a0", ("quote of a0",))


def test_labelled_items_without_a_verdict_are_counted_and_in_no_figure(run_folder, labels_file):
    items = [*ITEMS[1:], item("u0", answerable=False, judged=None)]
    errors = [{"kind": "item", "id": "lost", "error": "X", "message": "m"}]
    folder = run_folder(items=items, errors=errors)
    rows = [{"id": name, "unanswerable": True} for name in ("u0", "u1", "lost")]
    card = card_of(folder, labels=labels_file(rows))
    assert (card.labels.count, card.labels.unscored, card.scales[0].overall.items) == (3, 2, 1)


def test_a_run_without_a_single_verdict_is_refused(run_folder):
    folder = run_folder(items=[item("u0", answerable=False, judged=None)])
    with pytest.raises(InputError, match=str(folder)) as caught:
        card_of(folder)
    assert caught.value.message.values["n"] == 1


def test_the_confidence_of_a_verdict_that_the_model_did_not_give_is_left_out(run_folder):
    overruled = item("x", answerable=True, judged=True, reported=False)
    (scale,) = card_of(run_folder(items=[*ITEMS, overruled])).scales
    assert (scale.overall.items, scale.overall.figures["brier"].n) == (11, 10)


def test_a_threshold_judge_states_no_confidence(run_folder):
    items = [{**one, "judgement": None} for one in ITEMS]
    judge = {"kind": "threshold", "file": "judges/t.toml", "fingerprint": "t", "setting": 0.3}
    card = card_of(run_folder(items=items, judge=judge))
    assert "brier" not in card.scales[0].overall.figures
    assert card.scales[0].overall.bins == ()
    assert card.is_valid_for("t", None)
