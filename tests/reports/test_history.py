"""Histories of runs whose figures are made by hand."""

import json
import re
from pathlib import Path

import pytest
from blocks import find, section
from search_records import make_record

from gigamind.errors import InputError
from gigamind.i18n import translator
from gigamind.reports.document import Bullets, Steps, Table
from gigamind.reports.history import Histories, history_document
from gigamind.reports.html import render_html
from gigamind.reports.verdict import NO_RELEASE

EN = translator("en")
STEADY = [0.80, 0.81, 0.79, 0.80, 0.82, 0.78, 0.80, 0.81]


@pytest.fixture
def folder(tmp_path):
    """Writes a run a day with these values of MRR; more may be changed in run.json by day, from 0."""

    def write(values, changed=lambda _: {}, place="runs"):
        run = make_record([]).run.model_dump(mode="json")
        for day, value in enumerate(values):
            out = tmp_path / place / f"day{day:02}"
            out.mkdir(parents=True)
            made = {"run_id": out.name, "created_at": f"2026-01-{day + 1:02}T02:00:00+00:00"}
            (out / "run.json").write_text(json.dumps(run | made | changed(day)), "utf-8")
            figures = {"search": {"mrr": value}, "intervals": {"search.mrr": {}}}
            (out / "summary.json").write_text(json.dumps({"overall": figures}), "utf-8")
        return tmp_path / place

    return write


def test_a_new_level_is_found_with_its_means_and_what_was_set_otherwise(folder):
    def options(day):
        return {"options": {"alpha": 0.3 if day < 8 else 0.7, "out": f"runs/{day}"}}

    (one,) = Histories.read(folder([*STEADY, *(v + 0.1 for v in STEADY)], options)).histories
    (change,) = one.changes
    assert (change.run, change.cause) == (8, {"alpha": ("0.3", "0.7")})
    (level,) = change.metrics
    assert level.metric == "search.mrr"
    assert (level.before, level.after) == pytest.approx((0.80125, 0.90125))


def test_runs_of_another_dataset_are_hollow_and_no_change_is_sought_among_them(folder):
    def dataset(day):
        return {"dataset_hash": "old"} if day < 8 else {}

    runs = folder([*STEADY, *(v + 0.1 for v in STEADY)], dataset)
    (one,) = Histories.read(runs).histories
    assert (one.changes, one.comparable) == ((), 8)
    assert [run.alike for run in one.runs] == [False] * 8 + [True] * 8
    page = history_document(Histories.read(runs))
    assert one.drop.run == 13  # compared with day12, which is alike
    assert [text.values["n"] for text in find(page.blocks, Bullets).items] == [8]
    table = find(section(page, "runs-1").blocks, Table)
    assert [bool(row[-1]) for row in table.rows] == [False] * 8 + [True] * 8


def test_the_latest_change_leads_with_its_run_and_the_command_that_shows_it(folder):
    values = [*STEADY, *(value - 0.1 for value in STEADY)]
    runs = folder(values, lambda day: {"run_id": f"20260101-{day:06}"})
    page = history_document(Histories.read(runs))
    state, shown = page.verdict.state, page.verdict.sentence.values
    assert (state, shown["run"], EN(shown["size"])) == ("warning", "day08", "−10.0 pp")
    (row,) = find(page.blocks, Table).rows
    assert (row[1], row[4].better) == ("day08", False)
    (step,) = find(page.blocks, Steps).items
    assert step.command == f"gigamind compare {runs / 'day07'} {runs / 'day08'}"
    text = render_html(page, EN)
    assert [f">day{day:02}" in text for day in range(16)] == [True] * 16
    assert "20260101-" not in text


