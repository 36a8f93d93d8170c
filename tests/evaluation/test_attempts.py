"""Waivers and repeated attempts, on real runs in a folder."""

import json
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from row_files import query_row, write_rows
from vault_files import write_files

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.options import ReleaseOptions
from gigamind.evaluation.release import compare_runs, read_verdict
from gigamind.i18n import translator
from gigamind.publish.ends import end_of_gate
from gigamind.tasks import TASKS, evaluate
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.promotion import PromoteOptions, promote_run, waive_run

TODAY = datetime.now(UTC).date()
NOTES = {f"n{i}.md": f"# Note {i}\n\nword{i} text about topic{i}.\n" for i in range(8)}


def write_notes(home: Path, empty: int = 0) -> None:
    """Write the vault; so many of its notes say nothing."""
    write_files(home / "vault", NOTES | dict.fromkeys(list(NOTES)[:empty], "nothing"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A vault with 8 notes, a query for each, a baseline run, and a run "a" that failed for empty notes."""
    folder = tmp_path_factory.mktemp("attempts")
    write_notes(folder)
    rows = (query_row(f"q{i}", f"topic{i}", f"n{i}.md") for i in range(8))
    write_rows(folder / "queries.jsonl", rows)
    run(folder, "base", compare=None, save_snapshot=True)
    write_notes(folder, empty=4)
    failed = run(folder, "a")
    assert failed.verdict.exit_code(fail_on_regression=True) == 4
    shutil.copytree(folder / "runs", folder / "kept")
    return folder


@pytest.fixture
def home(runs):
    """The same, which is afterwards as it was: other folders would be other candidates."""
    yield runs
    write_notes(runs, empty=4)
    shutil.rmtree(runs / "runs")
    shutil.copytree(runs / "kept", runs / "runs")


def run(home: Path, name: str, **changes: object):
    options = {
        "dataset": home / "queries.jsonl",
        "notes": home / "vault",
        "out": home / "runs" / name,
        "mode": "keyword",
        "speed_passes": 0,
        "compare": home / "runs" / "base",
        "changed": ("notes",),
        "fail_on_regression": False,
    }
    values = {key: value for key, value in (options | changes).items() if value is not None}
    if not values.get("compare"):
        values.pop("changed")
    return evaluate(SearchEvalOptions.model_validate(values))


def waive(home: Path, name: str, until: date = TODAY):
    return waive_run(home / "runs" / name, reason="new FAQ", until=until, by="kim")


def test_a_waiver_lets_a_failed_run_pass_and_every_page_names_it(home):
    waive(home, "a")
    verdict = read_verdict(home / "runs" / "a")
    assert verdict.gate.verdict == "failed"
    assert verdict.exit_code(fail_on_regression=True) == 0
    for page in ("summary.md", "compare.md", "report.html"):
        text = (home / "runs" / "a" / page).read_text("utf-8")
        assert "new FAQ" in text, page
        assert "kim" in text, page
    with pytest.raises(InputError, match="--force"):  # a waiver is no new baseline
        promote_run(PromoteOptions(run=home / "runs" / "a", folder=home / "b"))


def test_a_waived_run_keeps_the_language_of_its_messages(home):
    failed = run(home, "ko", lang="ko")
    waive(home, "ko")
    say, changes = translator("ko"), failed.verdict.comparison.changes
    text = (home / "runs" / "ko" / "summary.md").read_text("utf-8")
    english, korean = (str(x).partition("→")[0] for x in (changes[0].what, say(changes[0].what)))
    assert english not in text
    assert korean in text
    assert "Allowed difference" not in text
    restored = read_verdict(home / "runs" / "ko")
    assert [say(change.what) for change in restored.comparison.changes] == [
        say(change.what) for change in changes
    ]


def test_a_waived_failure_ends_completed_and_pauses_no_promotion(home, monkeypatch):
    events = []
    monkeypatch.setattr("prefect.events.emit_event", lambda event, **_about: events.append(event))
    waive(home, "a")
    verdict = read_verdict(home / "runs" / "a")
    state = end_of_gate(verdict, {"out": home / "runs" / "a"})
    assert (state.is_completed(), state.name) == (True, "Waived")
    assert events == ["gigamind.gate.waived"]


def test_later_runs_of_the_same_candidate_are_waived_and_other_failures_are_not(home):
    waive(home, "a")
    again = run(home, "b", junit=home / "j.xml")
    assert again.verdict.waiver.by == "kim"
    assert [a.verdict for a in again.verdict.attempts] == ["failed"]
    assert 'failures="0"' in (home / "j.xml").read_text("utf-8")
    other = run(home, "c", topk=3)  # another setting is another candidate
    assert other.verdict.waiver is None
    assert other.verdict.attempts == ()


def test_an_edited_run_file_is_another_candidate(home):
    file, attempts = home / "found.jsonl", []
    for name, missing in (("r0", 0), ("r1", 4), ("r2", 3), ("r3", 4), ("r4", 0)):
        hits = [[] if i < missing else [f"n{i}.md"] for i in range(8)]
        write_rows(file, ({"id": f"q{i}", "hits": found} for i, found in enumerate(hits)))
        base = None if name == "r0" else home / "runs" / "r0"
        given = {"system": f"run:{file}", "mode": None, "compare": base, "save_snapshot": True}
        verdict = run(home, name, **given).verdict
        attempts.append([at.verdict for at in verdict.attempts] if verdict else None)
    assert attempts == [None, [], [], ["failed"], []]


def test_an_incomplete_run_is_no_attempt(home):
    write_rows(home / "few.jsonl", [{"id": "q0", "hits": ["n0.md"]}])  # exit code 3
    for name in ("r1", "r2"):
        with pytest.raises(EvaluationError):
            run(home, name, system=f"run:{home / 'few.jsonl'}", mode=None)
    assert read_verdict(home / "runs" / "r2").attempts == ()


def test_a_comparison_of_finished_runs_honours_the_waiver(home):
    waive(home, "a")
    paths = [home / "runs" / "base", home / "runs" / "a"]
    options = ReleaseOptions(changed=("notes",))
    assert compare_runs(paths, options, "en", TASKS).verdict.waiver.by == "kim"


def test_an_expired_waiver_does_not_apply(home):
    waive(home, "a")
    file = home / "runs" / "a" / "waiver.json"
    content = json.loads(file.read_text("utf-8"))
    content["until"] = (TODAY - timedelta(days=1)).isoformat()
    file.write_text(json.dumps(content), "utf-8")
    assert run(home, "b").verdict.exit_code(fail_on_regression=True) == 4


def test_a_run_without_a_failed_gate_or_a_past_date_is_refused(home):
    write_notes(home)
    run(home, "fine")
    for name, until in (("fine", TODAY), ("a", TODAY - timedelta(days=1))):
        with pytest.raises(InputError):
            waive(home, name, until)
        assert not (home / "runs" / name / "waiver.json").exists()


def test_a_waiver_that_cannot_be_read_is_an_error_with_its_place_and_loses_nothing(home):
    file = home / "runs" / "a" / "waiver.json"
    file.write_text("{", "utf-8")
    with pytest.raises(InputError) as error:
        run(home, "b")
    assert str(file.resolve()) in str(error.value)
    assert (home / "runs" / "b" / "report.html").is_file()  # the results are kept
