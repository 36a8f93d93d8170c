"""`make demo-answers`: the example answers judged by a model that believes too much."""

import json
import runpy
from collections import Counter
from pathlib import Path

import pytest

from gigamind.i18n import translator
from gigamind.tasks.answers.schema import AnswerSummaryReport
from gigamind.tasks.answers.view import _rejected_support, _second_look

pytestmark = pytest.mark.docs
DEMO = Path(__file__).parents[2] / "examples" / "demo_answers.py"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The out folder of the demo."""
    folder = tmp_path_factory.mktemp("demo")
    demo = runpy.run_path(str(DEMO))["demo"]
    options = ["--lang", "ko", "--cache-dir", str(folder / "cache"), "--out", str(folder / "out")]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(SystemExit) as ended:
            demo(options)
    assert not ended.value.code
    return folder / "out"


@pytest.fixture(scope="module")
def rows(shown):
    return [json.loads(line) for line in (shown / "per_item.jsonl").read_text("utf-8").splitlines()]


def test_just_the_claims_that_people_doubt_are_not_believed_in_both_languages(rows):
    doubts = {"ko": Counter(), "en": Counter()}
    for row in rows:
        for claim, label in zip(row["evaluation"]["claims"], row["labels"]["claims"], strict=True):
            assert claim["told"] == "supported"
            assert (claim["verdict"] == "supported") == (label["verdict"] == "supported")
            doubts[row["language"]][claim["doubt"]] += 1
    # Some are stopped by the sentence around the quote, some by who looks again, in each language.
    assert all({None, "contradiction", "not_confirmed"} <= set(found) for found in doubts.values())
    assert sum(found.total() - found[None] for found in doubts.values()) == 19


def test_what_is_left_out_is_told_where_a_fact_is_missing(rows):
    for row in rows:
        missing = [fact["text"] for fact in row["labels"]["facts"] if fact["claim"] is None]
        assert [one["what"] for one in row["evaluation"]["omissions"]] == missing


def test_the_page_and_the_summary_say_what_was_not_believed_and_that_the_second_look_was(shown):
    page, summary = ((shown / name).read_text("utf-8") for name in ("report.html", "summary.md"))
    report = AnswerSummaryReport.model_validate_json((shown / "summary.json").read_text("utf-8"))
    assert (report.reported_verdicts["supported"], sum(report.not_believed.values())) == (73, 19)
    assert [look.believed for look in report.second_looks] == [True, True]
    say = translator("ko")
    for text in map(say, (_rejected_support(report), _second_look(report))):
        assert text in page
        assert text.replace("~", r"\~") in summary  # Markdown strikes out what is between two


def test_the_run_says_first_on_its_page_and_in_its_summary_that_no_model_judged(shown):
    run = json.loads((shown / "run.json").read_text("utf-8"))
    assert "script" in run["warnings"][0]
    for name in ("report.html", "summary.md"):
        assert "스크립트가" in (shown / name).read_text("utf-8")
