import pytest

from gigamind.wording import words
from gigamind.reports.cards.cautions import card_verdict
from gigamind.reports.cards.page import render_card, render_card_page


@pytest.mark.parametrize(
    ("lang", "value", "low", "headline"),
    [
        ("en", 0.6, 0.5, "This judge agrees with people well enough to gate a release (100 labels)"),
        ("en", 0.6, 0.3, "It is not shown that this judge, held against people, may gate a release (100 labels)"),
        ("en", 0.3, 0.1, "This judge does not agree with people well enough to gate a release (100 labels)"),
        ("ko", 0.6, 0.5, "이 판정기는 사람의 정답과 충분히 일치하여 출시 게이트에 쓸 수 있습니다 (정답 100건)"),
        ("ko", 0.6, 0.3, ("이 판정기를 출시 게이트에 써도 되는지 사람의 정답만으로는 아직 알 수 없습니다"
         " (정답 100건)")),
        ("ko", 0.3, 0.1, "이 판정기는 사람의 정답과 충분히 일치하지 않아 출시 게이트에 쓸 수 없습니다 (정답 100건)"),
    ],
)  # fmt: skip
def test_a_card_says_first_whether_its_judge_may_gate(
    card, scale, group, figure, lang, value, low, headline
):
    made = card(scale(overall=group(cohen_kappa=figure(value, low, 0.9))))
    found = card_verdict(made, words(lang))
    assert found.headline == headline
    assert len(found.reasons) == (low < 0.4)
    assert f"<h1>{headline}</h1>" in render_card_page(made, lang)
    assert render_card(made, lang).split("\n")[2] == f"**{headline}.**"


def test_why_it_may_not_is_told_below(card, scale, group):
    made = card(scale(overall=group(29, 10)))
    reason = "unanswerable: 29 labels, fewer than 30."
    assert f"<li>{reason}</li>" in render_card_page(made)
    assert f"- {reason}\n" in render_card(made)


def test_items_without_a_verdict_are_no_labels_of_the_sentence(card):
    labels = card().labels.model_copy(update={"unscored": 7, "source": "dataset"})
    headline = card_verdict(card(labels=labels), words("en")).headline
    assert "agrees with its dataset's labels well enough to gate a release (93 labels)" in headline


def test_the_languages_that_it_was_held_in_are_told(card, scale):
    told = words("en")
    assert card_verdict(card(), told).held_to.endswith("that have labels: en, ko.")
    assert card_verdict(card(scale(by_language={})), told).held_to.endswith("labels: none.")


@pytest.mark.parametrize("render", [render_card, render_card_page])
def test_the_corrected_mean_stands_before_the_agreement(card, render):
    text, told = render(card()), words("en")
    assert text.index(told("title.mean")) < text.index(told("title.figures"))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_stated_confidence_is_told_only_where_there_is_one(card, scale, lang):
    heading = words(lang)("page.confidence")
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
