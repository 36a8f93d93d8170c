"""Every end of an evaluation on a real server: state, artifacts, JUnit, comment and job summary agree."""

import json
import os
import shutil
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from answer_reply import answer_reply, supported
from flow_artifacts import artifacts_of
from gate_policy import shipped

from gigamind.evaluation.attempts import waive
from gigamind.evaluation.options import validated
from gigamind.tasks import evaluate
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.tasks.search.options import SearchEvalOptions

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("prefect_server")]
FLOWS = Path(__file__).parents[2] / "flows"
FRUITS = ("apple", "cherry", "fig", "grape", "lemon", "mango", "olive", "peach", "plum", "quince")


class End:
    """What one evaluation left in every medium."""

    def __init__(self, state: Any, folder: Path) -> None:
        self.state = state
        artifacts = artifacts_of(state)
        pages = [a for a in artifacts.values() if a.type == "markdown"]
        self.page, self.about = pages[0].data, pages[0].description
        self.table = next((a for a in artifacts.values() if a.type == "table"), None)
        self.comment = (folder / "comment.md").read_text("utf-8")
        self.summary = (folder / "summary.md").read_text("utf-8")
        self.junit = ET.parse(folder / "junit.xml").getroot()
        if dump := os.environ.get("DUMP"):
            text = "\n".join([
                f"STATE {state.type.value} {state.name}: {state.message}",
                f"ABOUT {self.about}", f"TABLE {self.table and self.table.description} {self.table and self.table.data[:300]}", "---- PAGE", self.page, "---- COMMENT", self.comment,
                "---- SUMMARY SAME" if self.summary == self.comment + "\n" else "---- SUMMARY\n" + self.summary, "---- JUNIT", (folder / "junit.xml").read_text("utf-8"),
            ])
            import re
            text = re.sub(r"base64,[^)]*", lambda m: f"base64,({len(m[0])})", text)
            name = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].split(" ")[0]
            place = Path(dump, f"{name}.txt")
            with place.open("a") as f: f.write(text + "\n=========\n")


@pytest.fixture
def search(tmp_path, monkeypatch):
    """Run the release gate over a vault of ten notes whose baseline is in `runs/base`, or evaluate it."""
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GIGAMIND_REPORTS", str(tmp_path / "runs"))
    monkeypatch.setenv("GIGAMIND_REPORTS_URL", "http://reports.example")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    vault, dataset = tmp_path / "vault", tmp_path / "queries.jsonl"
    vault.mkdir()
    rows = []
    for n, fruit in enumerate(FRUITS):
        (vault / f"{fruit}.md").write_text(f"# {fruit}\n\nThe {fruit} tree.\n", "utf-8")
        rows.append(
            {"id": f"q{n}", "query": fruit, "answerable": True, "expected_notes": [f"{fruit}.md"]}
        )
    dataset.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "gates.toml").write_text(shipped("notes", "hardware"), "utf-8")

    def run(out="new", flow="release_gate", **changes):
        given = {
            "dataset": dataset, "notes": vault, "out": tmp_path / "runs" / out, "mode": "keyword",
            "speed_passes": 0, "compare": tmp_path / "runs" / "base",
            "gates": tmp_path / "gates.toml", "junit": tmp_path / "junit.xml",
            "comment": tmp_path / "comment.md", "phase": "beta", **changes,
        }  # fmt: skip
        options = SearchEvalOptions.model_validate(given)
        if not flow:
            return evaluate(options)
        (tmp_path / "summary.md").unlink(missing_ok=True)
        return End(load(flow)(options, return_state=True), tmp_path)

    run("base", "", compare=None, gates=None, junit=None, comment=None, speed_passes=5)
    return run


def load(name):
    from prefect.flows import load_flow_from_entrypoint

    entrypoint = f"{FLOWS / name}.py:{name}"
    return load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)


def lose(tmp_path, *fruits):
    for fruit in fruits:
        (tmp_path / "vault" / f"{fruit}.md").unlink()


def confuse(tmp_path, *fruits):
    """Make these questions find another note."""
    for fruit in fruits:
        (tmp_path / "vault" / f"{fruit}.md").write_text("# changed\n\nnothing\n", "utf-8")
        (tmp_path / "vault" / f"{fruit}-2.md").write_text(f"# {fruit}\n\n{fruit}\n", "utf-8")


def test_passed(search):
    end = search(speed_passes=5)


def test_failed_drop(search, tmp_path):
    confuse(tmp_path, "apple", "fig", "plum", "peach")
    end = search()


def test_failed_lost(search, tmp_path):
    lose(tmp_path, "apple", "fig", "plum")
    end = search()


def test_warning(search, tmp_path):
    text = shipped("notes", "hardware").replace('soft = ["links"]', 'soft = ["search"]')
    (tmp_path / "gates.toml").write_text(text)
    confuse(tmp_path, "apple", "fig")
    end = search(phase="mvp", speed_passes=5)


