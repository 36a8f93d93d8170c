"""Pages of grids made by hand."""

import html
import re

import pytest
from blocks import find, section

from gigamind.i18n import translator
from gigamind.release.comparison import Comparison, MetricChange, RunName
from gigamind.reports import tune
from gigamind.reports.document import Bullets, Difference, Proportion, Steps, Table
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown

EN = translator("en")
HOSTILE = "</pre><script>alert(1)</script>"


def setting(value, gain=0.0, *, picked=0.0, **changed):
    told = {
        "mode": "hybrid", "fusion": "weighted", "alpha": 0.7, "title_weight": 0.1,
        "chunk_chars": 800, "graph_rerank": False, "embedder": "use-multilingual",
    }  # fmt: skip
    return tune.TunedSetting(
        setting=tune.SearchSetting.model_validate(told | changed),
        figures={"search.ndcg_at_10": value, "search.mrr": value / 2, "search.hit_at_1": 0.25},
        gain=gain, low=gain - 0.04, high=gain + 0.04, p_value=0.001 if gain > 0.04 else 0.9,
        picked=picked, out_of_fold=gain - 0.01 if picked else None,
    )  # fmt: skip


def tuning(*others, chosen=0, best=0, **changed):
    told = {
        "app_version": "1.0", "dataset": "q.jsonl", "notes": "vault", "metric": "search.ndcg_at_10",
        "queries": 120, "left_out": 0, "seed": 42, "folds": 5, "partitions": 20, "level": 0.03,
        "settings": (setting(0.6), *others), "chosen": chosen, "best": best, "gain": 0.09,
        "low": 0.02, "high": 0.14, "detectable": 0.05,
        "command": f"gigamind eval search --dataset 'a b' {HOSTILE}",
    }  # fmt: skip
    return tune.Tuning.model_validate(told | changed)


SWITCH = tuning(
    setting(0.5, -0.1, mode="keyword"), setting(0.7, 0.1, fusion="balanced", picked=0.75),
    setting(0.62, 0.02, mode="semantic", graph_rerank=True), chosen=2, best=2,
)  # fmt: skip
KEEP = tuning(setting(0.61, 0.01, alpha=0.8, picked=0.4), best=1, gain=-0.002, low=-0.03, high=0.05)


FAR = {"metric": "unanswerable.far", "baseline": 0.25, "current": 0.75, "difference": 0.5}
COSTLY = SWITCH.model_copy(update={"worse": (tune.WorseMetric(**FAR, low=0.31, high=0.66),)})


def test_a_switch_names_the_cross_validated_gain_and_no_other():
    page = tune.tuning_document(SWITCH)
    assert page.verdict.state == "measured"
    values = page.verdict.sentence.values
    assert EN(values["setting"]).startswith("balanced")
    assert EN(values["gain"]).endswith(" +9.0 pp (95% CI +2.0 pp to +14.0 pp)")
    seen = render_markdown(page.only(), EN)
    assert "+10.0" not in seen  # the gain on the queries that chose the setting
    assert find(page.blocks, Steps).items[0].command == SWITCH.command


def test_the_gain_in_the_table_is_that_of_the_verdict_with_its_interval():
    change = MetricChange(
        metric="search.ndcg_at_10", n=120, baseline=0.6, current=0.7, difference=0.1
    )
    other = change.model_copy(
        update={"metric": "search.mrr", "current": 0.72, "low": 0.01, "high": 0.2}
    )
    other = other.model_copy(update={"p_adjusted": 0.01, "changed": 20})
    name = RunName(run_id="r", created_at="2026-01-01T00:00:00Z", app_version="1", git_commit=None)
    comparison = Comparison(
        **dict.fromkeys(("mismatches", "lost", "speed", "changes"), ()),
        **dict.fromkeys(("only_baseline", "only_current", "unchanged"), 0), task="search",
        baseline=name, current=name, shared=120, metrics=(change, other),
    )  # fmt: skip
    found = find(tune.tuning_document(SWITCH, comparison=comparison).blocks, Table)
    chosen, second = ([*row][1:] for row in found.rows)
    assert chosen == [Proportion(0.6), Proportion(0.69), Difference(0.09, 0.02, 0.14, better=True)]
    assert second[2] == Difference(0.1, better=True)


def test_what_a_switch_makes_worse_is_in_the_verdict_and_a_warning():
    page = tune.tuning_document(COSTLY)
    assert page.verdict.state == "warning"
    _switch, cost = page.verdict.sentence.values["parts"]
    assert EN(cost.values["size"]) == "+50.0 pp"
    (warning,) = find(page.blocks, Bullets).items
    assert "+31.0 pp" in EN(warning)


def test_to_keep_names_the_best_gain_and_what_could_be_detected():
    page = tune.tuning_document(KEEP)
    assert (page.verdict.state, find(page.blocks, Bullets)) == ("measured", None)
    keep, best = page.verdict.sentence.values["parts"]
    assert "alpha 0.7" in EN(keep.values["kept"])
    assert EN(best.values["gain"]).endswith(" −0.2 pp (95% CI −3.0 pp to +5.0 pp)")
    detectable, no_release = page.verdict.leads
    assert EN(detectable.values["detectable"]) == "5.0 pp"
    alone = tune.tuning_document(
        tuning(setting(0.5, -0.1, mode="keyword"), left_out=3, detectable=None)
    )
    assert ("gain" in alone.verdict.sentence.id, alone.verdict.leads) == (False, (no_release,))
    (left_out,) = find(alone.blocks, Bullets).items
    assert left_out.values["n"] == 3


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("tuned", [COSTLY, KEEP])
def test_the_page_needs_no_other_file_and_runs_no_foreign_script(tuned, lang):
    say = translator(lang)
    document = tune.tuning_document(tuned, report="report.html", current="as-is/report.html")
    page = render_html(document, say)
    assert f'<html lang="{lang}">' in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.findall(r'(?:src|href)="(?!#|data:|report\.html"|as-is/report\.html")', page)
    read = html.unescape(re.sub("</?span[^>]*>", "", page))
    assert "default-src 'none'" in read
    assert tuned.command in read


def test_the_table_of_settings_has_the_highest_value_first():
    folded = section(tune.tuning_document(SWITCH), "settings")
    assert folded.folded
    rows = list(find(folded.blocks, Table).rows)
    assert [row[1].value for row in rows] == [0.7, 0.62, 0.6, 0.5]
    assert [len(row) for row in rows] == [4] * 4  # no second gain beside that of the verdict


def test_settings_are_named_by_what_differs_in_the_grid():
    told = tuning(
        setting(0.7, 0.1, fusion="balanced"),
        setting(0.7, 0.1, fusion="balanced", title_weight=0.5),
        setting(0.6, 0.0, chunk_chars=400),
        setting(0.6, 0.0, embedder="e5-small"),
    )
    names = [EN(tune._setting_name(entry.setting, told)) for entry in told.settings]
    assert len(set(names)) == 5
    assert all(part in names[2] for part in ("0.5", "800", "use-multilingual"))
