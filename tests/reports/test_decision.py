"""The page of a run: its first line decides, and every end has one."""

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from gigamind.errors import EvaluationError, InputError, NotesError
from gigamind.i18n import translator
from gigamind.records.history import past_runs
from gigamind.reports.decision import failed_page
from gigamind.reports.release import TASKS as TITLES
from gigamind.tasks import TASKS
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.steps import STEPS

EXAMPLES = Path(__file__).parents[2] / "examples"
RELAXED = 'relax = ["settings", "notes", "hardware"]'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: `first` and `second`, alike."""
    home = tmp_path_factory.mktemp("runs")
    for name in ("first", "second"):
        run(home / name, save_snapshot=True)
    return home


def run(out: Path, **changes: Any) -> Any:
    """What the steps of a flow give."""
    from datetime import UTC, datetime

    given = {
        "dataset": EXAMPLES / "queries.jsonl",
        "notes": EXAMPLES / "vault",
        "mode": "keyword",
        "sample": "20",
        "speed_passes": 0,
        "unanswerable_mode": "calibrated",  # of the default threshold nothing is held: its baseline is at its worst
        "out": out,
        **changes,
    }
    interrupted = bool(given.pop("interrupted", False))
    options = SearchEvalOptions.model_validate(given)
    try:
        first, end = STEPS.prepare_batches(options, out)["batches"][0]
        batch = STEPS.run_batch(options, first, end)
        now = datetime.now(UTC)
        return STEPS.finish_run(options, [batch], out, now, interrupted=interrupted)
    finally:
        STEPS.close_run(options)


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    """The gates that come with gigamind, which here hold runs of other settings, too."""
    from gigamind.assets import asset

    text = (asset("deployments") / "gates.toml").read_text("utf-8")
    relaxed = re.sub(r"(?m)^relax = .*$", RELAXED, text)
    (tmp_path / "gates.toml").write_text(relaxed, "utf-8")
    return tmp_path / "gates.toml"


def test_a_run_without_a_baseline_says_so_and_shows_its_figures(tmp_path):
    made = run(tmp_path / "out")
    assert made["headline"].startswith("☑️ Measured")
    assert made["page"].startswith(f"# {made['headline']}\n")
    mrr = json.loads((tmp_path / "out" / "summary.json").read_text())["overall"]["search"]["mrr"]
    assert f"| MRR | {mrr:.3f} |" in made["page"]
    assert "data:image" not in made["page"]  # one run is no trend
    assert "cost nothing" in made["page"]


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", ("❌ Do not release: ", "rank 1 → ", "| expected |")),
        ("ko", ("❌ 릴리스하지 마십시오: ", "1위 → ", "| 정답 |")),
    ],
)
def test_a_failed_gate_stands_in_the_first_line_and_its_rows_come_first(
    home, tmp_path, gates, lang, told
):
    made = run(tmp_path / "out", compare=home / "first", gates=gates, topk=1, lang=lang)
    page = made["page"]
    assert made["headline"].startswith(told[0])
    rows = [line for line in page.splitlines() if re.match(r"\| (❌|✅|⚠️|❓) \|", line)]
    marks = [row[2] for row in rows]
    assert marks[0] == "❌"
    assert marks == sorted(marks, key="❌❓⚠✅".index)
    assert told[2] in page
    if lang == "ko":
        sentences = [line for line in page.splitlines() if line.startswith(("#", "- "))]
        assert not re.search(r"\b(the|was|worse|is) ", "\n".join(sentences))


def test_a_run_that_cannot_be_compared_says_in_what_it_differs(home, tmp_path):
    made = run(tmp_path / "out", compare=home / "first", topk=3)
    assert made["headline"].startswith("❓ Not comparable: ")
    assert "topk 10 → 3" in made["page"]


def test_a_run_like_its_baseline_may_be_released(home, tmp_path, gates):
    made = run(tmp_path / "out", compare=home / "first", gates=gates)
    assert made["headline"].startswith("✅ Ready to release")


def test_an_interrupted_run_says_what_is_missing(tmp_path):
    made = run(tmp_path / "out", interrupted=True)
    assert made["headline"].startswith("⏸️ Interrupted")


@pytest.mark.parametrize(
    ("error", "title"),
    [
        (InputError("a.jsonl:3: no query"), "❌ Not run: invalid input: a.jsonl:3: no query"),
        (NotesError("vault: gone"), "❌ Not run: the notes or their index cannot be read: vault"),
        (EvaluationError("every query failed"), "❌ No result: every query failed"),
    ],
)
def test_a_run_that_has_nothing_to_show_has_a_page_too(error, title):
    page = failed_page(str(error), error.exit_code, "search · vault", translator("en"))
    assert page.headline.startswith(title)
    assert "search · vault" in page.markdown


def test_the_trend_shows_each_run_of_the_folder_in_a_picture_that_needs_nothing_else(home):
    made = run(home / "third")
    found = re.search(r"\(data:image/svg\+xml;base64,([^)]+)\)", made["page"])
    assert found
    svg = base64.b64decode(found[1]).decode()
    assert svg.startswith("<svg")
    assert "Last 3 runs" in svg
    assert svg.count("<circle") >= 3
    shutil.rmtree(home / "third")


def test_the_history_of_a_run_has_those_of_its_dataset_and_vault_only(home, tmp_path):
    for name in ("first", "second"):
        shutil.copytree(home / name, tmp_path / name)
    shutil.copytree(home / "first", tmp_path / "zzz-other")
    told = json.loads((tmp_path / "zzz-other" / "run.json").read_text("utf-8"))
    (tmp_path / "zzz-other" / "run.json").write_text(json.dumps({**told, "notes": "other"}))
    (tmp_path / "zzz-broken").mkdir()
    (tmp_path / "zzz-broken" / "run.json").write_text("{")
    past = past_runs(tmp_path / "second", 20)
    assert len(past) == 2
    assert past[0].figures["search.mrr"] > 0
    assert len(past_runs(tmp_path / "second", 1)) == 1
    assert past_runs(tmp_path / "zzz-broken", 20) == []


def test_a_report_is_linked_only_where_something_serves_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIGAMIND_REPORTS_URL", "http://127.0.0.1:4280")
    served = run(Path("eval/out/이름 a/1"))["page"]
    assert "](http://127.0.0.1:4280/%EC%9D%B4%EB%A6%84%20a/1/report.html)" in served
    assert "](http" not in run(Path("elsewhere"))["page"]


@pytest.mark.parametrize("task", list(TASKS))
def test_every_task_has_its_words(task):
    for lang in ("en", "ko"):
        assert translator(lang)(TITLES[task])


def test_a_page_links_only_to_what_is_written(home, tmp_path, monkeypatch, gates):
    monkeypatch.setenv("GIGAMIND_REPORTS", str(tmp_path))
    monkeypatch.setenv("GIGAMIND_REPORTS_URL", "http://127.0.0.1:4280")
    held = {"compare": home / "first", "gates": gates}
    linked = {}
    for name, changes in (("json", {}), ("both", {}), ("json-held", held), ("both-held", held)):
        out = tmp_path / name
        page = run(out, format=name.split("-")[0], **changes)["page"]
        linked[name] = re.findall(r"\(http://127\.0\.0\.1:4280/([^)]+)\)", page)
        assert all((tmp_path / file).is_file() for file in linked[name])
        assert f"`{out}`" in page
    assert linked == {
        "json": [],
        "both": ["both/report.html"],
        "json-held": ["json-held/compare.md"],
        "both-held": ["both-held/report.html", "both-held/compare.md"],
    }
