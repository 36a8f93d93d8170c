import re
from dataclasses import replace

import pytest

from gigamind.records.card import check_alone
from gigamind.records.judged import JudgeReport
from gigamind.reports.cards.line import certified

THRESHOLD = JudgeReport(kind="threshold", file="t.toml", fingerprint="t", setting=0.3)


@pytest.fixture
def figures(group, figure):
    return group(balanced_accuracy=figure(0.91, 0.85, 0.96), cohen_kappa=figure(0.8, 0.7, 0.88))


FIGURES = ["0.910", "0.850 – 0.960", "0.800", "0.700 – 0.880", "2026-11-22"]


@pytest.mark.parametrize(("lang", "begins"), [("en", "Certified on "), ("ko", "2026-11-22 인증")])
def test_a_certified_judge_is_told_with_its_agreement(card, scale, figures, lang, begins):
    found = card(scale(overall=figures))
    line = certified(check_alone(found), found.judge, lang)
    assert line.startswith(begins)
    assert all(figure in line for figure in FIGURES)


@pytest.mark.parametrize(
    ("lang", "end"), [("en", "N = 100 of 30 answers."), ("ko", "답변 30건에서 100건.")]
)
def test_claims_are_told_with_their_answers(card, scale, figures, lang, end):
    found = card(scale(name="supported", overall=figures.model_copy(update={"clusters": 30})))
    assert certified(check_alone(found), found.judge, lang).endswith(end)


def test_a_graded_scale_is_told_by_its_kappa_and_error(card, scale, group, figure):
    graded = group(
        positive=None,
        quadratic_kappa=figure(-0.1, -0.2, 0.05),
        mean_absolute_error=figure(None, None, None, 0),
    )
    found = card(scale(name="utility", kind="graded", overall=graded))
    line = certified(check_alone(found), found.judge)
    assert (
        "utility: quadratic kappa −0.100 (95% CI −0.200 – 0.050), mean absolute error –, N" in line
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"model": "openai/y"},
            "openai/gpt-x, but this run used openai/y",
        ),
        ({"model": None}, "this run used no model"),
        ({"fingerprint": "0" * 64}, "another judge"),
    ],
)
def test_a_card_of_another_judge_certifies_nothing(card, changes, why):
    found = card()
    line = certified(check_alone(found), found.judge.model_copy(update=changes))
    assert line.startswith("Not certified: ")
    assert why in line


def test_a_judge_without_a_card_is_not_certified_if_it_asks_a_model(card):
    assert certified(None, card().judge).startswith("Not certified")
    assert certified(None, card().judge, "ko").startswith("인증되지 않음")
    assert certified(None, THRESHOLD) == ""
    assert certified(None, None) == ""


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_judge_whose_card_shows_too_little_is_not_called_certified(
    card, scale, group, figure, lang
):
    overall = group(balanced_accuracy=figure(0.5, 0.5, 0.5), cohen_kappa=figure(0.0, -0.1, 0.12))
    found = card(scale(overall=overall))
    line = certified(check_alone(found), found.judge, lang)
    assert not re.search("[Cc]ertified|인증", line)
    assert all(figure in line for figure in ("0.000 [−0.100, 0.120]", "0.400", "100", "2026-11-22"))


def test_where_nothing_is_gated_every_scale_decides_about_the_word(card, scale, group, figure):
    poor = card(scale(overall=group(cohen_kappa=figure(0.0, -0.1, 0.12))))
    for found, is_certified in ((card(), True), (poor, False)):
        checked = replace(check_alone(found), required_scales=())
        assert certified(checked, found.judge).startswith("Certified on") == is_certified


def test_a_card_without_a_verdict_on_a_label_certifies_nothing(card, scale, group):
    for scales in ((), (scale(overall=group(0, 0)),)):
        found = card().model_copy(update={"scales": scales})
        assert not certified(check_alone(found), found.judge).startswith("Certified")
