import json
import re
from typing import get_args

import pytest
from blocks import find, section
from search_records import make_item, make_record

from gigamind.choices import TaskName
from gigamind.evaluation.options import ReleaseOptions
from gigamind.evaluation.release import Reference
from gigamind.i18n import translator
from gigamind.metrics.spec import units_of
from gigamind.release.compare import compare_with_first
from gigamind.release.policy import Policy
from gigamind.reports import document as doc
from gigamind.reports.experiment import experiment_document
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.tasks import KINDS

EN = translator("en")


def run(*ranks, **changed):
    """Makes a run of queries with these reciprocal ranks."""
    items = [
        make_item(id=f"q{n}", metrics={"mrr": rank}, **changed) for n, rank in enumerate(ranks)
    ]
    return KINDS["search"].take_snapshot(make_record(items))


@pytest.fixture
def runs():
    """Two runs of three queries: one got worse, one better, one is alike; the texts are hostile."""

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


def document(runs, say=EN, **given):
    labels = ["one", "two", "three"][: len(runs)]
    return experiment_document(compare_with_first(labels, runs), runs, say, **given)


def released(runs):
    return Reference(runs[0], Policy.read(None), ReleaseOptions()).decide(runs[1])


def row_of_mrr(page):
    return next(row for row in find(page.blocks, doc.Table).rows if row[0] == "MRR")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_changed_items_have_all_rankings_and_worse_ones_come_first(runs, lang):
    say = translator(lang)
    page = document(runs, say)
    data = json.loads(find(page.blocks, doc.Listing).data)
    assert [row[0] for row in data["items"]] == ["a", "b"]
    (_, query, language, tags, ways, _, rankings) = data["items"][0]
    assert (query, language, tags) == ("</script><b>a", "ko", [0])
    ((way, what),) = ways
    assert way == -1
    assert re.findall("[13]|→", what) == ["1", "→", "3"]
    assert len(rankings) == 2
    assert data["runs"] == ["one", "two"]
    shown = render_html(page, say)
    assert f'<html lang="{lang}">' in shown
    assert "<b>a" not in shown.replace(find(page.blocks, doc.Listing).data, "")
    assert "<b>a" not in render_markdown(page, say)


def test_two_runs_have_the_verdict_of_the_gates(runs):
    page = document(runs, release=released(runs), paths=["a run", "b"])
    assert page.verdict.state == "failed"
    assert find(page.blocks, doc.Conditions)
    assert any(row[-1] == doc.Result("failed") for row in find(page.blocks, doc.Table).rows)
    steps = find(page.blocks, doc.Steps).items
    assert any(step.command.startswith("gigamind baseline promote b") for step in steps)


def test_runs_that_are_not_comparable_have_reason_count_metrics_and_next_step(runs):
    one, two = runs
    release = released((one, two.model_copy(update={"notes_hash": "other"})))
    page = document(runs, release=release, paths=["a run", "b"])
    assert page.verdict.state == "not-comparable"
    assert any(word.isdigit() and int(word) == 1 for word in page.verdict.sentence.split())
    assert (
        find(page.blocks, doc.Steps).items[0].command
        == "gigamind compare 'a run' b --changed notes"
    )
    table = find(page.blocks, doc.Table)
    assert [len(row) for row in table.rows] == [4] * len(list(table.rows))


def test_several_runs_name_the_best_run_and_the_worst_change():
    first, better, worse = [0.5] * 20, [1.0] * 20, [0.1] * 20
    page = document((run(*first), run(*worse), run(*better)))
    best, worst = (part.values for part in page.verdict.sentence.values["parts"])
    assert isinstance(page.verdict, doc.Verdict)
    assert (best["run"], best["better"], best["worse"]) == ("three", 1, 0)
    assert [part.values.get("run") for part in worst["parts"]] == ["two", None]
    assert "20 of 20 queries got worse" in page.verdict.sentence
    assert find(page.blocks, doc.Table).caption.values["runs"] == 2  # it defines "worse"
    assert find(page.blocks, doc.Steps).items[-1].command.startswith("gigamind compare one three ")
    assert find(page.blocks, doc.Examples).items[0].sides[1].label == "two"
    alone = document((run(*first), run(*worse)))
    best, _worst = (part.values for part in alone.verdict.sentence.values["parts"])
    assert "best" not in best
    assert best["reference"] == "one"


def test_equal_runs_have_no_best_run_and_no_rows():
    page = document((run(1.0, 0.5), run(1.0, 0.5)))
    assert page.verdict.sentence.values["reference"] == "one"
    assert [find(page.blocks, kind) for kind in (doc.Examples, doc.Listing)] == [None, None]


def test_a_report_is_linked_if_there_is_one(runs):
    assert 'href="report.html"' in render_html(document(runs, report="report.html"), EN)
    assert 'href="report.html"' not in render_html(document(runs), EN)


@pytest.mark.parametrize("task", get_args(TaskName))
def test_every_task_has_its_subject(runs, task):
    found = compare_with_first(["one", "two"], runs).model_copy(update={"task": task})
    page = experiment_document(found, runs, EN)
    assert EN(units_of(task)) in EN(page.subject)


def test_values_of_two_runs_cover_the_items_that_both_measured():
    """Otherwise the difference of the columns is not the one beside them."""
    two = run(1.0, 0.5, 0.0), run(0.5, 0.5, None)
    _name, before, after, difference = row_of_mrr(document(two))
    assert (before, after) == (doc.Proportion(0.75), doc.Proportion(0.5))
    assert difference.value == pytest.approx(-0.25)
    _name, before, own, lower, after, higher = row_of_mrr(document((*two, run(1.0, 0.5, 0.5))))
    assert before.value == 0.5  # over all that the first run measured
    # (1 + 0.5) / 2 before and (0.5 + 0.5) / 2 after; (1 + 0.5 + 0.5) / 3 of the third run
    assert own.values == {"before": 0.75, "after": 0.5, "n": 2}
    assert (after.value, higher.value) == pytest.approx((2 / 3, 1 / 6))
    assert lower.value == pytest.approx(-0.25)


def test_runs_that_measured_the_same_fewer_items_have_their_values_in_the_row():
    runs = run(1.0, 0.5, 0.0), run(0.5, 0.5, None), run(1.0, 1.0, None)
    _name, before, two, _lower, three, _higher = row_of_mrr(document(runs))
    assert (before, two, three) == (doc.Proportion(0.75), doc.Proportion(0.5), doc.Proportion(1.0))


def test_a_slice_has_its_items_and_the_number_behind_a_difference():
    runs = run(1.0, 0.5, None, language="ko"), run(0.5, 0.5, 1.0, language="ko")
    table = find(section(document(runs), "slices").blocks, doc.Table)
    row = next(table.rows)
    assert row[1] == doc.Count(3)
    difference = next(cell for cell in row if isinstance(cell, doc.Difference))
    assert (difference.value, difference.note.values) == (-0.25, {"n": 2})


def test_long_names_of_runs_are_cut_but_not_in_commands():
    found = compare_with_first(["a" * 200, "b"], (run(1.0, 0.5), run(0.5, 0.5)))
    page = experiment_document(found, (run(1.0, 0.5), run(0.5, 0.5)), EN)
    assert "a" * 40 not in render_markdown(page.only(), EN).replace(f"compare {'a' * 200}", "")
    assert find(page.blocks, doc.Steps).items[-1].command.split()[2] == "a" * 200
