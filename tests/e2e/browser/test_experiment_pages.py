"""compare.html in a real Chromium; how wide it is: test_pages_fit.py."""

import shutil
from pathlib import Path

import pytest

from gigamind.i18n import translator
from gigamind.release.compare import compare_with_first
from gigamind.release.model import read_snapshot
from gigamind.reports.experiment import experiment_document
from gigamind.reports.html import render_html
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import SearchEvalOptions

pytestmark = pytest.mark.browser

EXAMPLES = Path(__file__).parents[3] / "examples"
HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=window.pwned=2>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs over the examples, and over vaults without policies, or half of them, which stand in nobody's way there.

    Nobody asks for the policies: what they answer would be gone.
    """
    folder = tmp_path_factory.mktemp("experiment")
    lines = (EXAMPLES / "queries.jsonl").read_text("utf-8").splitlines(keepends=True)
    asked = [line for line in lines if "policies/" not in line]
    (folder / "queries.jsonl").write_text("".join(asked), "utf-8")
    for name, gone in (("whole", "x*"), ("without", "*"), ("half", "[a-m]*")):
        shutil.copytree(EXAMPLES / "vault", folder / f"{name}.vault")
        for note in (folder / f"{name}.vault" / "policies").glob(gone):
            note.write_text("# gone\n", "utf-8")
        options = SearchEvalOptions(
            dataset=folder / "queries.jsonl",
            notes=folder / f"{name}.vault",
            out=folder / "runs" / name,
            mode="keyword",
            speed_passes=0,
        )
        evaluate(options)
    return folder / "runs"


@pytest.fixture
def show(open_page, runs):
    """Open the comparison of these runs, in which one item's text means harm."""

    def opened(*names):
        read = [read_snapshot(runs / name, KINDS) for name in names]
        found = compare_with_first(names, read)
        worst = found.comparisons[0].changes[0].id
        read = [_with_text(run, worst, HOSTILE) for run in read]
        say = translator("en")
        browser = open_page(render_html(experiment_document(found, read, say), say))
        browser.execute_script("location.hash = 'list'")  # opens the folded section
        return browser

    return opened


def _with_text(run, name, text):
    items = (
        item.model_copy(update={"query": text}) if item.id == name else item for item in run.items
    )
    return run.model_copy(update={"items": tuple(items)})


def test_an_item_opens_with_the_rankings_of_all_runs_and_no_text_is_markup(show, reader):
    show("whole", "without", "half")
    detail = reader.open(HOSTILE)
    columns = detail.find_elements("css selector", ".rankings > div")
    assert [column.find_element("tag name", "h3").text for column in columns] == [
        *("whole", "without", "half")
    ]
    places = [
        ["expected note" in hit.text for hit in column.find_elements("css selector", "li")].index(
            True
        )
        for column in columns[:2]
    ]
    assert places[0] != places[1]
    assert reader.has_run_nothing()
