import pytest

from gigamind.records.judged import PanelReport
from gigamind.reports.text import panel_line


@pytest.fixture
def line():
    """What summary.md says of a panel of three seats."""

    def told(**changes):
        figures = {"seats": 3, "items": 10, "split": 2, "rate": 0.2, "low": 0.057, "high": 0.51}
        figures |= {"alpha": 0.8, "alpha_low": 0.41, "alpha_high": 0.97}
        return panel_line(PanelReport(**figures | {"incomplete": 0, "tied": 0} | changes))

    return told


def test_a_panel_says_how_often_its_seats_differ_and_what_that_means(line):
    assert line() == (
        "Votes of the panel's 3 seats differ on 2 of 10 items (0.200, 95 % interval 0.057 – 0.510); Krippendorff's"
        " alpha is 0.800 (0.410 – 0.970): the seats agree well, which alone does not make them right."
    )


def test_votes_that_never_differ_have_no_alpha(line):
    told = line(alpha=None, alpha_low=None, alpha_high=None)
    assert told.endswith("Krippendorff's alpha is not defined, for no two votes differ.")


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ({}, ""),
        ({"incomplete": 3}, " Without a verdict: 3 for want of a vote."),
        ({"tied": 1}, " Without a verdict: 1 split in halves."),
        (
            {"incomplete": 3, "tied": 1},
            " Without a verdict: 3 for want of a vote, 1 split in halves.",
        ),
    ],
)
def test_only_what_was_lost_is_told(line, lost, said):
    assert line(**lost) == line() + said


def test_of_an_adaptive_panel_the_doubtful_items_say_nothing_of_agreement_at_large(line):
    told = line(alone=34, alpha=None, alpha_low=None, alpha_high=None)
    assert told.startswith(
        "The panel's first seat was sure of 34 items, and judged them alone. Votes"
    )
    assert told.endswith("so they do not tell how far the seats agree elsewhere.")
    assert "alpha" not in told
