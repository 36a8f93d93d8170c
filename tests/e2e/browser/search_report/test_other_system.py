"""report.html of a run file without a vault, in a real Chromium: what is not known is a dash, and nothing breaks."""

import pytest
from row_files import query_row, write_rows
from selenium.webdriver.common.by import By

from gigamind.release.model import read_run
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import SearchEvalOptions

pytestmark = pytest.mark.browser


def test_a_run_without_a_vault_shows_its_rankings(show, tmp_path):
    rows = [query_row("a", "roses", "garden.md"), query_row("b", "zebra")]
    dataset = write_rows(tmp_path / "queries.jsonl", rows)
    hits = ["other.md", {"note": "garden.md", "score": 17.25}]
    run = write_rows(tmp_path / "a.jsonl", [{"id": "a", "hits": hits}])
    options = SearchEvalOptions(dataset=dataset, system=f"run:{run}", out=tmp_path / "out")
    browser = show(read_run(evaluate(options).out, KINDS))
    assert "run:a.jsonl" in browser.page_source
    first = browser.find_element(By.CSS_SELECTOR, ".items > tbody > tr:not(.detail)")
    first.find_element(By.CSS_SELECTOR, "button").click()
    ranking = browser.find_element(By.CSS_SELECTOR, "table.ranking")
    shown = [row.text.split() for row in ranking.find_elements(By.CSS_SELECTOR, "tr.hit")]
    # One score: without a graph none is added to it.
    assert shown == [["1", "other.md", "–"], ["2", "garden.md", "expected", "note", "17.250"]]