def test_inconclusive(search, tmp_path):
    (tmp_path / "gates.toml").write_text('schema = 1\n[comparable]\nrelax=["notes"]\n[quality]\nmetrics=[]\njudged=["search.mrr"]\n')
    confuse(tmp_path, "apple")
    end = search(speed_passes=5)


def test_not_comparable(search, tmp_path):
    confuse(tmp_path, "apple")
    end = search(gates=None, speed_passes=5)


def test_waived(search, tmp_path):
    confuse(tmp_path, "apple", "fig")
    search("first", speed_passes=5)
    waive(tmp_path / "runs" / "first", reason="new FAQ, labels follow", until=datetime.now(UTC).date(), by="Kim")
    end = search("second", speed_passes=5)


def test_attempt_fails_again(search, tmp_path):
    confuse(tmp_path, "apple", "fig")
    search("first", speed_passes=5)
    end = search("second", speed_passes=5)


def test_retry(search, tmp_path):
    confuse(tmp_path, "apple")
    text = (tmp_path / "gates.toml").read_text()
    search("first", speed_passes=5)
    (tmp_path / "gates.toml").write_text(text.replace("drop = 0.03", "drop = 0.5"))
    end = search("second", speed_passes=5)


@pytest.mark.parametrize("changes", [{"dataset": "missing.jsonl"}, {"notes": "missing"}, {"compare": "missing"}, {"compare": None},
    {"system": "http://127.0.0.1:9", "mode": "hybrid"}], ids=["dataset", "notes", "baseline", "none", "down"])
def test_input(search, changes):
    search(**changes)


def test_no_baseline(search):
    search(flow="eval_search", compare=None, gates=None)


@pytest.mark.parametrize("bound", [0.5, 1.0])
def test_bounds(search, bound, tmp_path):
    confuse(tmp_path, "apple")
    (tmp_path / "gates.toml").write_text(f'schema = 1\n[floors]\n"search.mrr" = {bound}\n')
    search(flow="eval_search", compare=None, fail_on_regression=True)


def test_interrupted(search, tmp_path, monkeypatch):
    from gigamind.evaluation import run as module

    def press(*given, **more):
        os.kill(os.getpid(), signal.SIGINT)
        return 3
    monkeypatch.setattr("gigamind.evaluation.run.batch_size", lambda *_: 3)
    rows = (tmp_path / "queries.jsonl").read_text()
    def press_later():
        while not list((tmp_path).glob("go")):
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)
    from gigamind.tasks import search as s
    threading.Thread(target=press_later, daemon=True).start()
    from gigamind.tasks.steps import STEPS
    real = type(STEPS).run_batch
    def slow(self, options, first, end, run=""):
        done = real(self, options, first, end, run)
        if first == 3:
            (tmp_path / "go").touch()
            time.sleep(1)
        return done
    monkeypatch.setattr(type(STEPS), "run_batch", slow)
    search(flow="release_gate")


@pytest.fixture
def answers(tmp_path, monkeypatch, server):
    monkeypatch.setenv("GIGAMIND_REPORTS", str(tmp_path / "runs"))
    monkeypatch.setenv("GIGAMIND_REPORTS_URL", "http://reports.example")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    rows = [
        {"id": fruit, "question": f"When do I plant the {fruit}?", "answer": "In October.", "language": "en",
         "context_notes": [{"title": fruit, "text": "Plant it in October."}]}
        for fruit in FRUITS
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def run(out="new", flow="release_gate", replies=(1.0,) * 10, **changes):
        server.script.clear()
        server.script.extend([answer_reply([supported("Plant it in October.")], "Plant it in October.", correctness=r, utility=r)
                              if r is not None else "no JSON" for r in replies])
        given = {
            "dataset": tmp_path / "answers.jsonl", "out": tmp_path / "runs" / out, "model": "openai/judge", "api_base": server.url,
            "max_in_flight": 1, "model_timeout_s": 60, "store": tmp_path / out / "replies", "compare": tmp_path / "runs" / "base",
            "junit": tmp_path / "junit.xml", "comment": tmp_path / "comment.md", "phase": "beta", "store_mode": "refresh", "fresh_fraction": 0.0, **changes,
        }
        options = validated(AnswerEvalOptions, given)
        if not flow:
            return evaluate(options)
        (tmp_path / "summary.md").unlink(missing_ok=True)
        return End(load(flow)(options, return_state=True), tmp_path)

    run("base", "", compare=None, junit=None, comment=None, save_snapshot=True)
    return run


def test_answers_passed(answers):
    answers()


def test_answers_failed(answers):
    answers(replies=(0.0,) * 10)
    answers("second", replies=(1.0,) * 10)


def test_answers_inconclusive(answers):
    answers(replies=(0.0, *(1.0,) * 9))


def test_answers_coverage(answers):
    answers(flow="eval_answers", compare=None, model="openai/judge;fault=truncated_stop;share=0.5;sid=x", replies=())


@pytest.mark.parametrize("compare", [True, False])
def test_answers_budget(answers, compare):
    changes = {} if compare else {"compare": None, "flow": "eval_answers"}
    answers(max_calls=3, **changes)
