import html
import json
import re
from itertools import pairwise

import pytest

from gigamind.i18n import translator
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.policy import read_policy
from gigamind.tasks import KINDS
from gigamind.tasks.links.page import link_headline, render_link_html

EN = translator("en")
HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=pwned()> & \"'"


def test_the_headline_counts_links_and_suggestions(make_links, make_note):
    record = make_links(make_note(), make_note(note="b.md"))
    told = re.findall(r"\d+ of \d+|[\d.]+%", link_headline(record, None, EN))
    assert told == ["2 of 4", "50.0%", "2 of 6", "33.3%"]


def test_a_run_that_suggested_nothing_says_so(make_links, make_note):
    silent = make_note(suggestions=(), terms={"precision_at_5": (0, 0), "recall_at_5": (0, 2)})
    assert "No links were suggested" in link_headline(make_links(silent), None, EN)


def test_cards_name_the_ceiling_of_a_figure(make_links, make_note):
    page = render_link_html(make_links(make_note()))
    assert "removed links that were suggested again · ceiling 0.750" in page
    assert "recall@5 (≤ 0.750)" in page
    assert page.count('class="ceiling"') == 1


def test_the_page_asks_for_nothing_and_runs_only_its_own_script(make_links, make_note):
    page = render_link_html(make_links(make_note()))
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert page.count("<script") == 2
    assert "default-src 'none'; script-src 'sha256-" in html.unescape(page)


def test_text_of_others_stays_text(make_links, make_note):
    note = make_note(note=HOSTILE, text=HOSTILE, expected=(), suggestions=())
    page = render_link_html(make_links(note, warnings=(HOSTILE,), dataset=HOSTILE))
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "<!--" not in page.removeprefix("<!doctype html>")


def test_headings_do_not_skip_a_level_and_ids_are_unique(make_links, make_note):
    page = render_link_html(make_links(make_note()))
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("lang", "title"), [("en", "Link evaluation"), ("ko", "링크 평가")])
def test_the_page_speaks_its_language(make_links, make_note, lang, title):
    page = render_link_html(make_links(make_note()), lang=lang)
    assert f'<html lang="{lang}">' in page
    assert f"<title>{title}" in page


def test_an_interrupted_run_says_so(make_links, make_note):
    page = render_link_html(make_links(make_note(), status="interrupted"))
    assert "3 notes were not run" in page


def test_a_run_without_a_note_still_gives_a_page(make_links):
    page = render_link_html(make_links(status="interrupted"))
    assert "<h1>" in page


def test_settings_beyond_every_suggestion_are_no_rows(make_links, make_note):
    page = render_link_html(make_links(make_note()))
    assert re.findall(r'<th scope="row" class="number">([^<]*)</th>', page) == ["0.00"]


def test_the_verdict_and_the_baseline_stand_in_the_page(make_links, make_note):
    before = make_links(*(make_note(note=f"{i}.md") for i in range(8)))
    worse = {"precision_at_5": (0, 3), "recall_at_5": (0, 2)}
    wrong = [
        one.model_copy(update={"hit": False, "novel": True}) for one in make_note().suggestions
    ]
    after = make_links(
        *(make_note(note=f"{i}.md", terms=worse, suggestions=wrong) for i in range(8)),
        run_id="20260201-000000",
    )
    baseline = KINDS["links"].take_snapshot(before)
    comparison = compare(baseline, KINDS["links"].take_snapshot(after))
    gate = judge_release(comparison, read_policy(None), "ga")
    page = render_link_html(after, baseline=baseline, gate=gate)
    assert page.index("Release gate failed") < page.index("<h1>")
    assert "recall@5 −50.0 pp" in page
    assert "8 shared notes" in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["compared"] is True
    assert data["items"][0][3] == "worse"
    assert data["items"][0][10] == ["1 / 2", "1 / 3"]
    assert "유의미하게 악화" in render_link_html(after, baseline=baseline, lang="ko")


def test_equal_runs_give_equal_pages(make_links, make_note):
    record = make_links(make_note())
    assert render_link_html(record) == render_link_html(record)
