"""report.html in a real Chromium: the list is searched, filtered, sorted and paged."""

from dataclasses import replace

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from gigamind.tasks import KINDS

pytestmark = pytest.mark.browser

MANY = 5_000
MOST_MS = 20_000  # no measure of speed: what only a page that draws every row at once passes


def _rows(browser):
    return browser.find_elements(By.CSS_SELECTOR, ".items > tbody > tr:not(.detail)")


def _wait_for_first(browser, part):
    """Until the first row holds that text; the list is replaced a moment after a key."""

    def first(_):
        return part in browser.execute_script("return body.firstElementChild?.textContent ?? ''")

    WebDriverWait(browser, 60, poll_frequency=0.05).until(first)


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


def test_five_thousand_queries_load_a_page_at_a_time_and_a_search_finds_the_one(
    show, reader, record
):
    browser = show(_many(record))
    loaded = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    assert 0 < browser.execute_script(loaded) < MOST_MS
    assert reader.numbers() == [1, 50, 5000]
    took = browser.execute_script(
        "const start = performance.now(); change({words: ['n4999']}); return performance.now() - start"
    )
    assert reader.numbers() == [1, 1, 1]
    assert took < MOST_MS


def test_a_search_finds_words_of_a_query_a_note_or_an_id_in_any_case(show, reader, record):
    browser = show(record)
    search = browser.find_element(By.CSS_SELECTOR, "input[type=search]")
    for typed, found in (("Q-005", "q-005"), ("BIGGER office?", "q-002"), ("알림 푸시", "q-001")):
        search.clear()
        search.send_keys(typed)
        _wait_for_first(browser, found)
    search.send_keys(" nothing has this")
    reader.wait_for()
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
        reader.wait_for(1, min(50, count), count)
    reader.choose("failures")
    shown = reader.numbers()[-1]
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
    reader.wait_for(1, count, count)


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
        assert start in reader.numbers()
    assert len(_rows(browser)) == 2
    assert not following.is_enabled()


def test_a_baseline_adds_filters_for_what_changed(show, reader, record):
    missed = {"mrr": 0.0, "hit_at_1": 0.0}
    before = [
        item.model_copy(update={"metrics": item.metrics | missed})
        if item.metrics.get("mrr") == 1
        else item
        for item in record.items
    ]
    better = sum(item.metrics.get("mrr") == 1 for item in record.items)
    baseline = KINDS["search"].take_snapshot(replace(record, items=before))
    browser = show(record, baseline=baseline)
    reader.choose("better")
    reader.wait_for(1, 50, better)
    assert "in the baseline: expected note not found" in _rows(browser)[0].text
    reader.choose("worse")
    reader.wait_for()


@pytest.mark.parametrize(
    ("found", "told"), [(2, "Ranking in the baseline"), (0, "The search found nothing.")]
)
def test_an_item_that_moved_shows_the_ranking_of_the_baseline(show, reader, record, found, told):
    item = next(
        one
        for one in record.items
        if one.metrics.get("mrr") == 1 and len(one.ranking) > 2 and one.expected_notes
    )
    lost = {"mrr": 0.5 if found else 0.0, "hit_at_1": 0.0}
    hits = (item.ranking[1], item.ranking[0])[:found]
    before = item.model_copy(update={"metrics": item.metrics | lost, "ranking": hits})
    baseline = KINDS["search"].take_snapshot(replace(record, items=[before]))
    show(replace(record, items=[item]), baseline=baseline)
    detail = reader.open(item.query)
    assert told in detail.text
    rows = [row.text for row in detail.find_elements(By.CSS_SELECTOR, "ol.before li")]
    assert rows == [
        f"{hit.note} {hit.base_score:.3f}"
        + (" expected note" if hit.note in item.expected_notes else "")
        for hit in hits
    ]


AWKWARD = "a b&q='c'%\"#d"


@pytest.fixture
def named(record):
    """The run with a failed query whose id a URL must escape."""
    item = record.items[100].model_copy(update={"id": AWKWARD, "metrics": {"mrr": 0.0}})
    return replace(record, items=[*record.items[:100], item, *record.items[101:]])


def _opened(browser):
    return [toggle.text for toggle in browser.find_elements(By.CSS_SELECTOR, "tr.open .toggle")]


def _anchor(browser):
    return browser.execute_script("return location.hash")


def test_the_url_has_the_filter_and_the_open_item_and_shows_them_again(show, reader, named):
    browser = show(named)
    assert _anchor(browser) == ""
    reader.choose("failures")
    assert _anchor(browser) == "#failures"
    reader.open(named.items[100].query)
    linked = _anchor(browser)
    numbers = reader.numbers()
    show(named, anchor=linked)
    assert reader.numbers() == numbers
    assert _opened(browser) == [named.items[100].query]
    assert browser.find_element(By.CSS_SELECTOR, "input[value=failures]").is_selected()
    top = "return document.querySelector('tr.open').getBoundingClientRect().top"
    assert 0 <= browser.execute_script(top) < 200
    browser.find_element(By.CSS_SELECTOR, "tr.open .toggle").click()
    reader.choose("all")
    assert _anchor(browser) == ""


def test_a_link_opens_an_item_of_any_page_of_the_list_whatever_was_searched(show, reader, record):
    browser = show(record)
    browser.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("no such words")
    reader.wait_for()
    for item in (record.items[5], record.items[-1]):
        browser.execute_script("location.hash = `q=${arguments[0]}`", item.id)
        WebDriverWait(browser, 60).until(lambda _, text=item.query: _opened(browser) == [text])
    assert browser.find_element(By.CSS_SELECTOR, "input[type=search]").get_attribute("value") == ""


def test_an_example_leads_to_its_item_again_and_again(show, named):
    browser = show(replace(named, items=named.items[100:101]))
    link = browser.find_element(By.CSS_SELECTOR, ".example a")
    for _ in range(2):
        browser.execute_script("scrollTo(0, 0)")
        browser.execute_script("arguments[0].click()", link)
        WebDriverWait(browser, 60).until(lambda _: browser.execute_script("return scrollY") > 0)
        assert _opened(browser) == [named.items[100].query]


@pytest.mark.parametrize("anchor", ["#q=gone", "#q=100%", "#__proto__"])
def test_an_anchor_that_names_nothing_shows_the_list_as_usual(show, reader, record, anchor):
    browser = show(record, anchor=anchor)
    assert reader.numbers() == [1, 50, 202]
    assert not _opened(browser)


def test_an_anchor_of_a_section_unfolds_it(show, record):
    browser = show(record, anchor="#latency")
    assert browser.find_element(By.CSS_SELECTOR, "#latency > details").get_property("open")
