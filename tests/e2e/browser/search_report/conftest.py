"""The report of a search run over the examples, in a real Chromium."""

from pathlib import Path

import pytest

from gigamind.i18n import translator
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.policy import Release, read_policy
from gigamind.release.snapshot import read_run
from gigamind.reports.html import render_html
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search.view import SearchView

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture(scope="session")
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
    return read_run(evaluate(options).out, KINDS)


@pytest.fixture(scope="session")
def rendered():
    """The page of a record in a language without a baseline, made once."""
    pages = {}

    def render(record, lang):
        if (id(record), lang) not in pages:  # the record is kept, so no other has its id
            pages[id(record), lang] = record, page_of(record, lang, Outcome())
        return pages[id(record), lang][1]

    return render


def page_of(record, lang, outcome):
    say = translator(lang)
    return render_html(run_document(SearchView(), record, outcome, say), say)


@pytest.fixture
def show(open_page, rendered):
    """Open the report of a record."""

    def show(record, width=1280, lang="en", baseline=None, anchor=""):
        if not baseline:
            return open_page(rendered(record, lang), width, anchor)
        comparison = compare(baseline, KINDS["search"].take_snapshot(record))
        gate = judge_release(comparison, read_policy(None), "mvp")
        release = Release(comparison=comparison, gate=gate)
        return open_page(page_of(record, lang, Outcome(release, baseline)), width, anchor)

    return show
