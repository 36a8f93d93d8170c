"""Runs of the judge that asks no model: the same every time, resumed, compared, gated, held against labels."""

import json
import re
from pathlib import Path

import pytest
from five_answers import ITEMS, LEAVE, item
from out_files import items_of
from row_files import write_rows
from stopping import Stopping

from gigamind.assurance.certify import certify
from gigamind.errors import InputError
from gigamind.evaluation.shards import is_resumable
from gigamind.i18n import translator
from gigamind.metrics.table import label
from gigamind.reports.comparison import WORDS_BLIND
from gigamind.tasks import evaluate, judged_kinds

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def by_words(options):
    """The options of a run over the five answers, or others."""
    return lambda **changes: options(**({"model": None, "judge": "words"} | changes))


@pytest.fixture
def texts():
    """What is the same in files of equal runs: all but times, folders and the run's own id."""

    def read(folder, run):
        untimed = re.compile(r'"latency_ms": ?[\d.]+')
        return untimed.sub("", (folder / "per_item.jsonl").read_text("utf-8")), run.overall

    return read


def test_each_claim_is_judged_without_a_model_and_what_words_cannot_tell_is_not_measured(
    by_words, server
):
    run = evaluate(by_words())
    found = items_of(run.out)
    verdicts = {
        name: [claim["verdict"] for claim in line["evaluation"]["claims"]]
        for name, line in found.items()
        if line["evaluation"]
    }
    assert verdicts == {
        "good": ["supported"],
        "mixed": ["supported", "not_found"],
        "forged": ["contradicted"],  # another number of days
        "silent": [],
    }
    assert found["silent"]["evaluation"]["abstains"]
    assert found["alone"]["outcome"] == "without_context"
    overall = run.summary.overall.answers
    assert overall["correctness"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert overall["utility"] is overall["completeness"] is run.summary.llm is None
    assert not server.seen.bodies
    assert not (run.out / "attempts.jsonl").exists()
    judge = json.loads((run.out / "run.json").read_text("utf-8"))["judge"]
    assert (judge["kind"], judge["file"], judge["model"]) == ("words", "judges/words.toml", None)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_reports_say_that_words_are_judged_and_that_usefulness_is_not_measured(by_words, lang):
    caution = translator(lang)(WORDS_BLIND)
    run = evaluate(by_words(lang=lang, items=[ITEMS[0], ITEMS[2]]))
    summary, page = ((run.out / name).read_text("utf-8") for name in ("summary.md", "report.html"))
    shown = page.partition("<script")[0]
    for text in (summary, shown):
        assert text.count(caution) == 1
        assert label("answers.utility", lang) in text
        assert "None" not in text


def test_a_model_that_nobody_asks_is_said_unless_a_file_of_options_names_it(by_words, tmp_path):
    def warnings(out, **changes):
        run = evaluate(by_words(out=tmp_path / out, **changes))
        return " ".join(json.loads((run.out / "run.json").read_text("utf-8"))["warnings"])

    assert "--model openai/m: " in warnings("typed", model="openai/m")
    by_file = {"file": "gigamind.toml", "options": ["model"]}
    assert "--model" not in warnings("file", model="openai/m", config=by_file)
    assert "--model" not in warnings("none")


def test_equal_runs_are_equal_and_one_that_was_stopped_ends_as_if_it_was_not(by_words, texts):
    whole = evaluate(by_words())
    stopped = by_words()
    halted = evaluate(stopped, Stopping("Judging", 2))
    assert halted.summary.status == "interrupted"
    assert 0 < halted.summary.counts.not_run < 5
    assert is_resumable(stopped.out)
    resumed = evaluate(by_words(resume=stopped.out, out=None))
    assert not is_resumable(stopped.out)
    for other in (resumed, evaluate(by_words())):
        assert texts(other.out, other.summary) == texts(whole.out, whole.summary)


def test_a_run_is_compared_and_a_drop_stops_the_release(by_words, tmp_path):
    asked = [item(f"a{n:02}", "-") for n in range(12)]

    def system(name, right):
        days = [15 if place < right else 20 for place in range(12)]
        rows = (
            {"id": one["id"], "answer": f"연차는 첫해에 {n}일을 준다.", "contexts": [LEAVE]}
            for one, n in zip(asked, days, strict=True)
        )
        file = write_rows(tmp_path / f"{name}.jsonl", rows)
        return by_words(items=asked, system=f"run:{file}", notes=None)

    def judged(name, right):
        return evaluate(system(name, right).model_copy(update={"compare": before.out}))

    before = evaluate(system("before", 12))
    assert judged("again", 12).verdict.gate.verdict == "passed"
    mixed = judged("mixed", 3)
    assert mixed.verdict.gate.verdict == "failed"
    correctness = mixed.verdict.comparison.metric("answers.correctness")
    assert (correctness.baseline, correctness.current) == (1.0, 0.25)
    assert mixed.verdict.comparison.metric("answers.utility") is None


def test_the_result_counts_words_and_what_is_loosely_supported(by_words):
    # The note does not say that the leave is paid (유급으로): the claim has one word more than its sentence.
    more = "연차는 입사 첫해에 유급으로 15일을 준다."
    items = [item("copied", f"{LEAVE} 장미는 없다."), item("loose", more)]
    run = evaluate(by_words(items=items))
    assert (run.summary.verdicts, run.summary.loose) == ({"not_found": 1, "supported": 2}, 1)
    assert re.findall(r"[\d.]+", str(run.page.headline))[:4] == ["1", "3", "33.3", "2"]
    for name in ("report.html", "summary.md"):
        text = (run.out / name).read_text("utf-8")
        assert "1 of 3 " in text
        assert "1 of 2 " in text


def test_a_comparison_says_once_what_words_cannot_see(by_words):
    before = evaluate(by_words())
    after = evaluate(by_words(compare=before.out))
    for name in ("compare.md", "report.html", "summary.md"):
        assert (after.out / name).read_text("utf-8").count(WORDS_BLIND) == 1


def test_without_a_model_the_error_names_both_ways_out(options):
    with pytest.raises(InputError, match=r"--model.*--api-base.*--judge words"):
        evaluate(options(model=None))


def test_a_card_holds_it_against_labels(by_words):
    run = evaluate(by_words(dataset=EXAMPLES / "answers.jsonl", notes=EXAMPLES / "vault"))
    card = certify([run.out], judged_kinds(), created_at="2026-11-24T00:00:00+00:00")
    supported = next(one for one in card.scales if one.name == "supported").overall
    assert (card.judge.kind, card.judge.model, supported.items) == ("words", None, 73)
    assert supported.figures["cohen_kappa"].value == pytest.approx(0.531, abs=0.001)
    assert not any(one.name == "utility" and one.overall.items for one in card.scales)
