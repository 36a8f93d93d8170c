import json
import signal

import pytest
from row_files import query_row, write_rows
from terminal import Terminal

from gigamind.records.schema import ErrorReport, RunReport
from gigamind.tasks.search.schema import ItemReport, SummaryReport

COMMAND = "eval search --dataset queries.jsonl --notes vault --mode keyword --out out --warmup 1"
QUERIES = 300
SLOW = "deploy friday " * 4000  # some 10 ms of work: the run takes seconds


@pytest.fixture
def slow_case(case):
    """A case whose run takes some seconds."""
    rows = (query_row(f"q{n}", SLOW, "deploy.md") for n in range(QUERIES))
    write_rows(case / "queries.jsonl", rows)
    return case


def test_in_ci_no_bar_is_shown_even_on_a_terminal(case):
    terminal = Terminal(case, COMMAND, CI="true")
    code, output = terminal.end()
    assert code == 0
    assert "Queries" not in terminal.shown
    assert "Report: out/report.html" in output


def test_a_bar_shows_the_time_left_and_what_was_measured_stays_when_it_is_stopped(slow_case):
    terminal = Terminal(slow_case, COMMAND)
    terminal.read_until(r"Queries +\S+ +[1-9]\d*/300 +0:00:\d\d")
    terminal.process.send_signal(signal.SIGTERM)
    code, output = terminal.end()
    assert code == 128 + signal.SIGTERM, terminal.shown[-500:]
    assert any(line.startswith("hit@1 ") for line in output.splitlines())
    assert "Report: out/report.html" in output
    assert "Terminated." in terminal.shown
    out = slow_case / "out"
    summary = SummaryReport.model_validate_json((out / "summary.json").read_bytes())
    assert summary.status == "interrupted"
    assert RunReport.model_validate_json((out / "run.json").read_bytes()).status == "interrupted"
    done, left = summary.counts.queries_total, summary.counts.queries_not_run
    assert done > 0
    assert left > 0
    assert done + left == QUERIES
    lines = (out / "per_item.jsonl").read_text("utf-8").splitlines()
    assert len([ItemReport.model_validate_json(line) for line in lines]) == done
    errors = (out / "errors.jsonl").read_text("utf-8").splitlines()
    assert [ErrorReport.model_validate_json(line) for line in errors] == []
    page = (out / "summary.md").read_text("utf-8")
    (banner,) = [line for line in page.splitlines() if line.startswith("> **")]
    assert f" {left} " in banner
    assert "--resume" not in banner  # no model was used, so nothing is kept to resume
    assert [file.name for file in slow_case.iterdir() if file.name.startswith(".")] == []


@pytest.mark.faults
def test_ctrl_c_leaves_the_notes_that_had_ended(case):
    """A long note takes some ten milliseconds, so that a run of 150 takes its time."""
    rows = []
    (case / "links").mkdir()
    (case / "links" / "target.md").write_text("---\ntitle: Target\n---\n", encoding="utf-8")
    for number in range(150):
        text = f"Target of case {number}, said in the weekly report of team {number % 7}. " * 100
        (case / "links" / f"n{number:04}.md").write_text(text, encoding="utf-8")
        rows.append(
            {
                "id": str(number),
                "source_note": f"n{number:04}.md",
                "anchor": "Target",
                "anchor_range": {"start": 0, "end": 6},
                "expected_links": ["target.md"],
            }
        )
    write_rows(case / "links.jsonl", rows)
    terminal = Terminal(case, "eval links --dataset links.jsonl --notes links --out out")
    terminal.read_until(r"Notes.* [1-9]\d*/150")
    terminal.process.send_signal(signal.SIGINT)
    code, _output = terminal.end()
    assert code == 128 + signal.SIGINT, terminal.shown[-500:]
    assert "Interrupted." in terminal.shown
    counts = json.loads((case / "out" / "summary.json").read_text("utf-8"))["counts"]
    assert counts["source_notes"] > 0
    assert counts["notes_not_run"] > 0
    assert counts["source_notes"] + counts["notes_not_run"] == 150
