"""tune.html of grids made by hand."""

import html
import re

import pytest

from gigamind.i18n import translator
from gigamind.reports.page.tune import findings, render_tuning
from gigamind.reports.tuning import SearchSetting, TunedSetting, Tuning, WorseMetric

HOSTILE = "</pre><script>alert(1)</script>"


def setting(value, gain=0.0, *, picked=0.0, **changed):
    told = {
        "mode": "hybrid",
        "fusion": "weighted",
        "alpha": 0.7,
        "title_weight": 0.1,
        "chunk_chars": 800,
        "graph_rerank": False,
        "embedder": "use-multilingual",
    }
    return TunedSetting(
        setting=SearchSetting.model_validate(told | changed),
        figures={"search.ndcg_at_10": value, "search.mrr": value / 2, "search.hit_at_1": 0.25},
        gain=gain,
        low=gain - 0.04,
        high=gain + 0.04,
        p_value=0.001 if gain > 0.04 else 0.9,
        picked=picked,
        out_of_fold=gain - 0.01 if picked else None,
    )


def tuning(*others, chosen=0, best=0, **changed):
    told = {
        "app_version": "1.0",
        "dataset": "q.jsonl",
        "notes": "vault",
        "metric": "search.ndcg_at_10",
        "queries": 120,
        "left_out": 0,
        "seed": 42,
        "folds": 5,
        "partitions": 20,
        "level": 0.03,
        "settings": (setting(0.6), *others),
        "chosen": chosen,
        "best": best,
        "gain": 0.09,
        "low": 0.02,
        "high": 0.14,
        "detectable": 0.05,
        "command": f"gigamind eval search --dataset 'a b' {HOSTILE}",
    }
    return Tuning.model_validate(told | changed)


SWITCH = tuning(
    setting(0.5, -0.1, mode="keyword"),
    setting(0.7, 0.1, fusion="balanced", picked=0.75),
    setting(0.62, 0.02, mode="semantic", graph_rerank=True),
    chosen=2,
    best=2,
)
KEEP = tuning(setting(0.61, 0.01, alpha=0.8, picked=0.4), best=1, gain=-0.002, low=-0.03, high=0.05)


def test_a_switch_says_what_is_gained_out_of_fold_and_what_was_flattery():
    switch, gained, biased = findings(SWITCH, translator("en"))
    assert "balanced: nDCG@10 +9.0 pp (95% CI +2.0 pp to +14.0 pp)" in switch
    assert "60.0% → 70.0%" in gained
    assert "120" in gained
    assert all(part in biased for part in ("+10.0 pp", "1.0 pp", "3 settings"))


def test_the_first_sentence_says_what_a_switch_costs():
    far = {"metric": "unanswerable.far", "baseline": 0.25, "current": 0.75, "difference": 0.5}
    costly = SWITCH.model_copy(
        update={
            "worse": (WorseMetric(**far, low=0.31, high=0.66), WorseMetric(**far, low=0, high=1))
        }
    )
    first = findings(costly, translator("en"))[0]
    assert "nDCG@10 +9.0 pp" in first
    assert "FAR 25.0% → 75.0% (95% CI +31.0 pp to +66.0 pp), " in first
    assert "FAR 25.0% → 75.0%" in findings(costly, translator("ko"))[0]


def test_to_keep_says_what_the_best_looking_gains_elsewhere_and_what_could_have_been_seen():
    keep, best, detectable = findings(KEEP, translator("en"))
    assert "weighted, alpha 0.7" in keep
    assert all(
        part in best
        for part in ("weighted, alpha 0.8", "+1.0 pp", "−0.2 pp", "95% CI −3.0 pp to +5.0 pp")
    )
    assert "5.0 pp" in detectable
    alone = tuning(setting(0.5, -0.1, mode="keyword"), left_out=3, detectable=None)
    _keep, none_better, left_out = findings(alone, translator("en"))
    assert "nDCG@10" in none_better
    assert left_out.startswith("3 answerable queries")


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("told", [SWITCH, KEEP])
def test_the_page_needs_nothing_else_and_runs_nothing(told, lang):
    page = render_tuning(told, lang=lang, report="report.html")
    assert f'<html lang="{lang}">' in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.findall(r'(?:src|href)="(?!#|data:|report\.html"|as-is/report\.html")', page)
    read = html.unescape(page)
    assert "default-src 'none'" in read
    assert all(line in read for line in (*findings(told, translator(lang)), told.command))


def test_the_table_has_the_highest_first_and_marks_what_is_and_what_to_take():
    page = render_tuning(SWITCH)
    body = page[page.index("<tbody>") :]
    names = ["balanced", "semantic, graph rerank", "weighted, alpha 0.7", "keyword"]
    places = [body.index(name) for name in names]
    assert places == sorted(places)
    assert "<strong>balanced</strong> <span" in body
    assert "75.0%" in body
    assert "−0.100 worse" in body
    assert "+0.100 better" in body
    assert "+0.020<span" in body  # neither


def test_settings_are_named_by_what_differs_in_the_grid_and_each_index_has_a_chart():
    told = tuning(
        setting(0.7, 0.1, fusion="balanced"),
        setting(0.7, 0.1, fusion="balanced", title_weight=0.5),
        setting(0.6, 0.0, chunk_chars=400),
        setting(0.6, 0.0, embedder="e5-small"),
    )
    page = render_tuning(told)
    assert "balanced, title weight 0.5, chunks of 800 characters, use-multilingual" in page
    assert "weighted, alpha 0.7, chunks of 400 characters, use-multilingual" in page
    assert page.count("<svg") == 3
    assert "e5-small · chunks of 800 characters" in page
