"""Pages of every kind in a real Chromium: nothing is cut off, on a phone and on a wide screen."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gigamind.cli.main import cli

pytestmark = pytest.mark.browser

EXAMPLES = Path(__file__).parents[3] / "examples"
VAULT = ["--notes", str(EXAMPLES / "vault")]
SEARCH = ["--dataset", str(EXAMPLES / "queries.jsonl"), *VAULT, "--mode", "keyword"]
ANSWERS = ["--dataset", str(EXAMPLES / "answers.jsonl"), *VAULT, "--judge", "words"]

UNFOLD = """
for (const details of document.querySelectorAll("details")) details.open = true;
document.querySelector(".toggle")?.click();
"""
CUT_OFF = """
const scrolls = (e) => e && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
return [...document.querySelectorAll("main *, header *")].filter((e) => {
  const { width, left, right } = e.getBoundingClientRect();
  const isOutside = width && (left < -1 || right > innerWidth + 1);
  return isOutside && !scrolls(e.parentElement) && !e.closest(".hidden, thead, svg");
}).map((e) => e.outerHTML.slice(0, 80));
"""

MISPLACED = """
const box = (e) => e.getBoundingClientRect();
return [...document.querySelectorAll(".stacks tr:has(> td.result)")].filter((row) => {
  const [name, result] = [row.querySelector("th"), row.querySelector(".result")].map(box);
  const others = [...row.querySelectorAll("td:not(.result)")].map(box).filter((cell) => cell.width);
  const isBelow = ({ top }) => top > name.bottom - 1;
  return isBelow(result) || Math.abs(result.right - box(row).right) > 1 || !others.every(isBelow);
}).map((row) => row.innerText);
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return the folder of pages of real runs over the examples."""
    folder = tmp_path_factory.mktemp("pages")

    def run(*words, out=""):
        done = CliRunner().invoke(cli, [*words, *(["--out", str(folder / out)] if out else [])])
        assert done.exit_code == 0, done.output

    base, other = str(folder / "runs" / "search"), str(folder / "runs" / "compared")
    run("eval", "search", *SEARCH, "--save-snapshot", out=base)
    options = ("--topk", "3", "--save-snapshot", "--compare", base, "--changed", "settings")
    run("eval", "search", *SEARCH, *options, out=other)
    run("eval", "answers", *ANSWERS, "--lang", "ko", out="answers")
    links = ["--dataset", str(folder / "links.jsonl"), "--notes", str(folder / "vault")]
    run("eval", "generate-links", *VAULT, "--out-notes", links[3], *links[:2])
    run("eval", "links", *links, out="links")
    run("compare", base, other, "--lang", "ko", out="two")
    run("compare", base, other, base, "--lang", "ko", out="several")
    run("history", str(folder / "runs"), "--lang", "ko", out="history")
    run("judge", "certify", str(folder / "answers"), out="card")
    run("tune", "search", *SEARCH, "--modes", "keyword", "--title-weights", "1,2", out="tune")
    return folder


KINDS = (
    "runs/search/report", "runs/compared/report", "answers/report", "links/report", "two/compare",
    "several/compare", "history/history", "tune/tune", "card/judge_card",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_page_is_cut_off(open_page, pages, kind):
    text = (pages / f"{kind}.html").read_text("utf-8")
    for width in (390, 768, 1600):
        browser = open_page(text, width)
        browser.execute_script(UNFOLD)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(CUT_OFF) == []
        assert width > 390 or browser.execute_script(MISPLACED) == []
        if width == 1600:
            rights = "return [...document.querySelectorAll('header *')].map((e) => e.getBoundingClientRect().right)"
            assert max(browser.execute_script(rights)) > width * 2 / 3


def test_the_items_behind_a_judge_report_are_shown_on_a_phone_too(open_page, pages):
    browser = open_page((pages / "card/judge_card.html").read_text("utf-8"), 390)
    rows = browser.find_elements("css selector", "header tbody tr")
    cells = [[cell.text for cell in row.find_elements("css selector", "td")] for row in rows]
    assert all(row[2] for row in cells)
    assert any(row[3] for row in cells)  # where an answer has several
