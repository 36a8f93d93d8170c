import pytest

from gigamind.i18n import _, translator
from gigamind.reports.cards.cautions import card_verdict
from gigamind.reports.cards.page import render_card, render_card_page


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_card_says_first_whether_its_judge_may_gate(card, scale, group, figure, lang):
    headlines: list[str] = []
    for value, low in ((0.6, 0.5), (0.6, 0.3), (0.3, 0.1)):
        made = card(scale(overall=group(cohen_kappa=figure(value, low, 0.9))))
        found = card_verdict(made, translator(lang))
        headlines.append(found.headline)
        assert "100" in found.headline  # labels
        assert len(found.reasons) == (low < 0.4)
        assert f"<h1>{found.headline}</h1>" in render_card_page(made, lang)
        assert render_card(made, lang).split("\n")[2] == f"**{found.headline}.**"
    assert len(set(headlines)) == 3


def test_why_it_may_not_is_told_below(card, scale, group):
    made = card(scale(overall=group(29, 10)))
    reason = "unanswerable: 29 labels, fewer than 30."
    assert f"<li>{reason}</li>" in render_card_page(made)
    assert f"- {reason}\n" in render_card(made)


def test_items_without_a_verdict_are_no_labels_of_the_sentence(card):
    labels = card().labels.model_copy(update={"unscored": 7, "source": "dataset"})
    headline = card_verdict(card(labels=labels), translator("en")).headline
    assert "93 dataset labels" in headline


def test_the_languages_that_it_was_held_in_are_told(card, scale):
    told = translator("en")
    assert card_verdict(card(), told).requirements.endswith(": en, ko.")
    assert card_verdict(card(scale(by_language={})), told).requirements.endswith(": none.")


@pytest.mark.parametrize("render", [render_card, render_card_page])
def test_the_corrected_mean_stands_before_the_agreement(card, render):
    text = render(card())
    assert text.index("Corrected mean") < text.index("Agreement with labels")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_stated_confidence_is_told_only_where_there_is_one(card, scale, lang):
    heading = translator(lang)(_("stated confidence"))
    miss = scale().misses[0]
    silent = scale(
        overall=scale().overall.model_copy(update={"bins": ()}),
        misses=(miss.model_copy(update={"confidence": None}),),
    )
    for render in (render_card, render_card_page):
        assert heading in render(card(), lang)
        assert heading not in render(card(silent), lang)


def test_nothing_is_minus_zero(card, scale, group, figure):
    nothing = group(cohen_kappa=figure(-0.0, -0.0004, 0.0004), mean_error=figure(-0.0001))
    made = card(scale(overall=nothing))
    for text in (render_card(made), render_card_page(made)):
        assert "−0.000" not in text
        assert "-0.000" not in text
