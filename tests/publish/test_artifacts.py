"""What becomes of figures and errors on their way to Prefect; the way itself is tested in tests/flows."""

import json
import math
from typing import Any

import pytest
from summaries import search_summary

from gigamind import errors
from gigamind.publish.ends import _metric_table, failed, in_form_words
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


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (errors.InputError("x"), "InvalidInput"), (errors.DatasetError("x"), "InvalidInput"),
        (errors.NotesError("x"), "NotesInaccessible"), (errors.IndexingError("x"), "NotesInaccessible"),
        (errors.EvaluationError("x"), "EvaluationFailed"), (errors.EmbeddingError("x"), "EvaluationFailed"),
        (errors.GigamindError("x"), "EvaluationFailed"),
    ],
)  # fmt: skip
def test_a_failed_state_has_the_name_of_its_exit_code_and_keeps_the_error(error, name):
    state: Any = failed(error)
    assert (state.type.value, state.name) == ("FAILED", name)
    assert state.message == f"x (exit code {error.exit_code})"
    assert state.data is error


def test_messages_name_the_fields_of_the_form_and_keep_commands():
    told = "--min-score 2: too high. Use `--judge-lang ko`.\nRun gigamind compare a --phase ga\n"
    told += "```\nx --a-b\n```"
    assert in_form_words(told) == (
        "min_score 2: too high. Use `judge_lang ko`.\nRun gigamind compare a --phase ga\n```\nx --a-b\n```"
    )
