"""judge_card.html in a real Chromium: it fits a phone, its policy lets nothing run, and its console stays empty."""

import pytest
from judged_folders import write_judged_run
from selenium.webdriver.common.by import By

from gigamind.assurance.certify import certify
from gigamind.i18n import translator
from gigamind.reports.card import card_document
from gigamind.reports.html import render_html
from gigamind.tasks import judged_kinds

pytestmark = pytest.mark.browser

HOSTILE = "</style><script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
GRADES = ("low", "medium", "high")  # what a model says of its own verdict


@pytest.fixture
def card(tmp_path):
    """A judge that is wrong on every tenth of 100 queries, with hostile questions and quotes."""
    quotes = [{"text": HOSTILE, "note": "a.md", "found": "exact", "trusted": True}]
    rows = []
    for n in range(100):
        judged = (n % 3 == 0) != (n % 10 == 0)
        told = {"outcome": "scored", "told_unanswerable": judged, "quotes": quotes}
        row = {"id": f"q{n}", "query": HOSTILE, "language": ("ko", "en")[n % 2]}
        row |= {"answerable": n % 3 > 0, "judged_unanswerable": judged}
        rows.append(row | {"judgement": told | {"confidence": GRADES[n % 3]}})
    folder = write_judged_run(tmp_path / "run", rows)
    return certify([folder], judged_kinds(), created_at="2026-11-22T01:00:00+00:00")


@pytest.fixture
def card_of_claims(tmp_path):
    """A judge of the claims of 40 answers, five each, of which three have labels; twice, for the flips."""
    rows = []
    for n in range(40):
        said = "supported" if n % 3 else "unverified"
        claims = [
            {"id": c, "text": HOSTILE, "verdict": said, "evidence": {"quote": HOSTILE}}
            for c in range(1, 6)
        ]
        labels = [
            {"text": HOSTILE, "claim": c, "verdict": "supported" if n % 4 else "not_found"}
            for c in range(1, 4)
        ]
        row = {"id": f"a{n}", "question": HOSTILE, "language": ("ko", "en")[n % 2]}
        judged = {"correctness": 0.5, "utility": 0.5, "claims": claims}
        rows.append(row | {"evaluation": judged, "labels": {"claims": labels}})
    folders = [
        write_judged_run(tmp_path / name, rows, task="answers", run_id=name)
        for name in ("claims", "again")
    ]
    return certify(folders, judged_kinds(), created_at="2026-11-22T01:00:00+00:00")


def render(card, lang="en"):
    say = translator(lang)
    return render_html(card_document(card), say)


def open_page(browser, page, width):
    """Open a page of that width, with all sections unfolded."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get(page.as_uri())
    unfold = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    browser.execute_script(unfold)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_page_fits_a_phone_and_a_screen_and_runs_nothing_third_party(browser, card, tmp_path):
    page = tmp_path / "card.html"
    for lang, width in (("en", 1280), ("ko", 390)):
        page.write_text(render(card, lang), encoding="utf-8")
        open_page(browser, page, width)
        assert browser.execute_script("return window.pwned") is None
        assert len(browser.find_elements(By.TAG_NAME, "h1")) == 1
        assert HOSTILE in browser.find_element(By.CSS_SELECTOR, ".example").text
        # its own style applies: the policy names its hash
        colour = "return getComputedStyle(document.querySelector('summary')).color"
        assert browser.execute_script(colour) == "rgb(10, 94, 168)"
    assert browser.get_log("browser") == []


def test_the_answers_behind_claims_are_shown_on_a_phone_too(browser, card_of_claims, tmp_path):
    page = tmp_path / "card.html"
    page.write_text(render(card_of_claims), encoding="utf-8")
    open_page(browser, page, 390)
    agreement, consistency = browser.find_elements(By.CSS_SELECTOR, "header tbody tr")
    for row, items in ((agreement, "120"), (consistency, "200")):
        cells = [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
        assert cells[2:4] == [items, "40"]
    assert browser.get_log("browser") == []