def test_a_lasting_drop_leads_and_is_compared_with_the_run_before_it(folder):
    values = [0.84, 0.80, 0.74, 0.84, 0.83, 0.84, 0.75, 0.74, 0.75]
    runs = folder(values, lambda day: {"options": {"alpha": 0.1 if day < 6 else 0.9}})
    found = Histories.read(runs)
    drop = found.histories[0].drop
    assert (found.histories[0].changes, drop.run, drop.p_value) == ((), 6, None)
    assert [(x.before, round(x.after, 4)) for x in drop.metrics] == [(0.84, 0.7467)]
    assert drop.cause == {"alpha": ("0.1", "0.9")}
    page = history_document(found)
    shown = page.verdict.sentence.values
    assert (shown["run"], shown["before"], EN(shown["size"])) == ("day06", "day05", "−9.3 pp")
    assert page.verdict.state == "warning"
    [step] = find(page.blocks, Steps).items
    assert [Path(run).name for run in step.command.split()[-2:]] == ["day05", "day06"]


def test_a_drop_that_a_later_run_made_up_for_is_none(folder):
    found = Histories.read(folder([0.8, 0.9, 0.7, 0.8, 0.9]))
    assert found.histories[0].drop is None
    assert history_document(found).verdict.state == "inconclusive"


def test_no_change_point_is_a_result_that_several_histories_can_share(folder):
    page = history_document(Histories.read(folder([0.8] * 16)))
    assert (page.verdict.state, page.verdict.leads) == ("measured", (NO_RELEASE,))
    [step] = find(page.blocks, Steps).items
    assert [Path(run).name for run in step.command.split()[-2:]] == ["day14", "day15"]
    other = folder([0.8] * 16, lambda day: {"notes": "v" if day % 2 else "w"}, "several")
    page = history_document(Histories.read(other))
    assert (page.verdict.state, page.verdict.leads) == ("inconclusive", (NO_RELEASE,))
    unequal = folder([0.8] * 10, lambda day: {"notes": "abbcccdddd"[day]}, "unequal")
    assert (
        len(history_document(Histories.read(unequal)).verdict.leads) == 4
    )  # not all of 4 histories


def test_runs_of_another_vault_are_a_history_of_their_own(folder):
    runs = folder(STEADY, lambda day: {"notes": "other"} if day % 2 else {})
    assert [len(one.runs) for one in Histories.read(runs).histories] == [4, 4]


def test_runs_are_in_the_order_of_their_moments_whatever_their_time_zones(folder):
    times = ["2026-01-01T08:00:00+09:00", "2026-01-01T00:00:00+00:00", "2025-12-31T23:30:00+00:00"]
    runs = folder([0.1, 0.2, 0.3], lambda day: {"created_at": times[day]})
    (one,) = Histories.read(runs).histories
    assert [run.run_id for run in one.runs] == ["day00", "day02", "day01"]


def test_a_metric_that_a_run_lacks_is_told_and_not_searched(folder):
    (one,) = Histories.read(folder([0.8, None, *STEADY])).histories
    assert (one.lacking, one.changes) == (("search.mrr",), ())


def test_what_is_no_complete_run_is_counted(folder):
    runs = folder(STEADY, lambda day: {"status": "interrupted"} if day == 3 else {})
    (runs / "empty").mkdir()
    (runs / "day05" / "summary.json").write_text("{", "utf-8")
    told = Histories.read(runs)
    assert (told.skipped, len(told.histories[0].runs)) == (3, 6)


def test_a_folder_without_a_run_is_an_error(tmp_path):
    with pytest.raises(InputError) as raised:
        Histories.read(tmp_path)
    assert raised.value.message.values["n"] == 0


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_page_draws_the_change_and_loads_nothing(folder, lang):
    hostile = {"dataset": "<script>alert(1)</script>.jsonl", "notes": "<b>v"}
    found = Histories.read(folder([*STEADY, *(v + 0.1 for v in STEADY)], lambda _: hostile))
    say = translator(lang)
    page = render_html(history_document(found), say)
    assert f'<html lang="{lang}">' in page
    assert 'stroke-dasharray="1.8 2.7"' in page
    assert "<script>alert" not in page
    assert "<b>v" not in page
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", page)
