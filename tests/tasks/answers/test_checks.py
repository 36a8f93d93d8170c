"""The checklist judges each answer besides."""

import re

import pytest
from five_answers import EVERY, FAILING, GOOD, ITEMS, LEAVE, MIXED, MODEL, PASSING, checks, reply
from out_files import items_of, rows_of
from stopping import Stopping

from gigamind.errors import InputError
from gigamind.evaluation.progress import Quiet
from gigamind.reports.document import Banner
from gigamind.tasks import evaluate
from gigamind.tasks.answers.judging import AnswerEvaluation
from gigamind.tasks.answers.prepare import prepare_answers


def test_the_checklist_judges_each_answer_besides(options, server):
    server.script.extend([*EVERY, PASSING, FAILING, *[checks()] * 3])
    done = evaluate(options(checklist=True))
    items = items_of(done.out)
    good = items["good"]["quality"]
    assert (good["passed"], good["ratio"]) == (True, 0.75)
    assert good["items"][1] == {
        "id": "grounded",
        "text": "검색 결과를 근거로 활용했는가?",
        "yes": True,
        "told": True,
        "quote": LEAVE,
        "trusted": True,
        "source": 1,
        "flipped": None,
    }
    unproven = items["mixed"]["quality"]["items"][1]
    assert (unproven["yes"], unproven["told"], unproven["trusted"]) == (False, True, False)
    assert items["alone"]["quality"]["passed"] is False  # checked without notes, too
    assert items["alone"]["evaluation"] is None
    block = done.summary.quality
    assert (block.feature, block.min_pass_ratio, block.unchecked) == ("search_qa", 0.75, 0)
    assert (block.overall.checked, block.overall.passed, block.overall.pass_rate) == (5, 1, 0.2)
    # Wilson: (0.2 + z²/10 -+ z sqrt(0.16/5 + z²/100)) / (1 + z²/5) with z² = 3.8415
    assert block.overall.low == pytest.approx(0.0362, abs=5e-4)
    assert block.overall.high == pytest.approx(0.6245, abs=5e-4)
    direct, grounded, *_ = block.by_language["ko"].items
    assert (direct.yes, direct.rate, direct.unproven) == (2, 0.4, 0)
    assert (grounded.yes, grounded.unproven) == (1, 1)
    assert list(done.summary.llm.by_role) == [f"judge: {MODEL}", f"quality_gate: {MODEL}"]
    assert done.summary.overall.answers["correctness"] == pytest.approx(0.5)
    text = (done.out / "summary.md").read_text("utf-8")
    assert all(part in text for part in ("1 of 5 answers pass the checklist", "75%"))


def test_a_failed_check_leaves_the_evaluation_and_a_failed_evaluation_the_check(options, server):
    lost = checks("direct")
    # The evaluation of "mixed" fails, the check of "good" does.
    server.script.extend([GOOD, reply(), {"claims": []}, lost, lost, FAILING])
    done = evaluate(options(items=ITEMS[:2], checklist=True))
    items = items_of(done.out)
    assert items["good"]["evaluation"]["correctness"] == 1.0
    assert (items["good"]["quality"], items["good"]["quality_code"]) == (None, "invalid_output")
    assert (items["mixed"]["evaluation"], items["mixed"]["outcome"]) == (None, "unscored")
    assert items["mixed"]["quality"]["ratio"] == 0.25
    errors = rows_of(done.out, "errors.jsonl")
    found = [(row["id"], row["message"].partition(":")[0]) for row in errors]
    assert found == [("mixed", "answer mixed"), ("good", "checklist of answer good")]
    assert (done.summary.quality.unchecked, done.summary.counts.unjudged) == (1, 1)


def test_checks_that_ctrl_c_left_are_told_apart_from_those_that_failed(options, server):
    server.script.extend([GOOD, MIXED, PASSING, FAILING])
    done = evaluate(options(items=ITEMS[:2], checklist=True), Stopping("Checking", 1))
    quality = done.summary.quality
    assert (quality.overall.checked, quality.unchecked, quality.not_run) == (1, 0, 1)
    assert (done.summary.status, done.summary.counts.not_run) == ("interrupted", 0)
    assert isinstance(done.page.verdict, Banner)
    assert re.findall(r"\d+", done.page.headline)[0] == "1"


def test_progress_is_told_of_judging_and_of_checking(options, server):
    class Heard:
        def __init__(self):
            self.last = {}

        def stage(self, name, done, total):
            self.last[name] = (done, total)

    server.script.extend([GOOD, MIXED, PASSING, FAILING])
    heard = Heard()
    evaluate(options(items=ITEMS[:2], checklist=True), heard)
    assert (heard.last["Judging"], heard.last["Checking"]) == ((2, 2), (2, 2))


def test_a_dry_run_counts_what_is_checked_again(options):
    prepared = prepare_answers(options(checklist=True, fresh_fraction=0.5), Quiet())
    judging, _, checking = AnswerEvaluation(prepared).estimate()
    assert (judging.calls, checking.calls) == (6, 8)  # of 4 and of 5, half again


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"checklist": True, "feature": "chat"}, r"chat\b.*insight, search_qa"),
        ({"checklist_judge": "mine.toml"}, "--checklist-judge: .*--checklist"),
        ({"feature": "insight"}, "--feature: .*--checklist"),
        ({"checklist": True, "checklist_judge": "no.toml"}, "no.toml: "),
    ],
)  # fmt: skip
def test_a_checklist_that_cannot_be_is_refused_before_anything_is_asked(
    options, server, changes, named
):
    with pytest.raises(InputError, match=named):
        evaluate(options(**changes))
    assert not server.seen.bodies
