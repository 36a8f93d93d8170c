"""What is shown while a command works: live on a terminal, now and then in a log."""

import re

from terminal import Terminal

from gigamind.evaluation import asking
from gigamind.evaluation import progress as progress_of_logs
from gigamind.evaluation.progress import Lines

SLOW = "openai/judge;slots=1;lat=300;sid=screen"


def test_a_log_tells_of_a_slow_server_while_nothing_ends_and_the_run_ends_with_its_minutes(
    case, server, monkeypatch, gigamind
):
    """Each of two questions takes a second, one at a time; the limit is a little less."""
    monkeypatch.chdir(case)
    monkeypatch.setattr(progress_of_logs, "_LINE_EVERY_S", 0.1)
    monkeypatch.setattr(asking, "_BEAT_S", 0.1)
    asked = f"--unanswerable-mode llm --model openai/judge;slots=1;lat=1000 --api-base {server.url}"
    searched = "eval search --dataset queries.jsonl --notes vault --mode keyword --speed-passes 0"
    limits = "--max-in-flight 1 --model-timeout-s 60 --max-minutes 0.01 --store-mode off --out slow"
    before = server.seen.total
    ended = gigamind(*searched.split(), *asked.split(), *limits.split())
    assert server.seen.total - before == 1  # it ends after the limit
    assert ended.code == 3
    assert "--resume slow" in ended.stderr
    shown = re.findall(r"^Judging 0/3$", ended.stderr, re.MULTILINE)
    assert len(shown) >= 2


def test_a_log_gets_no_flood_but_every_line_that_is_told():
    told: list[str] = []
    lines = Lines(told.append, every_s=1000)
    for done in range(100):
        lines.stage("Judging", done, 100)
        lines.trouble("24 time-outs")
    lines.tell("the server asks to wait for 30 s (Retry-After)")
    assert told == ["the server asks to wait for 30 s (Retry-After)"]


def test_a_log_tells_now_and_then_how_far_it_is_and_what_the_matter_is():
    told: list[str] = []
    lines = Lines(told.append, every_s=0)
    lines.trouble("")
    lines.stage("Judging", 20, 30)  # of an earlier run
    lines.trouble("24 time-outs, the server is slow: --max-in-flight 1")
    lines.stage("Judging", 21, 30)
    shown = r"Judging 21/30, 24 time-outs, the server is slow: --max-in-flight 1, 0:00:0\d left"
    assert re.fullmatch(shown, told[-1])


def test_a_terminal_shows_time_outs_while_they_happen_and_every_question_ends(case, server):
    """Three at once on one slot: without an end they would time out together for ever."""
    model = f"--unanswerable-mode llm --model {SLOW} --api-base {server.url} --max-in-flight 3"
    searched = "eval search --dataset queries.jsonl --notes vault --mode keyword --out out"
    terminal = Terminal(
        case,
        f"{searched} {model} --model-timeout-s 0.5 --store-mode off --min-coverage 0 --warmup 1",
        COLUMNS="160",
    )
    terminal.read_until(r"Judging +\S+ +0/3")
    terminal.read_until(r"3/3[^\r]* [1-9]\d* \D+ [12] ")  # time-outs, and what the limit is now
    code, output = terminal.end()
    assert code == 0, terminal.shown[-2000:]
    assert re.search(r"Judging +\S+ +0/3", terminal.shown)
    assert "Report: out/report.html" in output
