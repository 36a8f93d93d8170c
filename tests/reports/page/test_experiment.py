import json
import re
from typing import get_args

import pytest

from gigamind.choices import TaskName
from gigamind.evaluation.options import ReleaseOptions
from gigamind.evaluation.release import Reference
from gigamind.i18n import translator
from gigamind.metrics.spec import units_of
from gigamind.release.experiment import compare_with_first
from gigamind.release.policy import read_policy
from gigamind.reports.page.experiment import figure_rows, headline, render_experiment
from gigamind.tasks import KINDS


@pytest.fixture
def runs(make_record, make_item):
    """Two runs of three queries: one got worse, one better, one is alike; the texts mean harm."""

    def snapshot(ranks):
        items = [
            make_item(
                id=name,
                query=f"</script><b>{name}",
                metrics={"mrr": 1 / rank, "hit_at_1": float(rank == 1)},
                tags=("t",),
                language="ko",
            )
            for name, rank in ranks.items()
        ]
        return KINDS["search"].take_snapshot(make_record(items))

    return snapshot({"a": 1, "b": 2, "c": 1}), snapshot({"a": 3, "b": 1, "c": 1})


def data_of(page):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1]
    )


def released(runs):
    options = ReleaseOptions()
    verdict = Reference(runs[0], read_policy(None), options).judge(runs[1])
    return verdict.release


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_items_that_changed_have_all_rankings_and_the_worse_come_first(runs, lang):
    page = render_experiment(compare_with_first(["one", "two"], runs), runs, lang=lang)
    data = data_of(page)
    assert [row[0] for row in data["items"]] == ["a", "b"]
    (_, query, language, tags, ways, _, rankings) = data["items"][0]
    assert (query, language, tags) == ("</script><b>a", "ko", [0])
    ((way, what),) = ways
    assert way == -1
    assert re.findall("[13]|→", what) == ["1", "→", "3"]
    assert len(rankings) == 2
    assert data["runs"] == ["one", "two"]
    assert "<b>a" not in page.replace(json.dumps(data), "")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_verdict_stands_first_and_the_missing_one_is_one_line(runs, lang):
    found = compare_with_first(["one", "two"], runs)
    page = render_experiment(found, runs, lang=lang, release=released(runs))
    assert '<p class="gate ' in page
    alone = render_experiment(found, runs, lang=lang)
    assert '<p class="gate ' not in alone
    assert len(re.findall(r'<p class="subject">.+?</p>', alone)) == 1


def test_a_report_is_linked_where_there_is_one(runs):
    found = compare_with_first(["one", "two"], runs)
    assert 'href="report.html"' in render_experiment(found, runs, report="report.html")
    assert 'href="report.html"' not in render_experiment(found, runs)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("task", get_args(TaskName))
def test_every_task_has_its_headline(runs, lang, task):
    found = compare_with_first(["one", "two"], runs).model_copy(update={"task": task})
    unit = translator(lang)(units_of(task))
    assert unit in headline(found, translator(lang))


def row_of_mrr(experiment):
    (row,) = (row for name, *row in figure_rows(experiment, translator("en")) if name == "MRR")
    return row


def test_values_of_two_runs_are_over_the_items_that_both_measured(make_record, make_item):
    """Else the difference of the columns is another than the one beside them."""

    def run(*ranks):
        items = [make_item(id=f"q{n}", metrics={"mrr": rank}) for n, rank in enumerate(ranks)]
        return KINDS["search"].take_snapshot(make_record(items))

    two = run(1.0, 0.5, 0.0), run(0.5, 0.5, None)
    n, before, (cell,) = row_of_mrr(compare_with_first(["one", "two"], two))
    assert (n, before, cell.value, cell.difference) == (2, "0.750", "0.500", "−0.250")
    three = compare_with_first(["one", "two", "three"], (*two, run(1.0, 0.5, 0.5)))
    n, before, cells = row_of_mrr(three)
    assert (n, before) == (3, "0.500")  # all that the first run measured
    # (1 + 0.5 + 0) / 3 and (1 + 0.5) / 2 before, (0.5 + 0.5) / 2 and (1 + 0.5 + 0.5) / 3 after.
    told = [(cell.value, cell.difference, cell.pairs) for cell in cells]
    assert told == [("0.500", "−0.250", "N = 2: 0.750 → 0.500"), ("0.667", "+0.167", "")]
    page = render_experiment(three, (*two, run(1.0, 0.5, 0.5)))
    assert "N = 2: 0.750 → 0.500" in page
    assert "N = 2: " not in render_experiment(compare_with_first(["one", "two"], two), two)


def test_runs_that_measured_the_same_fewer_items_have_their_values_in_the_row(
    make_record, make_item
):
    def run(*ranks):
        items = [make_item(id=f"q{n}", metrics={"mrr": rank}) for n, rank in enumerate(ranks)]
        return KINDS["search"].take_snapshot(make_record(items))

    runs = run(1.0, 0.5, 0.0), run(0.5, 0.5, None), run(1.0, 1.0, None)
    n, before, cells = row_of_mrr(compare_with_first(["one", "two", "three"], runs))
    assert (n, before) == (2, "0.750")
    assert [(cell.value, cell.pairs) for cell in cells] == [("0.500", ""), ("1.000", "")]


def test_a_slice_says_how_many_of_its_items_a_difference_is_over(make_record, make_item):
    def run(*ranks):
        items = [
            make_item(id=f"q{n}", metrics={"mrr": rank}, language="ko")
            for n, rank in enumerate(ranks)
        ]
        return KINDS["search"].take_snapshot(make_record(items))

    runs = run(1.0, 0.5, None), run(0.5, 0.5, 1.0)
    page = render_experiment(compare_with_first(["one", "two"], runs), runs)
    slices = page[page.index('<section id="slices"') : page.index('<section id="items-changed"')]
    assert '<td class="number">3</td>' in slices
    assert '−0.250<span class="was">N = 2</span>' in slices
