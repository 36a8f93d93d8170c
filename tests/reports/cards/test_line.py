import re
from dataclasses import replace

import pytest
from cards_by_hand import card, figure, group, scale

from gigamind.i18n import translator
from gigamind.records.card import check_alone
from gigamind.records.judged import JudgeReport
from gigamind.reports.card import certified

CERTIFIED = {"en": "was certified on", "ko": "인증"}
NOT_CERTIFIED = "not certified"
THRESHOLD = JudgeReport(kind="threshold", file="t.toml", fingerprint="t", setting=0.3)
GOOD = group(balanced_accuracy=figure(0.91, 0.85, 0.96), cohen_kappa=figure(0.8, 0.7, 0.88))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_certified_judge_is_told_with_its_agreement(lang):
    found = card(scale(overall=GOOD))
    line = translator(lang)(certified(check_alone(found), found.judge))
    shown = ("0.910", "0.850 – 0.960", "0.800", "0.700 – 0.880", "2026-11-22")
    assert all(part in line for part in shown)
    assert re.search(CERTIFIED[lang], line)


def test_claims_are_told_with_their_answers():
    found = card(scale(name="supported", overall=GOOD.model_copy(update={"clusters": 30})))
    line = certified(check_alone(found), found.judge)
    assert re.findall(r"\b(?:100|30)\b", line.partition(" over ")[2]) == ["100", "30"]


def test_a_graded_scale_is_told_by_its_kappa_and_error():
    graded = group(
        positive=None,
        quadratic_kappa=figure(-0.1, -0.2, 0.05),
        mean_absolute_error=figure(None, None, None, 0),
    )
    found = card(scale(name="utility", kind="graded", overall=graded))
    line = certified(check_alone(found), found.judge)
    assert "quadratic kappa −0.100 (95% CI −0.200 – 0.050), mean absolute error – over" in line


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model": "openai/y"}, ("openai/gpt-x", "openai/y")),
        ({"model": None}, ("openai/gpt-x",)),
        ({"fingerprint": "0" * 64}, ()),
    ],
)
def test_a_card_of_another_judge_certifies_nothing(changes, why):
    found = card()
    line = certified(check_alone(found), found.judge.model_copy(update=changes))
    assert NOT_CERTIFIED in line
    assert all(part in line for part in why)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_judge_without_a_card_is_not_certified_if_it_asks_a_model(lang):
    assert "gigamind judge certify" in translator(lang)(certified(None, card().judge))
    assert certified(None, THRESHOLD) == ""
    assert certified(None, None) == ""


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_judge_whose_card_shows_too_little_is_not_called_certified(lang):
    overall = group(balanced_accuracy=figure(0.5, 0.5, 0.5), cohen_kappa=figure(0.0, -0.1, 0.12))
    found = card(scale(overall=overall))
    line = translator(lang)(certified(check_alone(found), found.judge))
    assert not re.search("certified|인증", line)
    assert all(part in line for part in ("0.000", "−0.100 – 0.120", "0.400", "100", "2026-11-22"))


def test_where_nothing_is_gated_every_scale_decides_about_the_word():
    poor = card(scale(overall=group(cohen_kappa=figure(0.0, -0.1, 0.12))))
    for found, is_certified in ((card(), True), (poor, False)):
        checked = replace(check_alone(found), required_scales=())
        assert (CERTIFIED["en"] in certified(checked, found.judge)) == is_certified


def test_a_card_without_a_verdict_on_a_label_certifies_nothing():
    for scales in ((), (scale(overall=group(0, 0)),)):
        found = card().model_copy(update={"scales": scales})
        assert CERTIFIED["en"] not in certified(check_alone(found), found.judge)
