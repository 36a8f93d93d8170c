import pytest
from llm_reports import llm_report

from gigamind.i18n import translator
from gigamind.records.judged import PanelReport
from gigamind.reports.document import Prose
from gigamind.reports.model import model_blocks


@pytest.fixture
def panel():
    """The sentence about a panel of three seats that votes on ten items and differs on two."""

    def told(lang, **changes):
        figures = {"seats": 3, "items": 10, "split": 2, "rate": 0.2, "low": 0.057, "high": 0.51}
        figures |= {"alpha": 0.62, "alpha_low": 0.41, "alpha_high": 0.77}
        report = PanelReport(**figures | {"incomplete": 0, "tied": 0} | changes)
        llm = llm_report(calls=0, outcomes={"scored": 10}, items=10, panel=report)
        texts = [translator(lang)(b.text) for b in model_blocks(llm) if isinstance(b, Prose)]
        return texts[1]  # after the coverage

    return told


def test_a_panel_says_how_often_its_seats_differ_and_how_far_they_agree(panel):
    for lang in ("en", "ko"):
        text = panel(lang)
        for figures in ("20.0%", "5.7% – 51.0%", "0.620", "0.410 – 0.770"):
            assert figures in text
    assert "2 of 10 items" in panel("en")


@pytest.mark.parametrize(
    ("alpha", "meaning"),
    [
        (0.8, "agree well (agreement is not accuracy)."),
        (0.7, "tentative conclusions."),
        (0.1, "too little for reliable verdicts."),
        (-0.1, "no more than by chance."),
    ],
)
def test_alpha_is_told_with_what_it_means(panel, alpha, meaning):
    assert panel("en", alpha=alpha).endswith(meaning)


def test_an_alpha_below_zero_has_a_minus_and_one_that_is_zero_has_none(panel):
    told = panel("en", alpha=-2e-16, alpha_low=-0.25, alpha_high=0.5)
    assert "alpha: 0.000 (95% CI −0.250 – 0.500;" in told


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ({}, ""),
        ({"incomplete": 3}, "3."),
        ({"tied": 1}, "1."),
    ],
)
def test_only_what_was_lost_is_told(panel, lost, said):
    text, without = panel("en", **lost), panel("en")
    assert text.startswith(without)
    assert text.removeprefix(without).rpartition(" ")[2] == said


def test_votes_that_never_differ_have_no_alpha(panel):
    told = panel("en", alpha=None, alpha_low=None, alpha_high=None, split=0)
    assert "undefined" in told
    assert "alpha" not in told


def test_an_adaptive_panel_says_on_what_its_seats_voted(panel):
    told = panel("en", alone=34, alpha=None, alpha_low=None, alpha_high=None)
    assert "34 items" in told
    assert told.endswith("agreement on other items is unknown.")
    assert "34개" in panel("ko", alone=34, alpha=None)
