"""What becomes of figures and errors on their way to Prefect; the way itself is tested in tests/flows."""

import json
import math

import pytest
from summaries import search_summary

from gigamind.publish.ends import _metric_table, in_form_words
from gigamind.records.schema import IntervalReport
from gigamind.tasks import TASKS
from gigamind.tasks.search.schema import SliceCounts, SliceReport, SummaryReport


def interval(low: float | None, high: float | None, n: int) -> IntervalReport:
    return IntervalReport(low=low, high=high, n=n)


def summary(
    search: dict[str, float | None],
    unanswerable: dict[str, float | None],
    intervals: dict[str, IntervalReport],
) -> SummaryReport:
    overall = SliceReport(
        counts=SliceCounts(queries=3, answerable=2, unanswerable=1),
        search=search,
        unanswerable=unanswerable,
        intervals=intervals,
    )
    return search_summary(overall, 5)


def test_a_table_has_a_row_a_metric_with_its_interval_and_its_number_of_items():
    table = _metric_table(
        TASKS["search"],
        summary(
            {"mrr": 0.75, "latency_p50_ms": 3.0},
            {"far": 1.0},
            {"search.mrr": interval(0.5, 1.0, 2), "unanswerable.far": interval(1.0, 1.0, 1)},
        ),
    )
    assert table == [
        {"block": "search", "metric": "MRR", "value": "0.750", "interval": "0.500 – 1.000", "n": 2},
        {"block": "unanswerable", "metric": "wrongly answered (FAR)", "value": "1.000", "interval": "1.000 – 1.000", "n": 1},  # noqa: E501
    ]  # fmt: skip


@pytest.mark.parametrize("figure", [None, math.nan, math.inf, -math.inf])
def test_a_figure_that_is_no_number_is_a_dash_in_a_table(figure: float | None):
    table = _metric_table(
        TASKS["search"], summary({"mrr": figure}, {}, {"search.mrr": interval(None, None, 2)})
    )
    assert table == [{"block": "search", "metric": "MRR", "value": "–", "interval": "–", "n": 2}]
    json.dumps(table, allow_nan=False)


def test_messages_name_the_fields_of_the_form_and_keep_commands():
    told = "--min-score 2: too high. Use `--judge-lang ko`.\nRun gigamind compare a --phase ga\n"
    told += "```\nx --a-b\n```"
    assert in_form_words(told) == (
        "min_score 2: too high. Use `judge_lang ko`.\nRun gigamind compare a --phase ga\n```\nx --a-b\n```"
    )
