"""report.html in a real Chromium: what a reader meets, and what a hostile note does not."""

import base64
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from gigamind.evals.options import SearchEvalOptions
from gigamind.evals.summary import evaluate
from gigamind.reports.judged import JudgementReport, VoteReport
from gigamind.reports.page.html import render_html
from gigamind.reports.release.snapshot import read_run
from gigamind.reports.schema import ErrorReport

pytestmark = pytest.mark.browser

EXAMPLES = Path(__file__).parents[2] / "examples"
HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=window.pwned=2>"
MANY = 5_000
MOST_MS = 20_000  # no measure of speed: what only a page that draws every row at once passes


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A run over the examples: 202 queries, 36 of them across languages, 44 unanswerable."""
    folder = tmp_path_factory.mktemp("run")
    options = SearchEvalOptions(
        dataset=EXAMPLES / "queries.jsonl",
        notes=EXAMPLES / "vault",
        mode="keyword",
        cache_dir=folder / "cache",
        out=folder / "out",
    )
    return read_run(evaluate(options)[1])


@pytest.fixture
def show(open_page):
    """Open the report of a record."""
    return lambda record, width=1280, **how: open_page(render_html(record, **how), width)


def _rows(browser):
    return browser.find_elements(By.CSS_SELECTOR, ".items > tbody > tr:not(.detail)")


def _wait_for_first(browser, part):
    """Until the first row holds that text; the list is replaced a moment after a key."""

    def first(_):
        return part in browser.execute_script("return body.firstElementChild?.textContent ?? ''")

    WebDriverWait(browser, 10, poll_frequency=0.05).until(first)


def _many(record):
    """5 000 queries with passages of their own, as over a vault of thousands of notes."""
    items = []
    for number in range(MANY):
        item = record.items[number % len(record.items)]
        copy = number // len(record.items)
        ranking = tuple(
            hit.model_copy(
                update={
                    "note": f"{copy}/{hit.note}",
                    "chunk": hit.chunk.model_copy(
                        update={"text": f"{copy:02d}{hit.chunk.text[2:]}"}
                    ),
                }
            )
            for hit in item.ranking
        )
        items.append(
            item.model_copy(
                update={"id": f"n{number}", "query": f"{item.query} {number}", "ranking": ranking}
            )
        )
    return replace(record, items=items)


def test_five_thousand_queries_load_a_page_at_a_time(show, reader, record, capsys):
    browser = show(_many(record))
    timing = browser.execute_script(
        "const [page] = performance.getEntriesByType('navigation');"
        "return {loaded: page.loadEventEnd, megabytes: page.decodedBodySize / 1e6}"
    )
    with capsys.disabled():
        sys.stderr.write(
            f"\n{MANY} queries, {timing['megabytes']:.1f} MB: loaded in {timing['loaded']:.0f} ms\n"
        )
    assert reader.status() == "1–50 of 5000 queries"
    assert 0 < timing["loaded"] < MOST_MS


def test_searching_five_thousand_queries_finds_the_one(show, reader, record, capsys):
    browser = show(_many(record))
    took = browser.execute_script(
        "const start = performance.now(); change({words: ['n4999']}); return performance.now() - start"
    )
    with capsys.disabled():
        sys.stderr.write(f"\nsearched {MANY} queries in {took:.0f} ms\n")
    assert reader.status() == "1–1 of 1 queries"
    assert took < MOST_MS


def test_a_search_finds_words_of_a_query_a_note_or_an_id_in_any_case(show, reader, record):
    browser = show(record)
    search = browser.find_element(By.CSS_SELECTOR, "input[type=search]")
    for typed, found in (("Q-005", "q-005"), ("BIGGER office?", "q-002"), ("알림 푸시", "q-001")):
        search.clear()
        search.send_keys(typed)
        _wait_for_first(browser, found)
    search.send_keys(" nothing has this")
    reader.wait_for_status("No query fits.")
    assert not _rows(browser)


def test_filters_show_what_they_count(show, reader, record):
    browser = show(record)
    expected = {
        "unanswerable": sum(not item.answerable for item in record.items),
        "cross_lingual": sum(item.cross_lingual for item in record.items),
        "all": len(record.items),
    }
    assert expected == {"unanswerable": 44, "cross_lingual": 36, "all": 202}
    for name, count in expected.items():
        reader.choose(name)
        reader.wait_for_status(f"1–{min(50, count)} of {count} queries")
    reader.choose("failures")
    shown = int(reader.status().split(" of ")[1].split()[0])
    assert 44 <= shown < 202  # keyword scores refuse nothing, so every unanswerable query is one
    assert all(
        "✕" in row.text or "wrong" in row.get_attribute("innerHTML") for row in _rows(browser)
    )


def test_language_and_tag_narrow_the_list_together(show, reader, record):
    browser = show(record)
    languages, tags = browser.find_elements(By.CSS_SELECTOR, ".tools select")
    languages.send_keys("ko")
    tags.send_keys("porto")
    count = sum(item.language == "ko" and "porto" in item.tags for item in record.items)
    assert 0 < count < 50
    reader.wait_for_status(f"1–{count} of {count} queries")


def test_a_heading_sorts_by_its_column_and_again_the_other_way(show, record):
    timed = [item.model_copy(update={"latency_ms": 7.0 + i}) for i, item in enumerate(record.items)]
    browser = show(replace(record, items=timed[100:] + timed[:100]))
    heading = browser.find_element(By.CSS_SELECTOR, "th[data-sort=latency]")
    for direction, extreme in (("ascending", "7.0"), ("descending", "208.0")):
        heading.find_element(By.TAG_NAME, "button").click()
        assert heading.get_attribute("aria-sort") == direction
        assert _rows(browser)[0].text.split()[-1] == extreme


def test_pages_lead_through_all_queries(show, reader, record):
    browser = show(record)
    previous, following = browser.find_elements(By.CSS_SELECTOR, ".pager button")
    assert not previous.is_enabled()
    for start in (51, 101, 151, 201):
        browser.execute_script("arguments[0].click()", following)
        assert reader.status().startswith(f"{start}–")
    assert len(_rows(browser)) == 2
    assert not following.is_enabled()


def test_a_query_opens_and_closes_by_keyboard(show, record):
    browser = show(record)
    toggle = browser.find_element(By.CSS_SELECTOR, ".toggle")
    toggle.send_keys(Keys.ENTER)
    assert toggle.get_attribute("aria-expanded") == "true"
    detail = browser.find_element(By.ID, toggle.get_attribute("aria-controls"))
    first = record.items[0]
    assert first.expected_notes[0] in detail.text
    assert [cell.text for cell in detail.find_elements(By.CSS_SELECTOR, ".hit .place")] == [
        str(rank) for rank in range(1, len(first.ranking) + 1)
    ]
    assert f"{first.ranking[0].base_score:.3f}" in detail.text
    toggle.send_keys(Keys.ENTER)
    assert not browser.find_elements(By.CSS_SELECTOR, ".detail")


def test_the_expected_passage_is_marked_inside_the_evidence(show, record):
    item, hit, expected = next(
        (item, hit, span)
        for item in record.items
        for hit in item.ranking
        for span in item.expected_spans
        if span.text in hit.chunk.text and len(hit.chunk.text) > len(hit.evidence.text) + 400
    )
    browser = show(replace(record, items=[item.model_copy(update={"ranking": (hit,)})]))
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    for whole in browser.find_elements(By.CSS_SELECTOR, ".detail summary"):
        browser.execute_script("arguments[0].click()", whole)
    marked = WebDriverWait(browser, 10).until(
        lambda _: browser.find_elements(By.CSS_SELECTOR, ".ranking details mark")
    )
    told = "".join(mark.get_attribute("textContent") for mark in marked)
    assert told == expected.text


def test_evidence_is_what_the_run_showed_also_behind_emoji(show, record):
    """Offsets are UTF-16 units: a page that counted characters would be off behind the first emoji."""
    item = next(
        item
        for item in record.items
        if any(ord(char) > 0xFFFF for hit in item.ranking for char in hit.chunk.text)
    )
    browser = show(replace(record, items=[item]))
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    quotes = browser.find_elements(By.CSS_SELECTOR, ".ranking blockquote.short")
    shown = [
        "".join(
            part.get_attribute("textContent")
            for part in quote.find_elements(By.CLASS_NAME, "shown")
        )
        for quote in quotes
    ]
    assert shown == [hit.evidence.text for hit in item.ranking]


def test_votes_of_a_panel_stand_with_the_query(show, record):
    votes = (
        VoteReport(model="openai/a", unanswerable=False, told_unanswerable=False, verified=True),
        VoteReport(model=HOSTILE, unanswerable=True, told_unanswerable=False),
        VoteReport(model="openai/c", code="refused"),
    )
    told = JudgementReport(outcome="unscored", code="panel_incomplete", votes=votes)
    item = record.items[0].model_copy(update={"judgement": told})
    browser = show(replace(record, items=[item]))
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    shown = browser.find_element(By.CSS_SELECTOR, ".detail").text
    assert "No verdict: a seat of the panel gave no vote" in shown
    assert "openai/a: answerable\n" in shown
    assert "openai/c: no vote (the model refused)" in shown
    assert f"{HOSTILE}: unanswerable (no quote of its answer stands in the notes)" in shown
    assert browser.execute_script("return window.pwned") is None


def test_text_of_others_runs_nothing(show, record):
    item = record.items[0]
    passages = {
        name: getattr(item.ranking[0], name).model_copy(
            update={"text": HOSTILE, "utf16_start": 0, "utf16_end": len(HOSTILE), "note": HOSTILE}
        )
        for name in ("chunk", "evidence")
    }
    hostile = item.model_copy(
        update={
            "id": HOSTILE,
            "query": HOSTILE,
            "tags": (HOSTILE,),
            "expected_notes": (HOSTILE,),
            "expected_spans": (passages["chunk"],),
            "ranking": (item.ranking[0].model_copy(update={"note": HOSTILE, **passages}),),
        }
    )
    run = record.run.model_copy(update={"warnings": (HOSTILE,), "dataset": HOSTILE})
    error = ErrorReport(kind="item", id=HOSTILE, error="E", message=HOSTILE)
    browser = show(replace(record, run=run, items=[hostile], errors=[error]))
    toggle = browser.find_element(By.CSS_SELECTOR, ".toggle")
    toggle.click()
    assert toggle.text == HOSTILE
    assert HOSTILE in browser.find_element(By.CSS_SELECTOR, ".detail blockquote").text
    assert browser.execute_script("return typeof window.pwned") == "undefined"
    assert not browser.find_elements(By.TAG_NAME, "img")
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2


def test_the_policy_stops_what_would_get_into_the_page(browser, show, record):
    """Even markup that an error of ours let in could neither run nor ask for anything."""
    show(record)
    browser.execute_script(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned = 1\">');"
        "const s = document.createElement('script'); s.textContent = 'window.pwned = 2'; document.body.append(s);"
    )
    refused = WebDriverWait(browser, 10).until(lambda _: browser.get_log("browser"))
    assert all("Content Security Policy" in entry["message"] for entry in refused)
    assert browser.execute_script("return typeof window.pwned") == "undefined"


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_phone_has_no_sideways_scroll(show, record, lang):
    browser = show(record, width=360, lang=lang, baseline=record)
    for toggle in browser.find_elements(By.CSS_SELECTOR, ".toggle")[:3]:
        browser.execute_script("arguments[0].click()", toggle)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide == 360
    query = browser.find_element(By.CSS_SELECTOR, ".items td.query")
    assert query.size["width"] > 120  # a detail row must not squeeze the columns


def test_the_korean_page_speaks_korean(show, reader, record):
    browser = show(record, lang="ko")
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("답이 있는 질의 158건 중")
    assert reader.status() == "질의 202건 중 1–50"
    labels = [
        label.text.split()[0] for label in browser.find_elements(By.CSS_SELECTOR, "fieldset label")
    ]
    assert labels == ["전체", "실패", "답", "교차"]


def test_a_baseline_adds_filters_for_what_changed(show, reader, record):
    missed = {"mrr": 0.0, "hit_at_1": 0.0}
    before = [
        item.model_copy(update={"metrics": item.metrics | missed})
        if item.metrics.get("mrr") == 1
        else item
        for item in record.items
    ]
    better = sum(item.metrics.get("mrr") == 1 for item in record.items)
    browser = show(record, baseline=replace(record, items=before))
    reader.choose("better")
    reader.wait_for_status(f"1–50 of {better} queries")
    assert "was: not found" in _rows(browser)[0].text
    reader.choose("worse")
    reader.wait_for_status("No query fits.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(show, reader, record, scheme):
    show(record)
    reader.prefer(scheme)
    for text in ("ink", "muted", "accent", "warn"):
        assert reader.contrast(text, "paper") >= 4.5, text
    for paper in ("raised", "soft", "mark"):
        assert reader.contrast("ink", paper) >= 4.5, paper


def test_the_page_prints(show, record):
    browser = show(record)
    printed = base64.b64decode(browser.print_page())
    assert printed.startswith(b"%PDF")
