"""report.html of a link run in a real Chromium."""

from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from gigamind.datasets.generate_links import generate_links
from gigamind.release.model import read_run
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.links.schema import MissReport, RankedReport
from gigamind.tasks.options import LinkEvalOptions

pytestmark = pytest.mark.browser

EXAMPLES = Path(__file__).parents[3] / "examples" / "vault"
HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=window.pwned=2>"


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A run over the examples: 34 links were removed from 22 notes."""
    folder = tmp_path_factory.mktemp("links")
    generate_links(EXAMPLES, folder / "vault", folder / "links.jsonl")
    options = LinkEvalOptions(
        dataset=folder / "links.jsonl",
        notes=folder / "vault",
        out=folder / "out",
        cache_dir=folder / "cache",
    )
    return read_run(evaluate(options).out, KINDS)


def test_a_search_finds_a_note_by_its_path_its_links_and_their_targets(show, reader, record):
    browser = show(record)
    item = next(item for item in record.items if item.suggestions)
    search = browser.find_element(By.CSS_SELECTOR, "input[type=search]")
    for typed in (item.note, item.suggestions[0].target, item.suggestions[0].anchor.text):
        search.clear()
        search.send_keys(typed)
        WebDriverWait(browser, 60, poll_frequency=0.05).until(
            lambda _: item.note in browser.execute_script("return body.textContent")
        )
    search.send_keys(" nothing has this")
    reader.wait_for()


def test_every_link_is_marked_in_the_note_where_it_stands(show, reader, record):
    item = next(
        item for item in record.items if item.missed and any(one.hit for one in item.suggestions)
    )
    browser = show(record)
    reader.open(item.note.rpartition("/")[2].removesuffix(".md"))
    note = browser.find_element(By.CSS_SELECTOR, ".note-text")
    marked = {
        kind: [mark.text for mark in note.find_elements(By.CSS_SELECTOR, f"mark.{kind}")]
        for kind in ("hit", "miss")
    }
    assert sorted(marked["hit"]) == sorted(one.anchor.text for one in item.suggestions if one.hit)
    assert sorted(marked["miss"]) == sorted(row.anchor for row in item.missed if row.passage)
    title = note.find_element(By.CSS_SELECTOR, "mark.miss").get_attribute("title")
    assert title.endswith(f": {item.missed[0].targets[0]}")
    table = browser.find_element(By.CSS_SELECTOR, ".detail .links").text
    assert all(f"{one.confidence:.3f}" in table for one in item.suggestions)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_missed_link_has_its_cause_and_what_was_preferred(show, reader, record, lang):
    item = next(item for item in record.items if item.missed and item.suggestions)
    row, last = item.missed[0], item.suggestions[-1]
    ranked = {"anchor": last.anchor.text, "target": last.target, "confidence": last.confidence}
    ranked |= {"reason": HOSTILE, "features": last.features}
    own = ranked | {"place": 7, "target": row.targets[0], "confidence": 0.123}
    miss = MissReport(
        id=row.id,
        cause="ranked_too_low",
        own=RankedReport(**own),
        instead=RankedReport(**ranked, place=5),
    )
    changed = item.model_copy(update={"misses": (miss,)})
    overall = record.summary.overall.model_copy(update={"misses": {"ranked_too_low": 1}})
    told = record.summary.model_copy(update={"overall": overall})
    items = [changed, *(one for one in record.items if not one.missed)]
    browser = show(replace(record, summary=told, items=items), lang=lang)
    group = browser.find_element(By.CSS_SELECTOR, "#misses tbody")
    assert row.targets[0] in group.get_attribute("textContent")
    reader.choose("ranked_too_low")
    assert reader.numbers() == [1, 1, 1]
    reader.open(item.note.rpartition("/")[2].removesuffix(".md"))
    shown = browser.find_element(By.CSS_SELECTOR, ".missed li")
    for part in (row.anchor, row.targets[0], "0.123", last.target, HOSTILE, *last.features):
        assert part in shown.text
    assert reader.has_run_nothing()


def test_text_of_others_runs_nothing(show, reader, record):
    item = record.items[0]
    passage = item.expected[0].passage.model_copy(
        update={"utf16_start": 0, "utf16_end": len(HOSTILE), "text": HOSTILE, "note": HOSTILE}
    )
    expected = item.expected[0].model_copy(
        update={"anchor": HOSTILE, "targets": (HOSTILE,), "passage": passage}
    )
    hostile = item.model_copy(
        update={"note": HOSTILE, "text": HOSTILE, "expected": (expected,), "suggestions": ()}
    )
    browser = show(replace(record, items=[hostile]))
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    assert browser.find_element(By.CSS_SELECTOR, ".note-text").text == HOSTILE
    assert reader.has_run_nothing()


def test_the_korean_page_speaks_korean(show, reader, record):
    browser = show(record, lang="ko")
    assert "34" in browser.find_element(By.TAG_NAME, "h1").text
    assert reader.numbers() == [1, 22, 22]
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "undefined" not in text
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    assert "undefined" not in browser.find_element(By.CSS_SELECTOR, ".detail").text


def test_a_baseline_adds_filters_and_says_what_was_found_then(show, reader, record):
    item = next(item for item in record.items if any(one.hit for one in item.suggestions))
    silent = item.model_copy(update={"suggestions": ()})
    now = replace(record, items=[silent if i.note == item.note else i for i in record.items])
    browser = show(now, baseline=KINDS["links"].take_snapshot(record))
    reader.choose("worse")
    reader.wait_for(1, 1, 1)
    assert "in the baseline:" in browser.find_element(By.CSS_SELECTOR, ".items tbody").text
