import pytest
from llm_reports import llm_report

from gigamind.records.judged import PanelReport
from gigamind.reports.page.model_costs import model_block
from gigamind.wording import words


@pytest.fixture
def panel():
    """The sentence about a panel of three seats that votes on ten items and differs on two."""

    def told(lang, **changes):
        figures = {"seats": 3, "items": 10, "split": 2, "rate": 0.2, "low": 0.057, "high": 0.51}
        figures |= {"alpha": 0.62, "alpha_low": 0.41, "alpha_high": 0.77}
        report = PanelReport(**figures | {"incomplete": 0, "tied": 0} | changes)
        llm = llm_report(calls=0, outcomes={"scored": 10}, items=10, panel=report)
        return model_block(llm, words(lang))["panel"]

    return told


def test_a_panel_says_how_often_its_seats_differ_and_how_far_they_agree(panel):
    assert panel("en") == (
        "A panel judged: on 2 of 10 items that two or more of its 3 seats voted on, the votes differ"
        " (0.200; 95 % interval 0.057 – 0.510). Krippendorff's alpha is 0.620 (95 % interval 0.410 – 0.770;"
        " 1 is full agreement, 0 is chance): the seats agree too little to rely on their verdicts."
    )
    assert panel("ko").endswith(
        "크리펜도르프 알파 0.620(95 % 신뢰구간 0.410 – 0.770, 1은 완전한 일치, 0은 우연):"
        " 판정을 믿기에는 좌석들의 일치가 부족합니다."
    )


@pytest.mark.parametrize(
    ("alpha", "meaning"),
    [
        (0.8, "the seats agree well, which alone does not make them right."),
        (0.7, "the seats agree fairly well, enough for tentative conclusions."),
        (0.1, "the seats agree too little to rely on their verdicts."),
        (-0.1, "the seats agree no more than by chance."),
    ],
)
def test_alpha_is_told_with_what_it_means(panel, alpha, meaning):
    assert panel("en", alpha=alpha).endswith(meaning)


def test_an_alpha_below_zero_has_a_minus_and_one_that_is_zero_has_none(panel):
    told = panel("en", alpha=-2e-16, alpha_low=-0.25, alpha_high=0.5)
    assert "alpha is 0.000 (95 % interval −0.250 – 0.500;" in told


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ({}, ""),
        ({"incomplete": 3}, " Without a verdict because a seat gave no vote: 3."),
        ({"tied": 1}, " Without a verdict because the votes are split in halves: 1."),
    ],
)
def test_only_what_was_lost_is_told(panel, lost, said):
    assert panel("en", **lost) == panel("en") + said


def test_votes_that_never_differ_have_no_alpha(panel):
    told = panel("en", alpha=None, alpha_low=None, alpha_high=None, split=0)
    assert "agreement beyond chance is not defined" in told
    assert "alpha" not in told


def test_an_adaptive_panel_says_on_what_its_seats_voted(panel):
    told = panel("en", alone=34, alpha=None, alpha_low=None, alpha_high=None)
    assert told.startswith("The panel's first seat was sure of 34 items, and judged them alone.")
    assert told.endswith("so they do not tell how far the seats agree elsewhere.")
    assert "혼자 판정했습니다" in panel("ko", alone=34, alpha=None)
