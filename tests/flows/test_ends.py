"""Every end of an evaluation: state, artifacts, JUnit, comment and job summary say the same."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from answer_reply import answer_reply, supported
from flow_artifacts import artifacts_of, events_of
from flow_files import load_flow
from gate_policy import shipped
from row_files import query_row, write_rows

from gigamind.errors import GigamindError
from gigamind.evaluation.options import validated
from gigamind.publish.ends import in_form_words
from gigamind.publish.flows import STEPS
from gigamind.publish.here import run_flow
from gigamind.tasks import evaluate
from gigamind.tasks.options import AnswerEvalOptions, SearchEvalOptions
from gigamind.tasks.promotion import waive_run

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("prefect_server")]
FRUITS = ("apple", "cherry", "fig", "grape", "lemon", "mango", "olive", "peach", "plum", "quince")
TEXT = "Plant it in October."


class End:
    """What one evaluation left in every medium; all of them lead with the same sentence."""

    def __init__(self, state: Any, folder: Path) -> None:
        self.state, self.name = state, state.name
        artifacts = artifacts_of(state).values()
        page = next(artifact for artifact in artifacts if artifact.data.startswith("# "))
        assert {artifact.description for artifact in artifacts} == {page.description}
        self.page, self.sentence = page.data, page.description
        self.comment = (folder / "comment.md").read_text("utf-8")
        self.suite = ET.parse(folder / "junit.xml").getroot()
        assert (folder / "summary.md").read_text("utf-8") == f"{self.comment}\n"
        for text in self.texts:
            paragraphs = text.replace("\\", "").strip().split("\n\n")
            lead = next(paragraph for paragraph in paragraphs if "**" in paragraph)
            self.is_banner = lead.startswith("> ")
            assert in_form_words(lead.removeprefix("> ")) == f"**{self.sentence}**"
            assert text.count("**What to do next**") <= 1

    @property
    def junit(self) -> dict[str, str]:
        """The outcome of each case by its name."""
        return {case.get("name", ""): case[0].tag for case in self.suite}

    @property
    def has_link(self) -> bool:
        return all("](http://reports.example/new/report.html)" in t for t in self.texts)

    @property
    def texts(self) -> tuple[str, str]:
        return self.page, self.comment


@pytest.fixture
def outputs(tmp_path, monkeypatch, examples_cache):
    """Options that write all outputs, into folders that something serves."""
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(examples_cache))
    monkeypatch.setenv("GIGAMIND_REPORTS", str(tmp_path / "runs"))
    monkeypatch.setenv("GIGAMIND_REPORTS_URL", "http://reports.example")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    return {
        "junit": tmp_path / "junit.xml",
        "comment": tmp_path / "comment.md",
        "compare": tmp_path / "runs" / "base",
        "phase": "beta",
    }


def ended(flow, options, folder):
    (folder / "summary.md").unlink(missing_ok=True)
    return End(load_flow(flow)(options, return_state=True), folder)


@pytest.fixture
def search(tmp_path, outputs):
    """Run a flow over a vault of ten notes whose baseline is `runs/base`."""
    (tmp_path / "vault").mkdir()
    for fruit in FRUITS:
        write(tmp_path, fruit, fruit)
    rows = (query_row(f"q{n}", fruit, f"{fruit}.md") for n, fruit in enumerate(FRUITS))
    write_rows(tmp_path / "queries.jsonl", rows)
    (tmp_path / "gates.toml").write_text(shipped("notes", "hardware"), "utf-8")
    given = {
        "dataset": tmp_path / "queries.jsonl",
        "notes": tmp_path / "vault",
        "mode": "keyword",
        "speed_passes": 0,
    }

    def measured(out, **changes):
        options = SearchEvalOptions.model_validate(
            given | {"out": tmp_path / "runs" / out} | changes
        )
        return evaluate(options)

    def options(out="new", **changes):
        gated = outputs | {"gates": tmp_path / "gates.toml", "out": tmp_path / "runs" / out}
        return SearchEvalOptions.model_validate(given | gated | changes)

    def run(out="new", flow="release_gate", **changes):
        return ended(flow, options(out, **changes), tmp_path)

    measured("base")
    run.measured, run.options = measured, options
    return run


def write(folder, name, text):
    (folder / "vault" / f"{name}.md").write_text(f"# {text}\n\n{text}\n", "utf-8")


def hide(folder, *fruits):
    """Put another note before the expected one of these queries."""
    for fruit in fruits:
        (folder / "vault" / f"{fruit}.md").write_text("# other\n\nnothing\n", "utf-8")
        write(folder, f"{fruit}-2", fruit)


def test_a_pass_has_its_sentence_table_trend_and_link_in_all_media(search):
    end = search()
    assert (end.state.type.value, end.name) == ("COMPLETED", "Completed")
    assert end.state.message == end.sentence
    assert set(end.junit.values()) == {"system-out", "skipped"}
    assert end.has_link
    assert "\n| hit@1 | " in end.page
    assert "](data:image/svg+xml;base64," in end.page
    assert "data:image" not in end.comment


def test_a_drop_fails_and_shows_the_metric_and_three_of_the_examples(search, tmp_path):
    hide(tmp_path, "apple", "fig", "plum", "peach")
    end = search()
    assert (end.state.type.value, end.name) == ("FAILED", "Regressed")
    assert end.state.message == f"{end.sentence} (exit code 4)"
    assert "hit@1" in end.sentence
    assert "40.0" in end.sentence
    assert end.junit["search.hit_at_1"] == "failure"
    for text in end.texts:
        assert "(3 of 4)" in text
        assert text.index("hit@1") < text.index("gigamind gate waive") < text.index("| MRR |")
        assert text.index("| MRR |") < text.index("**apple** (`q0`)") < text.index("✗ failed")
    (event,) = events_of(end.state, "gigamind.gate.failed", 1)
    assert event["payload"]["worse"] == 4
    assert "hit@1" in event["payload"]["reasons"][0]


@pytest.mark.whole
@pytest.mark.parametrize(("fails", "name"), [(False, "RegressedSoft"), (True, "Regressed")])
def test_an_evaluation_that_got_worse_ends_like_the_gate_where_that_is_asked_for(
    search, tmp_path, fails, name
):
    hide(tmp_path, "apple", "fig", "plum")
    end = search(flow="eval_search", fail_on_regression=fails)
    assert (end.state.is_failed(), end.name) == (fails, name)
    assert len(events_of(end.state, "gigamind.gate.failed", fails)) == fails


@pytest.mark.whole
def test_who_runs_that_flow_here_gets_the_run_and_its_verdict(search, tmp_path):
    hide(tmp_path, "apple", "fig", "plum")
    finished = run_flow(search.options(format="md", fail_on_regression=True))
    assert finished.verdict.exit_code(fail_on_regression=True) == 4
    assert (finished.out, finished.summary.task) == (tmp_path / "runs" / "new", "search")


def test_lost_queries_decide_rather_than_an_unmeasured_time(search, tmp_path):
    search.measured("timed", speed_passes=5)
    for fruit in ("apple", "fig", "plum"):
        (tmp_path / "vault" / f"{fruit}.md").unlink()
    end = search(compare=tmp_path / "runs" / "timed")
    assert end.name == "Regressed"
    assert {"3", "10", "7"} <= set(end.sentence.split())
    assert "p95" not in end.sentence
    assert (end.junit["coverage"], end.junit["search_p95"]) == ("failure", "failure")
    (speed,) = (line for line in end.page.splitlines() if line.startswith("| query latency"))
    assert speed.split(" | ")[2:5] == ["–", "–", "–"]
    assert "\n## Errors\n\n" in end.page
    assert end.comment.count("<details>") == 1


def test_a_failure_that_only_warns_is_no_failure_and_no_pass(search, tmp_path):
    text = shipped("notes", "hardware").replace('soft = ["links"]', 'soft = ["search"]')
    (tmp_path / "gates.toml").write_text(text, "utf-8")
    hide(tmp_path, "apple", "fig")
    end = search(phase="mvp")
    assert (end.state.is_completed(), end.name) == (True, "RegressedSoft")
    assert end.state.message == end.sentence
    assert end.junit["search.hit_at_1"] == "skipped"
    assert end.suite.get("failures") == "0"


def test_too_few_items_end_inconclusive_and_say_how_to_decide(search, tmp_path):
    gates = 'schema = 1\n[comparable]\nrelax = ["notes"]\n[quality]\nmetrics = []\njudged = ["search.mrr"]\n'
    (tmp_path / "gates.toml").write_text(gates, "utf-8")
    hide(tmp_path, "apple")
    end = search()
    assert (end.state.is_completed(), end.name) == (True, "Inconclusive")
    assert "MRR" in end.sentence
    assert end.junit["search.mrr"] == "skipped"
    assert "with more items" in end.comment
    assert "--speed-passes" not in end.comment  # a time decided nothing
    assert "gigamind baseline promote" in end.comment
    assert "--force" not in end.comment


def test_runs_that_differ_are_not_comparable_and_have_no_results(search, tmp_path):
    hide(tmp_path, "apple")
    end = search(gates=None)
    assert (end.state.type.value, end.name) == ("FAILED", "NotComparable")
    assert end.state.message == f"{end.sentence} (exit code 1)"
    assert list(end.junit.values()) == ["error"]
    for text in end.texts:
        assert "| hit@1 |" not in text
        command = f"gigamind compare {tmp_path / 'runs' / 'base'} {tmp_path / 'runs' / 'new'}"
        assert f"{command} --changed notes`" in text


def test_a_waived_failure_names_who_and_until_when(search, tmp_path):
    hide(tmp_path, "apple", "fig")
    search("first")
    today = datetime.now(UTC).date()
    waive_run(tmp_path / "runs" / "first", reason="new FAQ", until=today, by="Kim")
    end = search()
    assert (end.state.is_completed(), end.name) == (True, "Waived")
    assert all(word in end.sentence for word in ("Kim", "new FAQ", today.isoformat(), "hit@1"))
    assert end.junit["search.hit_at_1"] == "skipped"
    assert "Kim" in ET.tostring(end.suite, "unicode")
    assert end.suite.get("failures") == "0"


@pytest.mark.parametrize(
    ("changes", "name", "code"),
    [
        ({"compare": None}, "InvalidInput", 1),
        ({"notes": "missing"}, "NotesInaccessible", 2),
        ({"system": "http://127.0.0.1:9", "mode": "hybrid"}, "EvaluationFailed", 3),
    ],
)
def test_a_run_without_a_result_says_why_in_all_media(search, caplog, changes, name, code):
    end = search(**changes)
    assert (end.state.type.value, end.name) == ("FAILED", name)
    assert end.state.message.endswith(f"(exit code {code})")
    assert end.is_banner
    assert list(end.junit.values()) == ["error"]
    assert not any(line.exc_info and line.exc_info[0] for line in caplog.records)  # no traceback
    with pytest.raises(GigamindError) as raised:
        end.state.result()
    assert raised.value.exit_code == code


def test_a_run_without_a_baseline_is_measured_and_says_how_to_make_it_one(search):
    end = search(flow="eval_search", compare=None, gates=None)
    assert (end.state.type.value, end.name) == ("COMPLETED", "Completed")
    assert end.state.message == end.sentence
    assert list(end.junit.values()) == ["system-out"]
    assert "gigamind baseline promote" in end.comment
    assert end.has_link


@pytest.mark.parametrize(("least", "name"), [(0.5, "Completed"), (1.0, "Regressed")])
def test_floors_decide_without_a_baseline(search, tmp_path, least, name):
    (tmp_path / "gates.toml").write_text(f'schema = 1\n[floors]\n"search.mrr" = {least}\n')
    hide(tmp_path, "apple")
    end = search(flow="eval_search", compare=None, fail_on_regression=True)
    is_failed = name == "Regressed"
    assert end.name == name
    assert end.state.message == end.sentence + (" (exit code 4)" if is_failed else "")
    assert end.junit == {"search.mrr": "failure" if is_failed else "system-out"}
    assert ("baseline promote" in end.comment) is not is_failed
    assert end.has_link


def test_an_interrupted_run_has_a_banner_and_no_verdict(search, monkeypatch):
    real = type(STEPS).run_batch

    def run_batch(self: Any, options: Any, first: int, end: int, run: str = "") -> Any:
        if first:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, options, first, end, run)

    monkeypatch.setattr("gigamind.evaluation.run._batch_size", lambda *_: 3)
    monkeypatch.setattr(type(STEPS), "run_batch", run_batch)
    end = search()
    assert (end.state.type.value, end.name) == ("COMPLETED", "Interrupted")
    assert end.is_banner
    assert "7" in end.sentence
    counts = end.state.result()["summary"]["counts"]
    assert (counts["queries_total"], counts["queries_not_run"]) == (3, 7)
    assert "--resume" not in end.comment  # nothing was paid for
    assert list(end.junit.values()) == ["error"]


@pytest.fixture
def answers(tmp_path, outputs, server):
    """Run a flow over ten answers whose baseline is `runs/base`; `replies` are the model's utilities."""
    row = {"answer": "In October.", "language": "en"}
    rows = [row | {"id": name, "question": f"When do I plant the {name}?"} for name in FRUITS]
    for one in rows:
        one["context_notes"] = [{"title": one["id"], "text": TEXT}]
    write_rows(tmp_path / "answers.jsonl", rows)
    (tmp_path / "gates.toml").write_text('schema = 1\n[quality]\ncards = "ignore"\n', "utf-8")
    given = {
        "dataset": tmp_path / "answers.jsonl",
        "model": "openai/judge",
        "api_base": server.url,
        "max_in_flight": 1,
        "model_timeout_s": 60,  # both given: no speed is measured
        "store_mode": "off",
    }

    def answered(utility, out, changes):
        reply = answer_reply([supported(TEXT)], TEXT, utility=utility)
        server.script.clear()
        server.script.extend([reply] * len(FRUITS))
        return validated(AnswerEvalOptions, given | {"out": tmp_path / "runs" / out} | changes)

    def run(out="new", flow="release_gate", utility=1.0, **changes):
        changes = {**outputs, "gates": tmp_path / "gates.toml", **changes}
        return ended(flow, answered(utility, out, changes), tmp_path)

    evaluate(answered(1.0, "base", {"save_snapshot": True}))
    return run


