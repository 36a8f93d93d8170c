"""report.html in a real Chromium: what a hostile note does not."""

from dataclasses import replace

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from gigamind.records.schema import ErrorReport

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=window.pwned=2>"


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
    refused = WebDriverWait(browser, 60).until(lambda _: browser.get_log("browser"))
    assert all("Content Security Policy" in entry["message"] for entry in refused)
    assert browser.execute_script("return typeof window.pwned") == "undefined"
