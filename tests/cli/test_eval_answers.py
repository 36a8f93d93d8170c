"""`gigamind eval answers`, over real HTTP."""

import json
from pathlib import Path

import pytest
from answer_reply import answer_reply, supported
from command_line import reached
from row_files import write_rows

LEAVE = "휴가는 팀장에게 신청한다."
REPLY = answer_reply([supported(LEAVE)], LEAVE)
ROW = {
    "id": "a",
    "question": "휴가는 누구에게 신청하나요?",
    "answer": "팀장에게 신청합니다 [노트 1].",
    "context_notes": [{"path": "휴가.md"}],
}


@pytest.fixture
def answers(case, gigamind, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    # Else a machine that is so busy that the client takes long to load tells how far the run is.
    monkeypatch.setattr("gigamind.evaluation.progress._LINE_EVERY_S", 1e9)
    (case / "prices.toml").write_text('[models."openai/judge"]\nprompt = 1\ncompletion = 2\n')

    def run(*options, rows=(ROW,)):
        write_rows(case / "answers.jsonl", rows)
        given = ("--dataset", "answers.jsonl", "--notes", "vault", "--out", "out")
        model = ("--model", "openai/judge", *reached(server), "--prices", "prices.toml")
        return gigamind("eval", "answers", *given, *model, *options)

    return run


def test_figures_cost_and_report_are_shown(answers, server, case):
    server.script.append(REPLY)
    ended = answers()
    assert ended.code == 0
    rows = [line.split() for line in ended.stdout.splitlines()]
    assert ["correctness", "1.000", "0.207", "–", "1.000", "1"] in rows
    assert ["judge:", "openai/judge", "1"] in [row[:3] for row in rows]  # requests
    assert ended.stdout.endswith("Report: out/report.html\n")
    assert ended.stderr == ""
    assert (case / "out" / "per_item.jsonl").is_file()


def test_the_checklist_is_a_row_of_the_figures(answers, server):
    names = ("direct", "grounded", "sources", "uncertainty")
    quotes = ("팀장에게 신청합니다", LEAVE, "[노트 1]", "")
    items = [{"id": n, "yes": bool(q), "quote": q} for n, q in zip(names, quotes, strict=True)]
    server.script.extend([REPLY, {"items": items}])
    ended = answers("--checklist")
    assert (ended.code, ended.stderr) == (0, "")
    rows = [line.split() for line in ended.stdout.splitlines()]
    # Wilson, 1 of 1: 1 / (1 + 3.8415) = 0.2065
    assert ["correctness", "1.000", "0.207", "–", "1.000", "1"] in rows
    summary = json.loads(Path("out/summary.json").read_text("utf-8"))
    assert summary["quality"]["overall"]["pass_rate"] == 1.0
    assert ["checklist:", "openai/judge", "1"] in [row[:3] for row in rows]