def test_a_pass_after_a_failure_is_passed_on_retry(answers):
    assert answers("first", utility=0.0).name == "Regressed"
    end = answers()
    assert (end.state.type.value, end.name) == ("COMPLETED", "Completed")
    assert end.state.message == end.sentence
    assert "attempt 2" in end.sentence
    assert "utility" in end.sentence
    assert "\n## Model and cost\n" in end.page


@pytest.mark.parametrize("changes", [{}, {"flow": "eval_answers", "compare": None, "gates": None}])
def test_a_budget_that_ends_early_is_incomplete_and_no_regression(answers, changes):
    end = answers(max_calls=3, **changes)
    assert (end.state.type.value, end.name) == ("FAILED", "BudgetExceeded")
    assert end.is_banner
    assert "7 of 10" in end.sentence
    assert "resume" in end.sentence
    assert end.junit["evaluation"] == "error"
    assert "baseline promote" not in end.comment
    assert end.has_link


def test_too_few_verdicts_are_incomplete(answers):
    faulty = "openai/judge;fault=truncated_stop;share=0.5;sid=x"
    end = answers(flow="eval_answers", compare=None, gates=None, model=faulty, min_coverage=1.0)
    assert (end.state.type.value, end.name) == ("FAILED", "EvaluationFailed")
    assert end.is_banner
    assert "min_coverage" in end.sentence
    assert end.junit == {"evaluation": "error"}
