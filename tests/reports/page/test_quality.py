"""The checklist in report.html."""

import re

import pytest

from gigamind.i18n import translator
from gigamind.records.judged import JudgeReport
from gigamind.release.comparison import Comparison, MetricChange, RunName
from gigamind.tasks.answers.page import pass_rate, quality_block
from gigamind.tasks.answers.quality import QualityItemRate, QualitySliceReport, QualitySummaryReport

NAME = RunName(run_id="r", created_at="2026-01-01T00:00:00+00:00", app_version="1", git_commit=None)


def quality(checked=4, **changes):
    rate = 0.5 if checked else None
    low, high = (0.15, 0.85) if checked else (None, None)
    item = QualityItemRate(
        id="direct", ko="직접?", en="Direct?", yes=2, rate=rate, low=low, high=high, unproven=1
    )
    part = QualitySliceReport(
        checked=checked, passed=2, pass_rate=rate, low=low, high=high, items=(item,)
    )
    given = {
        "judge": JudgeReport(kind="checklist", file="f", fingerprint="c"),
        "feature": "search_qa",
        "min_pass_ratio": 0.75,
        "unchecked": 0,
        "overall": part,
        "by_language": {"ko": part},
    }
    return QualitySummaryReport.model_validate(given | changes)


def comparison(*metrics):
    """Of runs in which each of these fell by 0.25, surely."""
    changes = (
        MetricChange(
            metric=name,
            n=4,
            baseline=0.75,
            current=0.5,
            difference=-0.25,
            low=-0.5,
            high=-0.1,
            p_adjusted=0.01,
            changed=6,
        )
        for name in metrics
    )
    return Comparison(
        task="answers",
        baseline=NAME,
        current=NAME,
        mismatches=(),
        shared=4,
        only_baseline=0,
        only_current=0,
        lost=(),
        metrics=tuple(changes),
        speed=(),
        unchanged=4,
        changes=(),
    )


def test_each_item_stands_beside_the_baseline():
    compared = comparison("quality.pass_rate", "quality.direct")
    block = quality_block(quality(), translator("en"), compared)
    assert block["compared"] is True
    fell = {
        "before": "0.750",
        "difference": "−0.250",
        "interval": "−0.500 … −0.100",
        "better": False,
    }
    assert [(row["name"], row["change"]) for row in block["rows"]] == [
        ("passed", fell),
        ("Direct?", fell),
    ]


@pytest.mark.parametrize("compared", [None, comparison("answers.utility")])
def test_without_compared_checks_there_is_no_baseline_to_show(compared):
    block = quality_block(quality(), translator("ko"), compared)
    assert block["compared"] is False
    assert [(row["name"], row["change"]) for row in block["rows"]] == [
        ("통과", None),
        ("직접?", None),
    ]


def test_what_could_not_be_checked_and_what_was_not_yet_are_told_apart():
    lead = quality_block(quality(unchecked=3, not_run=2), translator("en"))["lead"]
    assert re.search(r"\b3 .*could not be checked", lead)
    assert re.search(r"\b2 .*interrupted", lead)


def test_the_pass_rate_is_a_figure_where_answers_were_checked():
    (figure,) = pass_rate(quality())
    assert (figure.key, figure.value) == ("quality.pass_rate", 0.5)
    assert (figure.interval.low, figure.interval.high, figure.interval.n) == (0.15, 0.85, 4)
    assert pass_rate(quality(checked=0)) == pass_rate(None) == []
