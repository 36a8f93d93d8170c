"""What the figures of each task show."""

import xml.etree.ElementTree as ET

import pytest

from gigamind.i18n import translator
from gigamind.records.schema import IntervalReport
from gigamind.reports.charts import svg_file
from gigamind.tasks import TASKS
from gigamind.tasks.answers.schema import AnswerRunRecord, AnswerSliceReport, AnswerSummaryReport
from gigamind.tasks.answers.view import AnswerView
from gigamind.tasks.links.view import LinkView
from gigamind.tasks.search.figures import judging, search_figures

SVG = "{http://www.w3.org/2000/svg}"
OPTIONS = {"mode": "hybrid", "min_score": 0.3, "topk": 10, "seed": 42}
RARE = "\U00017000"  # Tangut, which no usual font has


@pytest.fixture
def record(make_record, make_item, make_slice):
    items = (
        make_item(1, top_base_score=0.8, latency_ms=0.0),
        make_item(2, top_base_score=0.6, latency_ms=100.0),
        make_item(3, answerable=False, metrics={}, top_base_score=0.2, latency_ms=3.0),
        make_item(4, answerable=False, metrics={}, top_base_score=None, latency_ms=5.0),
    )
    tags = {"회의": make_slice(), "$x_$": make_slice(3, 1), RARE: make_slice(4, 1)}
    return make_record(items, run={"options": OPTIONS}, summary={"by_tag": tags})


def drawn(record, lang="en"):
    return search_figures(record, translator(lang))


def _texts(chart):
    root = ET.fromstring(svg_file(chart))
    return [element.text for element in root.iter(f"{SVG}text")]


def test_a_run_has_figures_of_metrics_and_slices(record):
    assert list(drawn(record)) == ["metrics", "slices"]


def test_the_best_threshold_lies_midway_between_the_kinds_of_queries(record):
    # Scores none and 0.2 are unanswerable, 0.6 and 0.8 answerable.
    judged = judging(record)
    assert (judged.setting, judged.best.min_score) == (0.3, pytest.approx(0.4))


def test_a_run_without_queries_has_no_figures(make_record):
    counts = {"queries_answerable": 0, "queries_unanswerable": 0}
    assert drawn(make_record((), run={"options": OPTIONS}, counts=counts)) == {}


def test_files_keep_every_text_as_text_also_korean_and_dollar_signs(record):
    texts = _texts(drawn(record, lang="ko")["slices"])
    assert {"태그: 회의", "태그: $x_$", f"태그: {RARE}"} <= set(texts)


def test_equal_runs_give_equal_files(record):
    first, second = (TASKS["search"].view.charts(record) for _ in "ab")
    assert list(first) == list(drawn(record))
    assert [*map(svg_file, first.values())] == [*map(svg_file, second.values())]


def test_a_link_run_has_figures_of_metrics_and_slices(make_links, make_note):
    charts = LinkView().charts(make_links(make_note()))
    assert list(charts) == ["metrics", "slices"]
    assert [row.now.value for row in charts["slices"].rows] == [0.5, 0.5]


def test_a_link_run_without_notes_has_no_figures(make_links):
    assert LinkView().charts(make_links()) == {}


def _answers(correctness, **tags):
    def part(value):
        interval = IntervalReport(low=value, high=value, n=2)
        return AnswerSliceReport(
            items=2,
            answers={"correctness": value, "utility": None},
            intervals={f"answers.{name}": interval for name in ("correctness", "utility")},
        )

    return AnswerSummaryReport.model_construct(
        overall=part(correctness),
        by_language={"ko": part(correctness)},
        by_tag={tag: part(value) for tag, value in tags.items()},
    )


def test_answers_are_shown_by_metric_and_by_slice(make_record):
    record = AnswerRunRecord(make_record().run, _answers(0.75, new=0.5, both=1.0), (), ())
    charts = AnswerView().charts(record)
    assert [row.label for row in charts["metrics"].rows] == [
        "correctness"
    ]  # the other has no value
    labels = ["all answers", "tag: both", "tag: new"]
    assert [row.label for row in charts["slices"].rows] == labels
    assert charts["slices"].title == "correctness by slice"
