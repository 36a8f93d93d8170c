"""Waivers and repeated attempts, on real runs in a folder."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from gigamind.errors import InputError
from gigamind.evaluation.options import ReleaseOptions
from gigamind.evaluation.release import compare_runs, read_verdict
from gigamind.i18n import translator
from gigamind.publish.artifacts import end_of_gate
from gigamind.tasks import TASKS, evaluate
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.promotion import PromoteOptions, promote_run, waive_run

TODAY = datetime.now(UTC).date()
NOTES = {f"n{i}.md": f"# Note {i}\n\nword{i} text about topic{i}.\n" for i in range(8)}


@pytest.fixture
def home(tmp_path):
    """Make a vault with 8 notes, a query for each, and a baseline run."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in NOTES.items():
        (vault / name).write_text(text, "utf-8")
    rows = [
        {"query": f"topic{i}", "answerable": True, "expected_notes": [f"n{i}.md"], "id": f"q{i}"}
        for i in range(8)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "queries.jsonl").write_text(lines, "utf-8")
    run(tmp_path, "base", compare=None, save_snapshot=True)
    return tmp_path


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


def break_notes(home: Path, count: int) -> None:
    for i in range(count):
        (home / "vault" / f"n{i}.md").write_text("# Empty\n\nnothing\n", "utf-8")


def waive(home: Path, name: str, until: date = TODAY):
    return waive_run(home / "runs" / name, reason="new FAQ", until=until, by="kim")


def test_a_waiver_lets_a_failed_run_pass_and_every_page_names_it(home):
    break_notes(home, 4)
    failed = run(home, "a")
    assert failed.verdict.exit_code(fail_on_regression=True) == 4
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
    break_notes(home, 4)
    failed = run(home, "a", lang="ko")
    waive(home, "a")
    say, changes = translator("ko"), failed.verdict.comparison.changes
    text = (home / "runs" / "a" / "summary.md").read_text("utf-8")
    english, korean = (str(x).partition("->")[0] for x in (changes[0].what, say(changes[0].what)))
    assert english not in text
    assert korean in text
    assert "Allowed difference" not in text
    restored = read_verdict(home / "runs" / "a")
    assert [say(change.what) for change in restored.comparison.changes] == [
        say(change.what) for change in changes
    ]


def test_a_waived_failure_ends_completed_and_pauses_no_promotion(home, monkeypatch):
    events = []
    monkeypatch.setattr("prefect.events.emit_event", lambda event, **_about: events.append(event))
    break_notes(home, 4)
    run(home, "a")
    waive(home, "a")
    verdict = read_verdict(home / "runs" / "a")
    state = end_of_gate(verdict, {"out": home / "runs" / "a"})
    assert (state.is_completed(), state.name) == (True, "Waived")
    assert events == ["gigamind.gate.waived"]


def test_later_runs_of_the_same_candidate_are_waived_and_other_failures_are_not(home):
    break_notes(home, 4)
    run(home, "a")
    waive(home, "a")
    again = run(home, "b", junit=home / "j.xml")
    assert again.verdict.waiver.by == "kim"
    assert [a.verdict for a in again.verdict.attempts] == ["failed"]
    assert 'failures="0"' in (home / "j.xml").read_text("utf-8")
    other = run(home, "c", topk=3)  # another setting is another candidate
    assert other.verdict.waiver is None
    assert other.verdict.attempts == ()


def test_a_comparison_of_finished_runs_honours_the_waiver(home):
    break_notes(home, 4)
    run(home, "a")
    waive(home, "a")
    paths = [home / "runs" / "base", home / "runs" / "a"]
    options = ReleaseOptions(changed=("notes",))
    assert compare_runs(paths, options, "en", TASKS).verdict.waiver.by == "kim"


def test_an_expired_waiver_does_not_apply(home):
    break_notes(home, 4)
    run(home, "a")
    waive(home, "a")
    file = home / "runs" / "a" / "waiver.json"
    content = json.loads(file.read_text("utf-8"))
    content["until"] = (TODAY - timedelta(days=1)).isoformat()
    file.write_text(json.dumps(content), "utf-8")
    assert run(home, "b").verdict.exit_code(fail_on_regression=True) == 4


@pytest.mark.parametrize(("broken", "until"), [(0, TODAY), (4, TODAY - timedelta(days=1))])
def test_a_run_without_a_failed_gate_or_a_past_date_is_refused(home, broken, until):
    break_notes(home, broken)
    run(home, "a")
    with pytest.raises(InputError):
        waive(home, "a", until)
    assert not (home / "runs" / "a" / "waiver.json").exists()


def test_a_waiver_that_cannot_be_read_is_an_error_with_its_place_and_loses_nothing(home):
    break_notes(home, 4)
    run(home, "a")
    file = home / "runs" / "a" / "waiver.json"
    file.write_text("{", "utf-8")
    with pytest.raises(InputError) as error:
        run(home, "b")
    assert str(file.resolve()) in str(error.value)
    assert (home / "runs" / "b" / "report.html").is_file()  # the results are kept
