"""judge_card.html in a real Chromium: it fits a phone, its policy lets nothing run, and its console stays empty."""

import json
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from gigamind.evals.certify import certify
from gigamind.reports.cards.page import render_card_page

pytestmark = pytest.mark.browser

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOSTILE = "</style><script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
JUDGE = {"kind": "llm", "file": "judges/j.toml", "fingerprint": "f" * 64, "model": "openai/x"}


@pytest.fixture
def card(tmp_path):
    """A judge that is wrong on every tenth of 100 queries, with hostile questions and quotes."""
    folder = tmp_path / "run"
    folder.mkdir()
    about = {"run_id": "r", "task": "search", "dataset": "q", "dataset_hash": "d", "judge": JUDGE}
    (folder / "run.json").write_text(json.dumps(about), encoding="utf-8")
    quotes = [{"text": HOSTILE, "note": "a.md", "found": "exact", "trusted": True}]
    with (folder / "per_item.jsonl").open("w", encoding="utf-8") as file:
        for n in range(100):
            judged = (n % 3 == 0) != (n % 10 == 0)
            told = {"outcome": "scored", "told_unanswerable": judged, "quotes": quotes}
            row = {"id": f"q{n}", "query": HOSTILE, "language": ("ko", "en")[n % 2]}
            row |= {"answerable": n % 3 > 0, "judged_unanswerable": judged}
            file.write(json.dumps(row | {"judgement": told | {"confidence": n / 100}}) + "\n")
    (folder / "errors.jsonl").write_text("", encoding="utf-8")
    return certify([folder], created_at="2026-11-22T01:00:00+00:00")


@pytest.fixture
def browser(tmp_path):
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in programs.items() if not path]:
        pytest.fail(
            f"{' and '.join(missing)} not found: apt-get install -y chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(programs["chromedriver"]))
    yield driver
    driver.quit()


def test_the_page_fits_a_phone_and_a_screen_and_runs_nothing(browser, card, tmp_path):
    page = tmp_path / "card.html"
    for lang, width in (("en", 1280), ("ko", 390)):
        page.write_text(render_card_page(card, lang), encoding="utf-8")
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        browser.get(page.as_uri())
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
        assert browser.execute_script("return window.pwned") is None
        assert len(browser.find_elements(By.TAG_NAME, "h1")) == 1
        assert len(browser.find_elements(By.CSS_SELECTOR, ".reliability .dot")) == 10
        assert HOSTILE in browser.find_element(By.CSS_SELECTOR, ".misses blockquote").text
        # its own style applies: the policy names its hash
        colour = "return getComputedStyle(document.querySelector('.reliability .dot')).fill"
        assert browser.execute_script(colour) == "rgb(10, 94, 168)"
    assert browser.get_log("browser") == []
