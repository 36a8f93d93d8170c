"""An LLM-mode run over the examples that is killed in the middle and resumed, as a user would meet it."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import forked
import pytest
from called import call
from reached import reached

from gigamind.evaluation.shards import unfinished_folder
from gigamind.llm.ledger import read_ledger, totals

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

EXAMPLES = Path(__file__).parents[2] / "examples"
IN_FLIGHT = 8
QUERIES = 60  # so many that half a second lies between the middle and the end
MODEL = "openai/judge;lat=60"


@pytest.fixture
def arguments(server, tmp_path, monkeypatch):
    """Of `gigamind eval search` on the examples; with stores of their own, so that no run answers for another."""
    prices = tmp_path / "prices.toml"
    prices.write_text(f'[models."{MODEL}"]\nprompt = 1\ncompletion = 2\n', encoding="utf-8")
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)

    def of(name, *options):
        given = ("--dataset", EXAMPLES / "queries.jsonl", "--notes", EXAMPLES / "vault")
        judged = ("--unanswerable-mode", "llm", "--model", MODEL, *reached(server))
        more = ("--mode", "keyword", "--format", "json", "--max-in-flight", IN_FLIGHT)
        kept = ("--store", tmp_path / f"replies-{name}", "--prices", prices, "--sample", QUERIES)
        return ["eval", "search", *map(str, (*given, *judged, *more, *kept, *options))]

    return of


def run(arguments):
    """In this process; it must not fail."""
    ended = call(*arguments)
    assert ended.code == 0, ended.stderr


def verdicts(out):
    rows = map(json.loads, (out / "per_item.jsonl").read_text("utf-8").splitlines())
    return {row["id"]: (row["judged_unanswerable"], row["judgement"]) for row in rows}


def test_killed_in_the_middle_and_resumed_it_ends_as_an_unbroken_run_does(
    server, arguments, tmp_path
):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(arguments("whole", "--out", whole))
    paid = json.loads((whole / "summary.json").read_text("utf-8"))["llm"]
    seen = server.seen
    assert round(paid["usd"] * 1e6) == seen.prompt_tokens + 2 * seen.completion_tokens
    calls = seen.total

    # Without the stored replies, but with the same fences: this server answers what it is sent.
    (tmp_path / "replies-broken").mkdir()
    shutil.copy(tmp_path / "replies-whole" / "fence.key", tmp_path / "replies-broken")
    killed = forked.command(tmp_path, *arguments("broken", "--out", broken))
    while server.seen.total < 1.5 * calls and killed.poll() is None:
        time.sleep(0.005)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert not broken.exists()
    assert unfinished_folder(broken).is_dir()
    time.sleep(0.1)  # the server ends what it was answering

    run(arguments("broken", "--resume", broken))
    assert not unfinished_folder(broken).exists()
    assert len(verdicts(broken)) == QUERIES
    assert verdicts(broken) == verdicts(whole)
    summary = json.loads((broken / "summary.json").read_text("utf-8"))["llm"]
    assert summary["outcomes"] == {"scored": QUERIES}
    again = server.seen.total - calls
    assert calls <= again <= calls + IN_FLIGHT
    booked = totals(read_ledger(broken / "attempts.jsonl"))
    assert again <= booked.http_calls <= again + IN_FLIGHT
